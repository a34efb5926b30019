"""The training loop: its updates, what they learn from, and what is drawn for each batch."""

import itertools
import weakref
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from mt.config import Config
from mt.data.batches import Batch, batch_order, collate
from mt.data.corpus import Corpus
from mt.decoding.load import load
from mt.models.losses import Objective
from mt.search.config import WaitKConfig
from mt.training import loop
from mt.training.batches import batches_per_update, derived_seed
from mt.training.loop import BatchLoss, LogWindow, Update
from mt.training.start import begin
from mt.training.train import train_and_test
from tests.refusals.sentences import require_refusal
from tests.training.conftest import Trainer


def take(trainer: Trainer, count: int) -> list[Update]:
    return list(itertools.islice(trainer, count))


@pytest.mark.parametrize("accumulate", [1, 3])
def test_a_batch_has_a_seed_of_its_own_and_nothing_is_held_of_it(trainer, accumulate, monkeypatch):
    """While the next one is computed, no tensor is left either that a function keeps by itself, which autograd would
    not drop after the backward pass. A seed follows from the run's seed, the number of the update from 1 on, and the
    batch's place in it alone. So it is the same in a run that goes on from a checkpoint, of an earlier release too."""
    losses: list[weakref.ref[torch.Tensor]] = []
    seeds: list[int | None] = []

    class Watched(BatchLoss):
        def forward(self, batch: Batch | None, seed: int | None) -> tuple[torch.Tensor, torch.Tensor]:
            assert all(before() is None for before in losses)
            seeds.append(seed)
            loss, sums = super().forward(batch, seed)
            losses.append(weakref.ref(loss))
            return loss, sums

    training = trainer({"gradient_accumulation": accumulate})
    monkeypatch.setattr(loop, "BatchLoss", Watched)
    assert len(take(training, 3)) == 3
    places = itertools.product((1, 2, 3), range(accumulate))
    # The only batch of an update draws from the run's own generator.
    assert seeds == [derived_seed(training.config.seed, *place) if accumulate > 1 else None for place in places]


@pytest.mark.parametrize("accumulate", [1, 3])
def test_each_example_once_an_epoch(trainer: Callable[..., Trainer], accumulate: int) -> None:
    training = trainer({"epochs": 2, "gradient_accumulation": accumulate})
    result = list(training)
    assert set(training.split.counts) == set(range(240)) and set(training.split.counts.values()) == {2}
    count = len(batches_per_update(training.split, training.config))
    assert len(result) == training.progress.update == 2 * count and count > 2
    assert [number for number, update in enumerate(result, 1) if update.ends_epoch] == [count, 2 * count]
    targets = training.split.lengths()[1].sum()
    assert sum(update.tokens for update in result) == training.progress.tokens == 2 * targets


def test_accumulated_batches_make_the_step_of_one_big_batch(trainer: Callable[..., Trainer]) -> None:
    big = trainer({"epochs": 1, "batch_tokens": 10**6, "max_grad_norm": 0.0})
    small = trainer({"epochs": 1, "batch_tokens": 60, "gradient_accumulation": 10**6, "max_grad_norm": 0.0})
    (one,) = list(big)
    (many,) = list(small)
    assert one.tokens == many.tokens
    assert many.loss == pytest.approx(one.loss, rel=1e-5)
    assert many.gradient_norm == pytest.approx(one.gradient_norm, rel=1e-4)
    for name, tensor in big.weights().items():
        torch.testing.assert_close(small.weights()[name], tensor, atol=1e-5, rtol=1e-4)


def test_a_loss_per_sentence_has_a_gradient_as_much_larger(trainer: Callable[..., Trainer]) -> None:
    whole = {"epochs": 1, "batch_tokens": 600, "gradient_accumulation": 10**6, "max_grad_norm": 0.0}
    (per_token,) = list(trainer(whole))
    (per_sentence,) = list(trainer(whole | {"normalization": "sentence"}))
    assert per_sentence.loss == per_token.loss
    longer = per_token.tokens / 240
    assert per_sentence.gradient_norm == pytest.approx(longer * per_token.gradient_norm, rel=1e-5)


