"""Training in float16: what the loss is multiplied by, and the updates that are left out."""

import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from typing import Any

import pytest
import torch

from mt.config import Config
from mt.data.corpus import Corpus
from mt.errors import UserError
from mt.models.seq2seq import Seq2Seq
from mt.training import loop
from mt.training.loop import LogWindow, LossScale, Progress, Update, updates
from mt.training.optimizer import build_optimizer
from tests.marks import exhaustive

CONSTANT = {"name": "adam", "lr": 0.01, "warmup": 0, "schedule": {"name": "constant"}}


class Trainer:
    """A fresh model on the tiny corpus, in float16."""

    def __init__(self, config: Config, corpus: Corpus) -> None:
        torch.manual_seed(0)
        self.model = Seq2Seq(config, *corpus.tokenizers.sizes)
        self.optimizer = build_optimizer(config.optimizer, self.model)
        self.progress = Progress()
        self.updates = updates(self.model, self.optimizer, corpus.split("train"), config, self.progress)

    def __iter__(self) -> Iterator[Update]:
        return self.updates

    @property
    def scale(self) -> LossScale:
        assert self.progress.loss_scale is not None
        return self.progress.loss_scale

    def weights(self) -> dict[str, torch.Tensor]:
        """With the optimizer's moments."""
        moments = [tensor for state in self.optimizer.state.values() for tensor in state.values()]
        result = {**self.model.state_dict(), **{str(i): tensor for i, tensor in enumerate(moments)}}
        return {name: tensor.clone() for name, tensor in result.items()}


@pytest.fixture
def trainer(configure: Callable[..., Config], corpus: Corpus) -> Callable[..., Trainer]:
    def made(changes: Mapping[str, Any] = {}, precision: str = "fp16") -> Trainer:
        config = configure({"optimizer": CONSTANT, "precision": precision, **changes})
        return Trainer(config, corpus)

    return made


def same(one: Mapping[str, torch.Tensor], other: Mapping[str, torch.Tensor]) -> bool:
    return one.keys() == other.keys() and all(torch.equal(tensor, other[name]) for name, tensor in one.items())


def spoil(trainer: Trainer, value: float = torch.inf) -> Any:
    """Makes each gradient from now on one that is not finite, until the handle is removed."""
    return trainer.model.decoder.output.bias.register_hook(lambda gradient: gradient * value)


@pytest.mark.parametrize("feeding", [True, *exhaustive(False)])
def test_it_learns_what_float32_learns(feeding: bool, trainer: Callable[..., Trainer]) -> None:
    decoder = {"hidden_size": 32, "readout_size": 32, "dropout": 0.0, "input_feeding": feeding}
    losses = {}
    for precision in ("fp32", "fp16"):
        training = trainer({"decoder": decoder}, precision)
        losses[precision] = [update.loss for update in itertools.islice(training, 60)]
    assert losses["fp32"][0] > 2.5 and losses["fp32"][-1] < 1.5
    assert losses["fp16"] != losses["fp32"]
    assert losses["fp16"][0] == pytest.approx(losses["fp32"][0], rel=1e-3)
    assert sum(losses["fp16"][-10:]) == pytest.approx(sum(losses["fp32"][-10:]), rel=0.1)


@pytest.mark.parametrize("value", [torch.inf, torch.nan])
@pytest.mark.parametrize("accumulate", [1, 2])
def test_an_overflow_is_left_out(value: float, accumulate: int, trainer: Callable[..., Trainer]) -> None:
    training = trainer({"training": {"gradient_accumulation": accumulate}})
    list(itertools.islice(training, 6))
    before = training.weights()
    scale = asdict(training.scale)
    spoiling = spoil(training, value)
    update = next(training.updates)
    assert update.left_out and torch.isfinite(torch.tensor(update.loss))
    assert same(training.weights(), before)
    assert asdict(training.scale) == {"factor": scale["factor"] / 2, "good": 0, "left_out": scale["left_out"] + 1}
    assert training.progress.update == 7
    spoiling.remove()
    assert not next(training.updates).left_out
    assert not same(training.weights(), before) and training.scale.good == 1


