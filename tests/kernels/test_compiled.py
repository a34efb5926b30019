"""Without compiled loops there is a result, too. The other tests beside this one say what the loops compute."""

import sys
from collections.abc import Iterator

import pytest
import torch

from mt.kernels import compiled
from mt.kernels.additive import additive_energy, additive_kernels
from mt.kernels.alignment import alignment_kernels
from mt.ops.expected import expected_alignment

numba = pytest.importorskip("numba")
CACHES = (alignment_kernels, additive_kernels, compiled._warn_once)


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    """As at the first call of a process, before and after."""
    for cache in CACHES:
        cache.cache_clear()
    yield
    for cache in CACHES:
        cache.cache_clear()


def assert_right(*, are_compiled: bool) -> None:
    for kernels in (alignment_kernels(torch.float32), additive_kernels()):
        assert (kernels is not None) == are_compiled
    p = torch.tensor([[[0.5, 0.5], [0.5, 0.5]]])
    assert expected_alignment(p, torch.tensor([[1.0, 0.0]])).tolist() == [[[0.5, 0.25], [0.25, 0.25]]]
    # tanh(log 2) = 0.6
    energy = additive_energy(torch.tensor([[[2.0]]]).log(), torch.zeros(1, 1, 1), torch.tensor([10.0]))
    assert energy.item() == pytest.approx(6, rel=1e-6)


def test_without_numba(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "numba", None)
    assert_right(are_compiled=False)


@pytest.mark.parametrize(
    ("owner", "name", "error", "reason"),
    [
        (numba, "njit", numba.core.errors.LoweringError("no such target"), "no such target"),
        (compiled, "_register_pointers", ImportError("Numba needs NumPy 2.2 or less"), "NumPy 2.2 or less"),
    ],
)
def test_with_a_numba_that_does_not_work_here(owner, name, error, reason, monkeypatch):
    def broken(*arguments: object, **options: object) -> None:
        raise error

    monkeypatch.setattr(owner, name, broken)
    with pytest.warns(
        UserWarning, match=rf"^loops are computed by PyTorch, and slower: numba cannot compile here \(.*{reason}"
    ) as told:
        assert_right(are_compiled=False)
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
    assert_right(are_compiled=True)


def test_with_a_damaged_cache(monkeypatch: pytest.MonkeyPatch):
    def damaged(*arguments: object) -> None:
        raise EOFError("Ran out of input")

    monkeypatch.setattr(numba.core.caching.IndexDataCacheFile, "load", damaged)
    assert_right(are_compiled=True)