def test_what_the_attention_adds_to_the_loss_is_learnt_from(trainer: Callable[..., Trainer]) -> None:
    """The latency loss is linear in its weight, and so is what it adds. The cross entropy stays."""

    def first(weight: float) -> tuple[Update, torch.Tensor]:
        attention = {"name": "milk", "latency_weight": weight, "noise_std": 0.0}
        training = trainer({"gradient_accumulation": 2, "max_grad_norm": 0.0}, attention=attention)
        bias = training.model.decoder.attention.energy.bias
        before = bias.detach().clone()
        return next(iter(training)), bias.detach() - before

    (none, plain), (some, one), (more, two) = map(first, (0.0, 0.5, 1.0))
    assert none.loss == some.loss == more.loss and none.auxiliary_loss == 0
    assert some.auxiliary_loss > 0.01
    assert more.auxiliary_loss == pytest.approx(2 * some.auxiliary_loss, rel=1e-5)
    assert (one - plain).abs() > 1e-5
    torch.testing.assert_close(two - plain, 2 * (one - plain), atol=2e-6, rtol=1e-3)


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_the_loss_is_of_a_kind_with_the_one_on_dev(smoothing: float, trainer: Callable[..., Trainer]) -> None:
    """Without label smoothing, per target token, whatever is minimised."""
    options = {"epochs": 1, "batch_tokens": 600, "gradient_accumulation": 2, "label_smoothing": smoothing}
    training = trainer(options | {"normalization": "sentence"})
    model = training.model
    split = training.split.split
    order = batch_order(*split.lengths(), max_tokens=600, seed=1, epoch=1, together=2)
    rows = [i for batch in order[:2] for i in batch]
    batch = collate(split.read(np.array(rows)).pairs)
    with torch.no_grad():
        plain = model(batch)
        smoothed = model(batch, objective=Objective(smoothing))
    (update,) = take(training, 1)
    # Sums of some thousand float32 numbers, in another order.
    assert update.loss == pytest.approx(float(plain.sum) / update.tokens, rel=1e-5)
    assert update.smoothed_loss == pytest.approx(float(smoothed.sum) / update.tokens, rel=1e-5)
    assert (abs(update.smoothed_loss - update.loss) > 1e-4) == (smoothing > 0)


def test_a_window_has_means_over_tokens_and_updates_and_its_own_speed() -> None:
    window = LogWindow()
    # An update that is left out has no norm.
    for loss, norm, tokens, seconds in ((1.0, 2.0, 100, 0.5), (2.0, torch.inf, 100, 0.5), (4.0, 4.0, 200, 1.0)):
        lr = 0.1
        window.add(Update(loss, 2 * loss, 0.5, 0.0, norm, lr, tokens, ends_epoch=False), seconds)
    expected = {"loss": 2.75, "smoothed_loss": 5.5, "auxiliary_loss": 0.5, "gradient_norm": 3.0}
    assert window.means() == pytest.approx(expected | {"tokens_per_second": 200})
    nothing = LogWindow()
    nothing.add(Update(1.0, 1.0, 0.0, 0.0, torch.inf, 0.1, 100, ends_epoch=False), 0.5)
    assert nothing.means()["gradient_norm"] == 0


def test_a_step_is_as_long_as_the_clipped_gradient(trainer: Callable[..., Trainer]) -> None:
    for clip, factor in ((0.01, None), (0.0, 1.0), (1e6, 1.0)):
        training = trainer({"max_grad_norm": clip})
        before = {name: p.detach().clone() for name, p in training.model.named_parameters()}
        (update,) = take(training, 1)
        moved = sum((p.detach() - before[name]).square().sum() for name, p in training.model.named_parameters())
        expected = clip if factor is None else update.gradient_norm
        assert update.gradient_norm > 0.01
        assert float(moved) ** 0.5 == pytest.approx(0.5 * expected, rel=1e-3)


