"""Steps of a fixed number of rows give the hypotheses that steps of the open ones give."""

import warnings
from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any

import numpy as np
import pytest
import torch

from mt.device import choose
from mt.errors import UserError
from mt.models.attention import ATTENTIONS
from mt.models.decoders import DECODERS
from mt.models.ensemble import Ensemble
from mt.models.seq2seq import Seq2Seq
from mt.search import graph_stepper
from mt.search.beam import search
from mt.search.coverage import Coverage, Penalties
from mt.search.graph_stepper import GraphStepper
from mt.search.hypothesis import Hypothesis
from mt.search.processor import Rules
from mt.search.torch_stepper import TorchStepper
from tests.marks import combined
from tests.models.small import small
from tests.search.toys import make_toy

CPU = torch.device("cpu")
EVERY = [*(("luong", name) for name in ATTENTIONS), *((name, "general") for name in DECODERS)]
VOCABULARY = 19
LENGTHS = (3, 7, 1, 5, 6)
LIMITS = (12, 12, 9, 12, 12)


class Recorder:
    """Stands in place of `recorded`: it computes anew what a GPU would do again, into the same memory."""

    def __init__(self) -> None:
        self.recorded = self.replayed = 0

    def __call__(self, body: Callable[[], Any], device: torch.device) -> Callable[[], Any]:
        self.recorded += 1
        kept = None

        def replay() -> Any:
            nonlocal kept
            self.replayed += 1
            outputs = body()
            if kept is None:
                kept = outputs
            kept.log_probs.copy_(outputs.log_probs)
            kept.numbers.copy_(outputs.numbers)
            return kept

        return replay


def require_equal(actual: list[list[Hypothesis]], expected: list[list[Hypothesis]]) -> None:
    assert [len(of_sentence) for of_sentence in actual] == [len(of_sentence) for of_sentence in expected]
    pairs = zip(chain(*actual), chain(*expected), strict=True)
    for one, other in pairs:
        assert one.tokens == other.tokens
        assert one.log_prob == pytest.approx(other.log_prob, abs=1e-4)
        np.testing.assert_allclose(one.windows.dense(), other.windows.dense(), atol=1e-5)


@combined(seed=range(3), width=[1, 2, 5, 40])
def test_equal_to_steps_of_open_hypotheses(width, seed, monkeypatch):
    """In a language whose sentences end at very different steps; a batch that has shrunk is recorded anew."""
    monkeypatch.setattr(graph_stepper, "MANY", 2)
    toy = make_toy(8, 30, seed, ending=0.5)
    limits = [9, 1, 4, 9, 12, 2, 7, 15]
    options: dict[str, Any] = {"beam_size": width, "n_best": min(width, 3), "length_penalty": 0.6}
    recorder = Recorder()
    start = (toy.step, toy.memory(), toy.init_state(toy.memory()), 8, CPU)
    actual = search(GraphStepper(TorchStepper(*start), width, recorder), limits, **options)
    require_equal(actual, search(TorchStepper(*start), limits, **options))
    assert (1 if width < 40 else 0) < recorder.recorded < recorder.replayed


@pytest.mark.parametrize("width", [1, 4])
def test_constraints_and_penalties(width: int) -> None:
    toy = make_toy(5, 6, 3)
    limits = [9, 2, 12, 7, 5]
    start = (toy.step, toy.memory(), toy.init_state(toy.memory()), 5, CPU)
    options: dict[str, Any] = {"beam_size": width}
    if width > 1:
        options["coverage"] = Coverage.before(Penalties(0.2, 0.1), [3] * 5)
    steppers = (GraphStepper(TorchStepper(*start), width, Recorder()), TorchStepper(*start))
    require_equal(*(search(each, limits, processors=[Rules(5, 4, 2)], **options) for each in steppers))


def test_scores_that_are_not_finite() -> None:
    toy = make_toy(3, 6, 1)
    toy.tables[1] = torch.nan
    start = (toy.step, toy.memory(), toy.init_state(toy.memory()), 3, CPU)
    with pytest.raises(UserError, match="not finite numbers"):
        search(GraphStepper(TorchStepper(*start), 2, Recorder()), [4, 4, 4], beam_size=2)


def models(decoder: str, attention: str, count: int) -> list[Seq2Seq]:
    torch.manual_seed(5)
    decoding = {"name": decoder, "copy": decoder == "gnmt"}
    parts = {"encoder": {"name": "bilstm"}, "decoder": decoding, "attention": {"name": attention}}
    return [small(VOCABULARY, VOCABULARY, **parts).eval() for _ in range(count)]


def sources() -> tuple[torch.Tensor, torch.Tensor]:
    mask = torch.arange(max(LENGTHS)) < torch.tensor(LENGTHS)[:, None]
    return torch.randint(4, VOCABULARY, mask.shape).masked_fill(~mask, 0), mask


def both(model, device, width, **record) -> Sequence[list[list[Hypothesis]]]:
    """Hypotheses of soft attention, by recorded steps and by others."""
    source, mask = (part.to(device) for part in sources())
    with torch.no_grad():
        memory = model.to(device).encode(source, mask)
        start = (model.step, memory, model.init_state(memory), len(LENGTHS), device)
        steppers = (GraphStepper(TorchStepper(*start), width, **record), TorchStepper(*start))
        long = [[Rules(len(LENGTHS), min_length=6)] for _ in steppers]
        columns = zip(steppers, long, strict=True)
        return [search(stepper, LIMITS, beam_size=width, processors=rules) for stepper, rules in columns]


@pytest.mark.parametrize(("decoder", "attention"), EVERY)
def test_of_every_decoder_and_attention(decoder: str, attention: str) -> None:
    """The state after a step fits into the memory of that before."""
    [model] = models(decoder, attention, 1)
    recorder = Recorder()
    require_equal(*both(model, CPU, 3, record=recorder))
    assert recorder.recorded == 1 < recorder.replayed


def test_of_an_ensemble() -> None:
    require_equal(*both(Ensemble(models("luong", "general", 2)), CPU, 2, record=Recorder()))


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU is here")
@pytest.mark.parametrize(("decoder", "attention"), EVERY)
def test_on_a_gpu(decoder: str, attention: str) -> None:
    """Every step can be recorded, and gives there what it gave."""
    [model] = models(decoder, attention, 1)
    with warnings.catch_warnings():
        warnings.filterwarnings("error", "steps cannot be recorded")
        require_equal(*both(model, choose("cuda"), 3))
