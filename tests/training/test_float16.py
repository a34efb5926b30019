"""Training in float16: what the loss is multiplied by, the updates that are left out, and runs that go on."""

import itertools
from collections.abc import Callable, Mapping
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch

import mt
from mt.config import Config
from mt.data.corpus import Corpus
from mt.decoding.torch_network import torch_translator
from mt.search.config import GreedyConfig
from mt.training import loop
from mt.training.loop import LossScale
from tests.decoding.decoded import decode_ids
from tests.marks import exhaustive
from tests.refusals.sentences import require_refusal
from tests.training.conftest import Trainer

CONSTANT = {"name": "adam", "lr": 0.01, "warmup": 0, "schedule": {"name": "constant"}}
Half = Callable[..., Trainer]


@pytest.fixture
def half(trainer: Callable[..., Trainer]) -> Half:
    """half(training, ...): trains in float16, from an update that has set the scale."""

    def made(training: Mapping[str, Any] = {}, **changes: Any) -> Trainer:
        started = trainer(training, **({"precision": "fp16", "optimizer": CONSTANT} | changes))
        next(iter(started))
        return started

    return made


def spoil(training: Trainer, value: float = torch.inf) -> Any:
    """Makes each gradient from now on one that is not finite, until the handle is removed."""
    return training.model.decoder.output.bias.register_hook(lambda gradient: gradient * value)


def state(training: Trainer) -> list[torch.Tensor]:
    """The weights, with the optimizer's moments."""
    moments = [tensor.clone() for state in training.optimizer.state.values() for tensor in state.values()]
    return [*training.weights().values(), *moments]


def same(ours: list[torch.Tensor], theirs: list[torch.Tensor]) -> bool:
    return len(ours) == len(theirs) and all(map(torch.equal, ours, theirs))


@pytest.mark.parametrize("feeding", [True, *exhaustive(False)])
def test_it_learns_what_float32_learns(feeding: bool, trainer: Callable[..., Trainer]) -> None:
    decoder = {"hidden_size": 32, "readout_size": 32, "dropout": 0.0, "input_feeding": feeding}
    losses = {}
    for precision in ("fp32", "fp16"):
        training = trainer(precision=precision, optimizer=CONSTANT, decoder=decoder)
        losses[precision] = [update.loss for update in itertools.islice(training, 60)]
    assert losses["fp32"][0] > 2.5 and losses["fp32"][-1] < 1.5
    assert losses["fp16"] != losses["fp32"]
    assert losses["fp16"][0] == pytest.approx(losses["fp32"][0], rel=1e-3)
    assert sum(losses["fp16"][-10:]) == pytest.approx(sum(losses["fp32"][-10:]), rel=0.1)


@pytest.mark.parametrize(("value", "accumulate"), [(torch.inf, 1), (torch.nan, 2)])
def test_an_overflow_is_left_out(value: float, accumulate: int, half: Half) -> None:
    training = half({"gradient_accumulation": accumulate})
    list(itertools.islice(training, 5))
    before = state(training)
    scale = asdict(training.progress.loss_scale)
    spoiling = spoil(training, value)
    update = next(iter(training))
    assert update.left_out and torch.isfinite(torch.tensor(update.loss))
    assert same(state(training), before)
    assert training.progress.loss_scale == LossScale(scale["factor"] / 2, 0, scale["left_out"] + 1)
    assert training.progress.update == 7
    spoiling.remove()
    assert not next(iter(training)).left_out


def test_float16_itself_overflows_until_the_scale_fits(trainer: Callable[..., Trainer]) -> None:
    training = trainer(precision="fp16", optimizer=CONSTANT)
    scale = training.progress.loss_scale = LossScale(2.0**40)
    before = training.weights()
    taken = list(itertools.takewhile(lambda update: update.left_out, training))
    assert len(taken) > 5 and 2 < scale.factor < 2.0**35
    assert scale.good == 1 and not all(map(torch.equal, before.values(), training.weights().values()))


def test_a_gradient_at_no_scale_is_divergence_and_a_loss_that_is_no_number_at_once(half: Half) -> None:
    training = half()
    spoil(training, torch.nan)
    before = state(training)
    facts = r"its gradient's norm nan at update 28: training has diverged; .* lower optimi"
    require_refusal(lambda: list(training), facts)
    assert training.progress.loss_scale == LossScale(loop.LEAST, left_out=26)
    assert same(state(training), before)
    training = half()
    with torch.no_grad():
        training.model.decoder.output.bias[5] = torch.inf
    require_refusal(lambda: next(iter(training)), r"^the loss is (nan|inf) .* at update 2: training has diverged")
    assert training.progress.loss_scale == LossScale(good=1)


def test_a_run_in_float16_decodes_on_a_cpu_in_float32(trained: Path, configure: Callable[..., Config], corpus: Corpus):
    there = mt.load(trained, device="cpu")
    config = configure({"precision": "fp16"})
    assert torch_translator(there.model, there.tokenizers, config).network.precision == "fp32"
    assert torch_translator(there.model, there.tokenizers, config, precision="bf16").network.precision == "bf16"
    rows = [row.tolist() for row, _ in corpus.split("test").read(range(10)).pairs]
    size = len(corpus.tokenizers.target)
    decoded = partial(decode_ids, there.model, rows, GreedyConfig(), vocab_size=size)
    exact, near = (decoded(precision=precision) for precision in ("fp32", "fp16"))
    assert [one.tokens for (one,) in near] == [one.tokens for (one,) in exact]
    assert [one.score for (one,) in near] != [one.score for (one,) in exact]