def test_float16_itself_overflows_until_the_scale_fits(trainer: Callable[..., Trainer]) -> None:
    training = trainer()
    next(training.updates)
    training.scale.factor = 2.0**40
    before = training.weights()
    taken = list(itertools.takewhile(lambda update: update.left_out, training))
    assert len(taken) > 5 and 2 < training.scale.factor < 2.0**35
    assert training.scale.good == 1 and not same(training.weights(), before)


def test_the_scale_changes_no_gradient_that_float16_can_hold(trainer: Callable[..., Trainer]) -> None:
    """Of what is clipped and learnt from; only what would be too small for float16 differs."""
    norms = []
    moved = []
    for factor in (64.0, 256.0):
        training = trainer({"optimizer": {"name": "sgd", "lr": 0.5}, "training": {"max_grad_norm": 0.1}})
        training.progress.loss_scale = LossScale(factor)
        parameters = [*training.model.parameters()]
        before = [parameter.detach().clone() for parameter in parameters]
        norms.append(next(training.updates).gradient_norm)
        pairs = zip(parameters, before, strict=True)
        moved.append(torch.cat([(parameter.detach() - old).flatten() for parameter, old in pairs]))
    assert norms[0] == pytest.approx(norms[1], rel=1e-3) and norms[0] > 0.2
    assert float(moved[0].norm()) == pytest.approx(0.05, rel=1e-3)
    assert (moved[0] - moved[1]).norm() < 1e-3 * moved[0].norm()


def test_it_doubles_after_so_many_good_updates(trainer: Callable[..., Trainer]) -> None:
    training = trainer()
    next(training.updates)
    most = loop.PATIENCE - 1
    training.scale.factor = 64.0
    training.scale.good = most - 1
    result = [(training.scale.factor, training.scale.good) for _ in itertools.islice(training, 4)]
    assert result == [(64, most), (128, 0), (128, 1), (128, 2)]
    training.scale.good = most
    handle = spoil(training)
    next(training.updates)
    handle.remove()
    assert [(training.scale.factor, training.scale.good) for _ in itertools.islice(training, 2)] == [(64, 1), (64, 2)]


def test_its_numbers_are_those_of_torch() -> None:
    theirs = torch.amp.GradScaler("cpu")
    ours = LossScale()
    assert (theirs.get_scale(), theirs.get_growth_interval()) == (ours.factor, loop.PATIENCE)
    assert (theirs.get_growth_factor(), theirs.get_backoff_factor()) == (2, 0.5)
    for finite in [True] * loop.PATIENCE + [False, True]:
        ours.adjust(finite=finite)
    assert ours == LossScale(65536.0, good=1, left_out=1)
    highest = LossScale(loop.MOST, good=loop.PATIENCE - 1)
    highest.adjust(finite=True)
    assert highest.factor == loop.MOST


def test_a_gradient_at_no_scale_is_divergence(trainer: Callable[..., Trainer]) -> None:
    training = trainer()
    spoil(training, torch.nan)
    before = training.weights()
    with pytest.raises(
        UserError, match=r"its gradient's norm nan at update 27: training has diverged; .* lower optimi"
    ):
        list(training)
    assert training.scale == LossScale(loop.LEAST, left_out=26)
    assert same(training.weights(), before)


def test_a_loss_that_is_no_number_is_divergence_at_once(trainer: Callable[..., Trainer]) -> None:
    training = trainer()
    list(itertools.islice(training, 2))
    with torch.no_grad():
        training.model.decoder.output.bias[5] = torch.inf
    scale = asdict(training.scale)
    before = training.weights()
    with pytest.raises(UserError, match=r"^the loss is (nan|inf) .* at update 3: training has diverged"):
        next(training.updates)
    assert asdict(training.scale) == scale and same(training.weights(), before)


def test_a_window_has_the_mean_norm_of_what_was_learnt_from() -> None:
    window = LogWindow()
    for norm in (1.0, torch.inf, 2.0, torch.nan):
        window.add(Update(2.0, 2.0, 0.0, 0.0, gradient_norm=norm, lr=0.1, tokens=10, ends_epoch=False), 0.5)
    means = window.means()
    assert (means["gradient_norm"], means["loss"], means["tokens_per_second"]) == (1.5, 2.0, 20.0)
    alone = LogWindow()
    alone.add(Update(2.0, 2.0, 0.0, 0.0, gradient_norm=torch.inf, lr=0.1, tokens=10, ends_epoch=False), 0.5)
    assert alone.means()["gradient_norm"] == 0
