"""Against the paper's recurrence, and against the measure of finished translations in mt/metrics."""

import pytest
import torch
from hypothesis import given, settings, strategies as st

from mt.metrics import latency
from mt.ops import differentiable_average_lagging
from tests.ops import oracle

Case = tuple[torch.Tensor, torch.Tensor, torch.Tensor]


@st.composite
def batches(draw: st.DrawFn) -> Case:
    """Expected delays of three sentences: (delays [3, T], source_lengths [3], target_mask [3, T]), T from 1 to 12."""
    steps = draw(st.integers(1, 12))
    generator = torch.Generator().manual_seed(draw(st.integers(0, 2**31)))
    sources = torch.randint(1, 400, (3,), generator=generator)
    targets = torch.randint(1, steps + 1, (3,), generator=generator)
    delays = 1 + (sources[:, None] - 1) * torch.rand(3, steps, generator=generator)
    return delays.sort(1).values, sources, torch.arange(steps) < targets[:, None]


def test_worked_out_by_hand():
    # |x| = |y| = 4: wait-3 reads 3, 4, 4, 4, is written at 3, 4, 5, 6, and so is 3 behind throughout. The second
    # sentence has |x| = 4, |y| = 2, a pace of 2: read 1, 4, written 1, 4, behind by 1 and 2. The third has no target.
    delays = torch.tensor([[3.0, 4.0, 4.0, 4.0], [1.0, 4.0, 9.0, 9.0], [2.0, 2.0, 2.0, 2.0]])
    mask = torch.tensor([[True] * 4, [True, True, False, False], [False] * 4])
    lag = differentiable_average_lagging(delays, torch.tensor([4, 4, 4]), mask)
    assert lag.tolist() == [3.0, 1.5, 0.0]


@given(case=batches())
@settings(max_examples=80, deadline=None)
def test_equals_the_recurrence(case: Case):
    fast = case[0].clone().requires_grad_()
    slow = case[0].double().requires_grad_()
    lag = differentiable_average_lagging(fast, *case[1:])
    truth = oracle.differentiable_average_lagging(slow, *case[1:])
    assert lag.dtype == torch.float32
    torch.testing.assert_close(lag.double(), truth, atol=1e-6, rtol=1e-6)
    lag.sum().backward()
    truth.sum().backward()
    assert fast.grad is not None and slow.grad is not None
    torch.testing.assert_close(fast.grad.double(), slow.grad, atol=1e-6, rtol=0)
    assert not fast.grad[~case[2]].any()


@given(case=batches())
@settings(max_examples=60, deadline=None)
def test_equals_the_measure_of_finished_translations(case: Case):
    delays = case[0].round()
    sources = case[1]
    mask = case[2]
    lag = differentiable_average_lagging(delays, sources, mask)
    for ours, row, source, real in zip(lag.tolist(), delays, sources.tolist(), mask, strict=True):
        truth = latency.differentiable_average_lagging([int(g) for g in row[real]], source)
        assert ours == pytest.approx(truth, rel=1e-6, abs=1e-6)


def test_delays_may_fall():
    # Expected delays of a model need not rise: 3, 1 at a pace of 1 are written at 3, 4.
    lag = differentiable_average_lagging(torch.tensor([[3.0, 1.0]]), torch.tensor([2]), torch.ones(1, 2).bool())
    assert lag.tolist() == [3.0]


def test_padding_changes_nothing():
    delays = torch.tensor([[1.0, 2.5, 3.0]])
    mask = torch.ones(1, 3, dtype=torch.bool)
    padded = torch.nn.functional.pad(delays, (0, 2), value=100.0), torch.nn.functional.pad(mask, (0, 2))
    alone = differentiable_average_lagging(delays, torch.tensor([3]), mask)
    assert torch.equal(differentiable_average_lagging(padded[0], torch.tensor([3]), padded[1]), alone)


def test_gradients_in_float64():
    delays = torch.tensor([[1.0, 2.5, 3.0, 7.0], [4.0, 4.2, 4.9, 1.0]], dtype=torch.float64, requires_grad=True)
    mask = torch.tensor([[True] * 4, [True, True, True, False]])
    assert torch.autograd.gradcheck(lambda g: differentiable_average_lagging(g, torch.tensor([9, 5]), mask), delays)


@pytest.mark.parametrize(("given_type", "returned"), [(torch.bfloat16, torch.float32), (torch.float64, torch.float64)])
def test_precision(given_type: torch.dtype, returned: torch.dtype):
    lag = differentiable_average_lagging(torch.ones(1, 2).to(given_type), torch.tensor([2]), torch.ones(1, 2).bool())
    assert lag.dtype == returned
