"""When the kernels of Triton are taken, and that they compile. What they compute: test_expected.py, test_scan.py."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor

from mt.kernels.triton_check import block_size, fused_alignment
from mt.ops.expected import expected_alignment, wavefront

CPU = torch.device("cpu")
HERE = torch.device("cuda", torch.cuda.current_device()) if torch.cuda.is_available() else CPU


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    """As at the first call of a process, before and after."""
    fused_alignment.cache_clear()
    yield
    fused_alignment.cache_clear()


@pytest.fixture
def kernels(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[..., Tensor]], None]:
    """Puts a function in the place of the kernels."""

    def put(function: Callable[..., Tensor]) -> None:
        alignment = SimpleNamespace(apply=lambda p, start, block: function(p, start))
        fake = SimpleNamespace(FusedAlignment=alignment)
        monkeypatch.setitem(sys.modules, "mt.kernels.triton_kernels", fake)

    return put


def alignment(dtype: torch.dtype = torch.float32, device: torch.device = CPU) -> Any:
    return fused_alignment(device, dtype, 32, wavefront)


@torch.inference_mode()
def test_kernels_that_agree_are_taken(kernels):
    """In inference mode, too, in which a program may meet them first."""
    kernels(wavefront)
    assert alignment() is not None and alignment(torch.float64) is not None


def broken(*arguments: Any) -> Tensor:
    raise NotImplementedError("no such instruction")


def without_its_gradient(p: Tensor, start: Tensor) -> Tensor:
    return wavefront(p, start) + (p - p.detach())


def without_what_enters_a_block(p: Tensor, start: Tensor) -> Tensor:
    halves = zip(p.split(32, 2), start.split(32, 1), strict=True)
    return torch.cat([wavefront(*half) for half in halves], 2)


@pytest.mark.parametrize(
    ("function", "why"),
    [
        (broken, "NotImplementedError: no such instruction"),
        (without_its_gradient, "not close"),
        (without_what_enters_a_block, "not close"),
    ],
)
def test_others_are_refused_once(kernels, function: Callable[..., Tensor], why: str):
    kernels(function)
    what = "the expected alignment is computed without Triton, and slower"
    with pytest.warns(UserWarning, match=f"(?s)^{what}: .*{why}"):
        assert alignment() is None
    assert alignment() is None


def test_without_triton(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "triton", None)
    monkeypatch.delitem(sys.modules, "mt.kernels.triton_kernels", raising=False)
    with pytest.warns(UserWarning, match="computed without Triton, and slower: ModuleNotFoundError"):
        assert alignment() is None


def test_an_old_gpu_is_not_tried(kernels, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("torch.cuda.get_device_capability", lambda device: (6, 1))
    kernels(lambda p, start: pytest.fail("it was tried"))
    with pytest.warns(UserWarning, match=r"compute capability 7\.0 or more"):
        assert alignment(device=torch.device("cuda")) is None


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU is here")
def test_for_tensors_on_a_gpu():
    p = torch.rand(2, 3, 40, generator=torch.Generator().manual_seed(1))
    start = torch.eye(40)[:2]
    result = expected_alignment(p.cuda(), start.cuda())
    torch.testing.assert_close(result.cpu(), expected_alignment(p, start))


def test_block_sizes():
    assert [block_size(positions) for positions in (1, 32, 33, 64, 200, 256, 257, 5000)] == [32, 32, 64, 64] + [256] * 4


def test_the_kernels_agree():
    """On a GPU, or in the interpreter."""
    pytest.importorskip("triton")
    for dtype in (torch.float32, torch.float64):
        for size in (32, 64, 128, 256):
            assert fused_alignment(HERE, dtype, size, wavefront) is not None


COMPILE = """
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from mt.kernels import triton_kernels

def compiled(kernel, dtype, capability, **sizes):
    types = {name: f"*{dtype}" for name in kernel.arg_names} | {"entering": "*fp64", "leaving": "*fp64"}
    types |= dict.fromkeys(("first", "steps", "positions"), "i32")
    types |= dict.fromkeys(sizes, "constexpr")
    types = {name: types[name] for name in kernel.arg_names}
    target = GPUTarget("cuda", capability, 32)
    return triton.compile(ASTSource(kernel, types, sizes), target=target, options={"num_warps": 1}).asm

for capability in (70, 80, 90):
    for dtype in ("fp32", "fp64"):
        for kernel in (triton_kernels._alignment_forward, triton_kernels._alignment_backward):
            asm = compiled(kernel, dtype, capability, BLOCK=256)
            # Scans are exchanges between the threads of one warp.
            assert "shfl.sync" in asm["ptx"] and "bar.sync" not in asm["ptx"]
            print(len(asm["cubin"]) > 1000)
"""


def test_compiles_without_a_gpu(tmp_path: Path):
    """What the interpreter takes, a compiler may refuse."""
    pytest.importorskip("triton")
    environment = {**os.environ, "TRITON_INTERPRET": "0", "TRITON_CACHE_DIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", COMPILE], env=environment, capture_output=True, text=True)
    assert done.stdout.split() == ["True"] * 12, done.stderr
