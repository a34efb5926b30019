"""Steps of search as CUDA graphs, emulated: they find what plain steps find."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
import torch

from mt.config import Config
from mt.decoding import decode_ids
from mt.models.ensemble import Ensemble
from mt.models.seq2seq import Seq2Seq
from mt.search import graphs
from mt.search.config import BeamConfig, GreedyConfig, SearchConfig, WaitKConfig
from mt.search.hypothesis import Hypothesis
from tests.search.emulation import Device, Tape


@pytest.fixture
def device(monkeypatch: pytest.MonkeyPatch) -> Device:
    found = Device()
    found.stand_in(monkeypatch)
    # Compiled loops are of CPUs, and no operations of torch.
    monkeypatch.setattr("mt.ops.additive.additive_kernels", lambda: None)
    graphs._tell.cache_clear()
    return found


@pytest.fixture
def build(configure: Callable[..., Config]) -> Callable[..., Seq2Seq]:
    def built(attention: str = "general", **parts: Any) -> Seq2Seq:
        torch.manual_seed(3)
        model = Seq2Seq(configure({"attention": {"name": attention}, **parts}), 20, 24).eval()
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.mul_(4)
        return model

    return built


@pytest.fixture
def sources() -> list[list[int]]:
    """Of four widths in sixteens, ten to a batch and fewer."""
    draw = np.random.default_rng(1)
    return [[*draw.integers(4, 20, length).tolist(), 3] for length in (*range(1, 36), *[50] * 5)]


Found = Sequence[Sequence[Hypothesis]]


def both(model: Any, sources: list[list[int]], search: SearchConfig, precision: str = "fp32") -> tuple[Found, Found]:
    """Without and with graphs."""
    plain, graphed = (
        decode_ids(model, sources, search.model_copy(update={"cuda_graphs": on}), vocab_size=24, precision=precision)
        for on in (False, True)
    )
    return plain, graphed


def assert_same(plain: Found, graphed: Found, sources: list[list[int]]) -> None:
    for one, other, source in zip(plain, graphed, sources, strict=True):
        assert [each.tokens for each in one] == [each.tokens for each in other]
        for first, second in zip(one, other, strict=True):
            assert second.score == pytest.approx(first.score, rel=1e-4)
            width = len(source)
            torch.testing.assert_close(second.weights[:, :width], first.weights[:, :width], atol=1e-5, rtol=1e-3)
            assert not second.weights[:, width:].any()


SEARCHES = {
    "greedy": GreedyConfig(batch_tokens=200),
    "beam": BeamConfig(beam_size=5, n_best=3, batch_tokens=200),
    "varied": BeamConfig(beam_size=4, min_length=4, no_repeat_ngram_size=2, batch_tokens=400),
}


@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize("attention", ["dot", "general", "location", "bahdanau", "local_m", "local_p"])
def test_the_same_is_found(
    attention: str, search: str, build: Callable[..., Seq2Seq], device: Device, sources: list[list[int]]
) -> None:
    plain, graphed = both(build(attention), sources, SEARCHES[search])
    assert_same(plain, graphed, sources)
    assert len({len(each.tokens) for best in plain for each in best}) > 5, "rows come and go"
    assert 5 < device.recorded <= graphs.MOST and device.replayed > 3 * device.recorded


@pytest.mark.parametrize(
    "decoder",
    [
        {"name": "luong", "input_feeding": True, "hidden_size": 32, "readout_size": 32},
        {"name": "bahdanau", "hidden_size": 32, "readout_size": 32},
        {"name": "gnmt", "hidden_size": 32, "readout_size": 32},
    ],
    ids=lambda options: options["name"],
)
def test_other_decoders(
    decoder: dict[str, Any], build: Callable[..., Seq2Seq], device: Device, sources: list[list[int]]
) -> None:
    plain, graphed = both(build(decoder=decoder), sources, SEARCHES["beam"])
    assert_same(plain, graphed, sources)
    assert device.replayed > 3 * device.recorded > 0


def test_an_ensemble(build: Callable[..., Seq2Seq], device: Device, sources: list[list[int]]) -> None:
    model = Ensemble([build(), build("dot")])
    plain, graphed = both(model, sources, SEARCHES["beam"])
    assert_same(plain, graphed, sources)
    assert device.replayed > 3 * device.recorded > 0


def test_wait_k(build: Callable[..., Seq2Seq], device: Device, sources: list[list[int]]) -> None:
    decoder = {"hidden_size": 32, "readout_size": 32, "init_hidden": "zeros"}
    model = build(encoder={"name": "lstm", "hidden_size": 32}, decoder=decoder)
    plain, graphed = both(model, sources, WaitKConfig(k=2))
    assert_same(plain, graphed, sources)
    assert device.replayed > 3 * device.recorded > 0


def test_under_autocast(build: Callable[..., Seq2Seq], device: Device, sources: list[list[int]]) -> None:
    """Graphs outlive the casts of weights that autocast keeps for a batch."""
    plain, graphed = both(build(), sources, SEARCHES["greedy"], precision="bf16")
    same = [one[0].tokens == other[0].tokens for one, other in zip(plain, graphed, strict=True)]
    assert sum(same) > 0.8 * len(same)  # bfloat16 has 8 bits, and other batches round otherwise
    assert device.replayed > 3 * device.recorded > 0


def test_few_graphs_are_kept(
    build: Callable[..., Seq2Seq], device: Device, sources: list[list[int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(graphs, "MOST", 2)
    kept = []
    step = graphs.GraphedSteps.step

    def counted(self: graphs.GraphedSteps, *given: Any) -> Any:
        found = step(self, *given)
        kept.append(len(self._graphs))
        return found

    monkeypatch.setattr(graphs.GraphedSteps, "step", counted)
    plain, graphed = both(build(), sources, SEARCHES["greedy"])
    assert_same(plain, graphed, sources)
    assert max(kept) == 2 and device.recorded > 6


def test_steps_that_wait_are_taken_as_they_are(
    build: Callable[..., Seq2Seq], device: Device, sources: list[list[int]], capsys: pytest.CaptureFixture[str]
) -> None:
    for search in (GreedyConfig(), BeamConfig(beam_size=3)):
        plain, graphed = both(build("monotonic"), sources[:12], search)
        assert_same(plain, graphed, sources[:12])
        assert all(best.stops is not None for (best,) in graphed)
    assert device.recorded == 2 and device.replayed == 0
    told = capsys.readouterr().err
    assert told.count("\n") == 1, "once"
    assert told.startswith(
        "note: search.cuda_graphs=true has no effect, since the steps of this search cannot be recor"
    )


def test_a_cpu_has_none(build: Callable[..., Seq2Seq], sources: list[list[int]]) -> None:
    plain, other = both(build(), sources, SEARCHES["beam"])
    for one, two in zip(plain, other, strict=True):
        assert [(each.tokens, each.score) for each in one] == [(each.tokens, each.score) for each in two]


def test_the_emulation_replays_what_was_recorded() -> None:
    """With what its inputs hold now; results of the recording itself are not there."""
    tape, given = Tape(), torch.tensor([1.0, 2.0])
    with tape:
        double = given * 2
        view = double[1:]
        view += 1
    tape.spoil()
    assert double.isnan().all()
    given.copy_(torch.tensor([5.0, 6.0]))
    tape.replay()
    assert double.tolist() == [10.0, 13.0] and view.tolist() == [13.0]
    with pytest.raises(RuntimeError, match="not permitted"), Tape():
        given.sum().item()
