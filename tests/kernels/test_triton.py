"""When the kernels of Triton are taken, and that they compile. What they compute: test_expected.py, test_scan.py."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from torch import Tensor

from mt.kernels.triton_check import block_size, fused_alignment, fused_scan
from mt.ops.expected import Wavefront, expected_alignment
from mt.ops.scan import Chunks, linear_scan

CPU = torch.device("cpu")
HERE = torch.device("cuda", torch.cuda.current_device()) if torch.cuda.is_available() else CPU


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    """As at the first call of a process, before and after."""
    fused_alignment.cache_clear()
    fused_scan.cache_clear()
    yield
    fused_alignment.cache_clear()
    fused_scan.cache_clear()


@pytest.fixture
def kernels(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[Tensor, Tensor], Tensor]], None]:
    """Puts a function of p_choose and start in the place of the kernels."""

    def put(function: Callable[[Tensor, Tensor], Tensor]) -> None:
        fake = SimpleNamespace(FusedAlignment=SimpleNamespace(apply=lambda p, start, block: function(p, start)))
        monkeypatch.setitem(sys.modules, "mt.kernels.triton_alignment", fake)

    return put


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_kernels_that_agree_are_taken(kernels, dtype: torch.dtype):
    kernels(lambda p, start: Wavefront.apply(p, start))
    with torch.inference_mode():  # In which a program may meet them first.
        assert fused_alignment(CPU, dtype, 32, Wavefront) is not None


def broken(p: Tensor, start: Tensor) -> Tensor:
    raise NotImplementedError("no such instruction")


def without_its_gradient(p: Tensor, start: Tensor) -> Tensor:
    return Wavefront.apply(p, start) + (p - p.detach())


def without_what_enters_a_block(p: Tensor, start: Tensor) -> Tensor:
    halves = zip(p.split(32, 2), start.split(32, 1), strict=True)
    return torch.cat([Wavefront.apply(*half) for half in halves], 2)


@pytest.mark.parametrize(
    ("function", "why"),
    [
        (broken, "NotImplementedError: no such instruction"),
        (without_its_gradient, "not close"),
        (without_what_enters_a_block, "not close"),
    ],
)
def test_others_are_refused_once(kernels, function: Callable[[Tensor, Tensor], Tensor], why: str):
    kernels(function)
    with pytest.warns(UserWarning, match=f"(?s)computed without Triton, and slower: .*{why}"):
        assert fused_alignment(CPU, torch.float32, 32, Wavefront) is None
    assert fused_alignment(CPU, torch.float32, 32, Wavefront) is None


def rightward(decay: Tensor, inputs: Tensor, start: Tensor, reverse: bool) -> Tensor:
    """Never goes from the last step to the first."""
    return Chunks.apply(decay, inputs, start, False)


def from_zero(decay: Tensor, inputs: Tensor, start: Tensor, reverse: bool) -> Tensor:
    """Forgets where a recurrence starts."""
    return Chunks.apply(decay, inputs, 0 * start, reverse)


@pytest.mark.parametrize(("scan", "good"), [(Chunks.apply, True), (rightward, False), (from_zero, False)])
def test_kernels_of_a_scan(monkeypatch: pytest.MonkeyPatch, scan: Callable[..., Tensor], good: bool):
    """On a CPU, where something else stands in their place."""
    fake = SimpleNamespace(FusedScan=SimpleNamespace(apply=scan))
    monkeypatch.setitem(sys.modules, "mt.kernels.triton_scan", fake)
    if good:
        assert fused_scan(CPU, torch.float32, Chunks) is not None
        return
    with pytest.warns(UserWarning, match="(?s)a linear recurrence is computed without Triton, and slower: .*not close"):
        assert fused_scan(CPU, torch.float32, Chunks) is None


@pytest.mark.parametrize("kernel", ["alignment", "scan"])
def test_without_triton(kernel: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "triton", None)
    monkeypatch.delitem(sys.modules, f"mt.kernels.triton_{kernel}", raising=False)
    with pytest.warns(UserWarning, match="computed without Triton, and slower: ModuleNotFoundError"):
        if kernel == "alignment":
            assert fused_alignment(CPU, torch.float32, 32, Wavefront) is None
        else:
            assert fused_scan(CPU, torch.float32, Chunks) is None


def test_an_old_gpu_is_not_tried(kernels, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("torch.cuda.get_device_capability", lambda device: (6, 1))
    kernels(lambda p, start: pytest.fail("it was tried"))
    with pytest.warns(UserWarning, match=r"compute capability 7\.0 or more"):
        assert fused_alignment(torch.device("cuda"), torch.float32, 32, Wavefront) is None


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU is here")
def test_for_tensors_on_a_gpu():
    p = torch.rand(2, 3, 40, generator=torch.Generator().manual_seed(1))
    start = torch.eye(40)[:2]
    result = expected_alignment(p.cuda(), start.cuda())
    torch.testing.assert_close(result.cpu(), expected_alignment(p, start))
    states = linear_scan(p.cuda(), p.cuda(), reverse=True)
    torch.testing.assert_close(states.cpu(), linear_scan(p, p, reverse=True))


def test_block_sizes():
    assert [block_size(positions) for positions in (1, 32, 33, 64, 200, 256, 257, 5000)] == [32, 32, 64, 64] + [256] * 4


def test_the_kernels_agree():
    """On a GPU, or in the interpreter."""
    pytest.importorskip("triton")
    for dtype in (torch.float32, torch.float64):
        for size in (32, 64, 128, 256):
            assert fused_alignment(HERE, dtype, size, Wavefront) is not None
        assert fused_scan(HERE, dtype, Chunks) is not None


COMPILE = """
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from mt.kernels import triton_alignment, triton_scan

def compiled(kernel, dtype, capability, **sizes):
    types = {name: f"*{dtype}" for name in kernel.arg_names} | {"entering": "*fp64", "leaving": "*fp64"}
    types |= dict.fromkeys(("first", "stride", "steps", "positions", "hidden"), "i32")
    types |= dict.fromkeys(sizes, "constexpr")
    types = {name: types[name] for name in kernel.arg_names}
    target = GPUTarget("cuda", capability, 32)
    return triton.compile(ASTSource(kernel, types, sizes), target=target, options={"num_warps": 1}).asm

for capability in (70, 80, 90):
    for dtype in ("fp32", "fp64"):
        for kernel in (triton_alignment._forward, triton_alignment._backward):
            asm = compiled(kernel, dtype, capability, BLOCK=256)
            # Scans are exchanges between the threads of one warp.
            assert "shfl.sync" in asm["ptx"] and "bar.sync" not in asm["ptx"]
            print(len(asm["cubin"]) > 1000)
        for kernel in (triton_scan._forward, triton_scan._backward):
            print(len(compiled(kernel, dtype, capability, UNITS=32)["cubin"]) > 1000)
"""


def test_compiles_without_a_gpu(tmp_path: Path):
    """What the interpreter takes, a compiler may refuse."""
    pytest.importorskip("triton")
    environment = {**os.environ, "TRITON_INTERPRET": "0", "TRITON_CACHE_DIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", COMPILE], env=environment, capture_output=True, text=True)
    assert done.stdout.split() == ["True"] * 24, done.stderr
