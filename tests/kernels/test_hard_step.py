"""The edges of compiled hard steps. That they are those of torch, and these the process, is tested with the attentions
that take them (tests/models/attention)."""

import sys
from collections.abc import Iterator
from typing import Any

import pytest
import torch

from mt.kernels import hard_step as kernel
from mt.kernels.hard_step import PlainEnergy, hard_loops, hard_step, hard_steps
from mt.models.attention.base import Attention
from mt.models.attention.lookback import MILk, MILkConfig
from mt.step import SELECTED_NONE
from tests.models.small import encoded

pytestmark = pytest.mark.skipif(hard_loops() is None, reason="numba cannot compile here")
START = torch.zeros(1, dtype=torch.int64)


@pytest.fixture(autouse=True)
def without_gradient() -> Iterator[None]:
    with torch.no_grad():
        yield


def one_step(stop, chunk, rule, state=(START, START)) -> Any:
    """A step of one source whose values are ones."""
    columns = stop.keys.shape[1]
    source = torch.ones(1, columns, 1), torch.ones(1, columns, dtype=torch.bool), None, None
    return hard_step((stop, chunk), source, state, rule)[1]


def scores(*numbers: float) -> PlainEnergy:
    """An energy that has these values."""
    return PlainEnergy(torch.ones(1, 1), torch.tensor(numbers).view(1, -1, 1))


def test_a_window_may_be_wider_than_the_room_for_it() -> None:
    """Nothing stops before the last position, and the window reaches from the first one on."""
    length = 3 * kernel.WINDOW
    attention = MILk(MILkConfig(energy_bias=-1e6), 5, 5).eval()
    draw = torch.Generator().manual_seed(1)
    values = torch.randn(2, length, 5, generator=draw)
    queries = torch.randn(2, 3, 5, generator=draw)
    memory = attention.init_memory(encoded(values))
    compiled = Attention.forward(attention, queries, memory, hard=True)
    torch.testing.assert_close(compiled.weights, attention(queries, memory, hard=True).weights, atol=1e-6, rtol=1e-5)
    with torch.enable_grad():
        by_torch = attention(queries, memory, hard=True)
    torch.testing.assert_close(compiled.weights, by_torch.weights.detach(), atol=1e-6, rtol=1e-5)
    torch.testing.assert_close(compiled.contexts, by_torch.contexts.detach(), atol=3e-6, rtol=1e-5)
    assert compiled.weights[0, 0, 0] > 0 and compiled.alpha is not None and compiled.alpha[..., -1].all()


def test_a_step_calls_no_python_from_its_loop() -> None:
    """There a signal's handler would run, and what it raises would leave numba as a SystemError."""
    called = []
    one_step(scores(-1.0, 1.0), scores(0.0, 0.0), (1, 0, 0))
    sys.setprofile(lambda frame, event, _: called.append(frame.f_code.co_filename) if event == "call" else None)
    try:
        one_step(scores(-1.0, 1.0), scores(0.0, 0.0), (1, 0, 0))
    finally:
        sys.setprofile(None)
    assert any(name.endswith("hard_step.py") for name in called)
    assert not [name for name in called if "numba" in name and "site-packages" in name]


def test_a_sum_that_rounding_makes_zero_stops_as_in_torch() -> None:
    """gain * energy is rounded before the bias is added, and not after."""
    gain, product = torch.rand(2, 4000, generator=torch.Generator().manual_seed(1))
    stopped = 0
    for one, two in zip(gain, product, strict=True):
        for bias in (-(one * two), torch.nextafter(-(one * two), torch.tensor(-1.0))):
            energy = PlainEnergy(two.view(1, 1), torch.ones(1, 1, 1), gain=one, bias=bias)
            attended = one_step(energy, energy, (0, 0, 0))
            assert (attended.stops.item() == 0) == bool(one * two + bias >= 0)
            stopped += attended.stops.item() == 0
    assert stopped == 4000


def test_large_energies_and_what_is_no_number() -> None:
    """The softmax neither overflows nor hides NaN; an energy that is NaN stops nothing."""
    for numbers, weights in (([1e30, 1e30], [0.5] * 2), ([-1e4, 0.0], [0.0, 1.0]), ([0.0, torch.nan], [torch.nan] * 2)):
        attended = one_step(scores(-1.0, 1.0), scores(*numbers), (1, 0, 0))
        torch.testing.assert_close(attended.weights, torch.tensor([weights]), equal_nan=True)
    nan = scores(torch.nan, torch.nan)
    assert one_step(nan, nan, (0, 0, 0)).stops.item() == SELECTED_NONE


@pytest.mark.parametrize(
    "changed",
    [
        {"chunk": PlainEnergy(torch.zeros(4, 8), torch.zeros(4, 9, 7))},
        {"stop": PlainEnergy(torch.zeros(3, 7), torch.zeros(4, 9, 7))},
        {"chunk": PlainEnergy(torch.zeros(4, 7), torch.zeros(4, 5, 7))},
        {"mask": torch.ones(4, 5, dtype=torch.bool)},
        {"values": torch.zeros(2, 9, 7)},
        {"last_stops": torch.zeros(3, dtype=torch.int64)},
    ],
    ids=lambda changed: next(iter(changed)),
)
def test_shapes_that_do_not_fit_are_refused(changed: dict[str, Any]) -> None:
    """The loop would read beyond the end of what is too short."""
    energy = PlainEnergy(torch.zeros(4, 7), torch.zeros(4, 9, 7))
    rows = torch.zeros(4, dtype=torch.int64)
    given: dict[str, Any] = {"stop": energy, "chunk": energy, "values": torch.zeros(4, 9, 7), "last_stops": rows}
    given |= {"mask": torch.ones(4, 9, dtype=torch.bool)} | changed
    source = given["values"], given["mask"], None, None
    with pytest.raises(ValueError, match=r"do not fit|another number of rows"):
        hard_step((given["stop"], given["chunk"]), source, (given["last_stops"], rows), (3, 0, 1))
    stop, chunk = (part._replace(query=part.query[:, None]) for part in (given["stop"], given["chunk"]))
    if "last_stops" not in changed:
        with pytest.raises(ValueError, match="do not fit"):
            hard_steps((stop, chunk), source, (3, 0, 1))
