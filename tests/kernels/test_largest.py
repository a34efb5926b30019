import platform
import subprocess
import sys

import pytest
import torch

from mt.kernels.largest import largest

FAULTS = """
import resource, torch
from mt.kernels.largest import keep_memory
def faults(): return resource.getrusage(resource.RUSAGE_SELF).ru_minflt
def steps():
    for _ in range(50):
        [torch.zeros(1 << 19) for _ in range(4)]
keep_memory()
steps()
before = faults()
steps()
print(faults() - before)
"""


@pytest.mark.parametrize("count", [1, 2, 5])
@pytest.mark.parametrize(("rows", "size"), [(1, 5), (3, 1000), (9, 8000), (70, 1029)])
def test_equals_topk(rows: int, size: int, count: int) -> None:
    torch.manual_seed(size)
    values = torch.randperm(rows * size).view(rows, size).float()
    values[0, :3] = -torch.inf
    for actual, expected in zip(largest(values, count), values.topk(count), strict=True):
        assert torch.equal(actual, expected)


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("column", [0, 77, 7999])
def test_nothing_is_larger_than_what_is_not_a_number(column: int, count: int) -> None:
    values = torch.zeros(9, 8000)
    values[4, column] = torch.nan
    values[4, column - 1] = torch.inf
    best, columns = largest(values, count)
    assert best[4, 0].isnan() and columns[4, 0] == column
    assert not best.isnan()[:4].any()


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other C libraries have bounds of their own")
def test_freed_memory_is_kept_for_the_next_step() -> None:
    """Steps of 8 MB each, which are else given back to the system, and come again in 2,048 pages."""
    done = subprocess.run([sys.executable, "-c", FAULTS], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 5000