@pytest.mark.parametrize("where", ["loss", "gradient"])
def test_divergence_stops_training_with_the_weights_before(trainer: Callable[..., Trainer], where: str) -> None:
    training = trainer()
    iterator = iter(training)
    next(iterator), next(iterator)
    if where == "loss":
        with torch.no_grad():
            training.model.decoder.output.bias[5] = torch.inf
    else:
        training.model.decoder.output.bias.register_hook(lambda gradient: gradient * torch.nan)
    before = training.weights()
    require_refusal(lambda: next(iterator), r"at update 3: training has diverged; .* lower optimizer\.lr")
    assert training.progress.update == 2
    assert all(torch.equal(tensor, before[name]) for name, tensor in training.weights().items())


def test_the_rate_is_that_of_the_schedule(trainer: Callable[..., Trainer]) -> None:
    optimizer = {"name": "sgd", "lr": 0.5, "warmup": 4, "schedule": {"name": "constant"}}
    training = trainer(optimizer=optimizer)
    assert [update.lr for update in take(training, 6)] == pytest.approx([0.125, 0.25, 0.375, 0.5, 0.5, 0.5])
    assert training.optimizer.param_groups[0]["lr"] == 0.5
    # One that falls at the end knows where the end is.
    falling = trainer(optimizer=optimizer | {"warmup": 0, "schedule": {"name": "cooldown", "share": 0.5}})
    rates = [update.lr for update in itertools.islice(falling.updates(falling.split, loop.ALONE, None, 4), 4)]
    assert rates == pytest.approx([0.5, 0.5, 0.5 * 0.05**0.5, 0.5 * 0.05])


def test_the_baseline_of_sampled_attention_follows_the_loss(trainer: Callable[..., Trainer]) -> None:
    training = trainer(attention={"name": "stochastic"})
    (update,) = take(training, 1)
    assert training.model.decoder.attention.baseline.item() == pytest.approx(-update.loss)


# Under the prefix mask of a k that is drawn for each batch.
WAITING = {
    "encoder": {"name": "lstm", "hidden_size": 32},
    "decoder": {"hidden_size": 32, "readout_size": 32, "init_hidden": "zeros"},
}


@pytest.mark.parametrize("accumulate", [1, 4])
def test_each_batch_has_a_k_of_its_own(accumulate: int, trainer: Callable[..., Trainer]) -> None:
    training = trainer({"epochs": 4, "gradient_accumulation": accumulate, "wait_k": [1, 3, 7]}, **WAITING)
    drawn: list[int] = []
    training.model.register_forward_pre_hook(lambda _, batch, given: drawn.append(given["wait_k"]), with_kwargs=True)
    list(training)
    counts = [drawn.count(k) for k in (1, 3, 7)]
    assert sum(counts) == len(drawn) > 40 and min(counts) > len(drawn) / 6
    if accumulate > 1:
        assert any(len(set(drawn[i : i + accumulate])) > 1 for i in range(0, len(drawn), accumulate))


def test_validation_decodes_as_the_run_does(configure: Callable[..., Config], corpus: Corpus, tmp_path: Path) -> None:
    options = {"epochs": 1, "average_checkpoints": 1, "validate_every": None, "plots": 0, "wait_k": [2]}
    config = configure(WAITING | {"training": options, "search": {"name": "wait_k", "k": 2}})
    run = begin(config, corpus, tmp_path / "a")
    results = train_and_test(run)
    assert {"ap", "al", "dal"} < run.progress.best.keys() and {"ap", "al", "dal"} < results.keys()
    assert results["search"]["k"] == 2 and results["search"]["mode"] == "soft"
    translator = load(run.folder, device="cpu")
    source = ("the big cats see houses",)
    target = ("die Katzen sehen Häuser",)
    (forced,) = translator.align(source, target)
    # Step t, from 1, has read t + 1 tokens; as the run decodes, so it aligns.
    assert all((row[t + 2 :] == 0).all() and row[: t + 2].all() for t, row in enumerate(forced.alignment))
    (decoded,) = translator.translate(source, WaitKConfig(k=1))
    assert list(decoded.timing.delays) == [min(1 + t, 6) for t in range(len(decoded.tokens))]
