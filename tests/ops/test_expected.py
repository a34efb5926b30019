"""Against the paper's recurrence in float64, and independently of it against every path that the process can take.

Every test here runs three times: with the compiled (numba) loops, and with the wavefront or the kernels of Triton in
their place. The kernels run on a GPU where there is one, and else in Triton's interpreter, if Triton is installed.
"""

from collections.abc import Iterator

import pytest
import torch
from hypothesis import given, settings, strategies as st
from torch import Tensor
from torch.nn.functional import pad

from mt.kernels.alignment import alignment_kernels
from mt.kernels.triton_check import block_size
from mt.ops.expected import expected_alignment, wavefront
from tests.ops import oracle
from tests.ops.arguments import assert_agree, probabilities

KINDS = ("any", "zeros and ones", "extremes", "ones", "zeros", "sharp")


@pytest.fixture(params=["compiled", "wavefront", "triton"], scope="module", autouse=True)
def backend(request: pytest.FixtureRequest) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "triton":
            pytest.importorskip("triton")
            patch.setattr("mt.ops.expected.wavefront", by_triton)
        if request.param != "compiled":
            patch.setattr("mt.ops.expected.alignment_kernels", lambda dtype: None)
        elif alignment_kernels(torch.float32) is None:
            pytest.skip("numba cannot compile here")
        yield


def by_triton(p: Tensor, start: Tensor) -> Tensor:
    """In the place of the wavefront. The interpreter takes small blocks, to go from one to the next in most tests."""
    from mt.kernels.triton_kernels import FusedAlignment

    if torch.cuda.is_available():
        return FusedAlignment.apply(p.cuda(), start.cuda(), block_size(p.shape[2])).cpu()
    return FusedAlignment.apply(p, start, 8)


def starts(kind: str, batch: int, positions: int, seed: int) -> Tensor:
    if kind == "one-hot":
        return torch.eye(positions)[:1].expand(batch, -1).clone()
    weights = torch.rand(batch, positions, generator=torch.Generator().manual_seed(seed))
    return weights / weights.sum(-1, keepdim=True) * (1.0 if kind == "distribution" else 0.6)


@given(
    kind=st.sampled_from(KINDS),
    start=st.sampled_from(["one-hot", "distribution", "less"]),
    batch=st.integers(1, 3),
    steps=st.integers(1, 6),
    positions=st.integers(1, 60),
    padded=st.integers(0, 9),
    seed=st.integers(0, 2**31),
)
@settings(max_examples=40, deadline=None)
def test_equals_the_recurrence(kind, start, batch, steps, positions, padded, seed):
    p = pad(probabilities(kind, (batch, steps, positions), seed), (0, padded))
    first = pad(starts(start, batch, positions, seed), (0, padded))
    assert_agree(expected_alignment, oracle.expected_alignment, (p, first), seed)
    alpha = expected_alignment(p, first)
    assert torch.equal(alpha[..., :positions], expected_alignment(p[..., :positions], first[:, :positions]))
    assert not alpha[..., positions:].any()


@pytest.mark.parametrize("kind", KINDS)
def test_equals_the_recurrence_on_a_long_source(kind: str):
    arguments = probabilities(kind, (1, 4, 400), 3), starts("one-hot", 1, 400, 3)
    assert_agree(expected_alignment, oracle.expected_alignment, arguments)


@pytest.fixture
def saturated() -> tuple[Tensor, Tensor]:
    """120 steps with p = 1 - 2^-24, which float32 rows would multiply with a rounding to the same side each time."""
    start = torch.zeros(1, 20)
    start[0, 0] = 0.6
    start[0, 10] = 0.4
    return torch.full((1, 120, 20), 1 - 2**-24), start


def test_rounding_does_not_accumulate_over_the_steps(saturated: tuple[Tensor, Tensor]):
    assert_agree(expected_alignment, oracle.expected_alignment, saturated, gradients_to=1e-6)


def test_the_bound_without_float64(monkeypatch: pytest.MonkeyPatch, saturated: tuple[Tensor, Tensor]):
    """As on MPS."""
    monkeypatch.setattr("mt.ops.expected.compute_dtype", lambda device: torch.float32)
    error = (wavefront(*saturated) - oracle.expected_alignment(*saturated)).abs().max().item()
    assert 1e-6 < error < (120 + 20) * 2**-23
