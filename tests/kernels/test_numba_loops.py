"""Without compiled loops there is a result, too. What the loops compute: test_expected.py, test_additive.py,
test_scan.py."""

import subprocess
import sys
from collections.abc import Iterator

import pytest
import torch

from mt.kernels import compiled, numba_loops
from mt.kernels.additive import additive_energy
from mt.ops.expected import expected_alignment

numba = pytest.importorskip("numba")


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    """As at the first call of a process, before and after."""
    clear()
    yield
    clear()


def clear() -> None:
    numba_loops.alignment_kernels.cache_clear()
    numba_loops.additive_kernels.cache_clear()
    compiled._told.cache_clear()


def available() -> list[bool]:
    return [
        kernels is not None
        for kernels in (
            numba_loops.alignment_kernels(torch.float32),
            numba_loops.additive_kernels(),
        )
    ]


def assert_right() -> None:
    p = torch.tensor([[[0.5, 0.5], [0.5, 0.5]]], requires_grad=True)
    alpha = expected_alignment(p, torch.tensor([[1.0, 0.0]]))
    assert alpha.tolist() == [[[0.5, 0.25], [0.25, 0.25]]]
    alpha[0, 1, 1].backward()
    # alpha[1, 1] = p11 ((1 - p10) p00 + p01 (1 - p00)); of p00: p11 ((1 - p10) - p01) = 0; of p01: p11 (1 - p00)
    assert p.grad is not None
    assert p.grad.tolist() == [[[0.0, 0.25], [-0.25, 0.5]]]
    # tanh(log 2) = 0.6
    queries = torch.tensor([[[2.0]]]).log().requires_grad_()
    keys = torch.zeros(1, 1, 1)
    direction = torch.tensor([10.0])
    energy = additive_energy(queries, keys, direction)
    energy.sum().backward()
    assert energy.item() == pytest.approx(6, rel=1e-6)
    assert queries.grad is not None
    assert queries.grad.item() == pytest.approx(10 * (1 - 0.36), rel=1e-6)


def test_with_numba():
    assert available() == [True, True]
    assert_right()


def test_without_numba(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "numba", None)
    assert available() == [False, False]
    assert_right()


def test_with_a_numba_that_cannot_compile(monkeypatch: pytest.MonkeyPatch):
    def broken(*arguments: object, **options: object) -> None:
        raise numba.core.errors.LoweringError("no such target")

    monkeypatch.setattr(numba, "njit", broken)
    with pytest.warns(
        UserWarning, match=r"^loops are computed by PyTorch, and slower: numba cannot .* such target"
    ) as told:
        assert available() == [False, False]
        assert_right()
    assert len(told) == 1


def test_with_a_numba_that_does_not_load(monkeypatch: pytest.MonkeyPatch):
    def broken(numba: object) -> None:
        raise ImportError("Numba needs NumPy 2.2 or less")

    monkeypatch.setattr(compiled, "_register_pointers", broken)
    with pytest.warns(UserWarning, match=r"numba cannot compile here \(Numba needs NumPy 2.2 or less\)$") as told:
        assert available() == [False, False]
    assert len(told) == 1


def test_a_loop_that_is_wrong_is_no_reason_to_go_without():
    def wrong(number):
        return number.no_such_attribute

    with pytest.raises(numba.core.errors.TypingError):
        compiled.compiled_loop("int64(int64)", wrong)


def test_with_no_folder_for_the_cache(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(numba.core.caching.CacheImpl, "_locator_classes", [])
    with pytest.raises(RuntimeError, match="no locator available"):
        numba.njit(cache=True)(assert_right)
    assert available() == [True, True]
    assert_right()


def test_with_a_damaged_cache(monkeypatch: pytest.MonkeyPatch):
    def damaged(*arguments: object) -> None:
        raise EOFError("Ran out of input")

    monkeypatch.setattr(numba.core.caching.IndexDataCacheFile, "load", damaged)
    assert available() == [True, True]
    assert_right()


def test_compilers_are_not_loaded_before_they_are_needed():
    program = "import sys, mt.ops, mt.kernels.additive; print(not {'numba', 'triton'}.isdisjoint(sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
