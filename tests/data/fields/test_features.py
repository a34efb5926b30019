import io
from pathlib import Path

import numpy as np
import pytest

from mt.common.options import parse
from mt.config import Config
from mt.data.fields import FeaturesConfig, FeaturesField, SourceError
from mt.errors import UserError

GRID = np.random.default_rng(0).normal(size=(3, 2, 4)).astype(np.float32)


@pytest.fixture
def field() -> FeaturesField:
    return FeaturesField(FeaturesConfig(size=4, places=6))


def test_arrays_files_and_bytes_give_the_same(field: FeaturesField, tmp_path: Path) -> None:
    np.save(tmp_path / "grid.npy", GRID)
    np.save(tmp_path / "flat.npy", np.asfortranarray(GRID.reshape(6, 4).astype(np.float64)))
    sources = [GRID, tmp_path / "grid.npy", str(tmp_path / "flat.npy"), (tmp_path / "grid.npy").read_bytes()]
    for row in field.encode(sources, None):
        assert row.dtype == np.float16 and np.array_equal(row, GRID.reshape(6, 4).astype(np.float16))


def test_fewer_places_are_padded(field: FeaturesField) -> None:
    batch, mask = field.collate(field.encode([GRID, GRID[:1]], None))
    assert batch.shape == (2, 6, 4) and mask.sum(1).tolist() == [6, 2] and not batch[1, 2:].any()
    assert field.length(field.encode([GRID], None)[0]) == 6


def saved(array: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.save(file, array, allow_pickle=True)
    return file.getvalue()


WHOLE = saved(GRID)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "is no .npy file, or broken"),
        (b"PK\3\4", "is no .npy file, or broken"),
        (WHOLE[:-8], "is no .npy file, or broken"),
        (WHOLE[:20], "is no .npy file, or broken"),
        (WHOLE.replace(b"(3, 2, 4)", b"(3, 2, x)"), "is no .npy file, or broken"),
        (WHOLE.replace(b"(3, 2, 4), }   ", b"(99999999999, 4)}"[:15]), "is no .npy file, or broken|has the shape"),
        (saved(GRID[:, :, :3]), r"has the shape \[3, 2, 3\] of float32: expected floating-point numbers \[places, 4\]"),
        (saved(np.zeros((7, 4), np.float16)), "has the shape .* at most 6 places .dataset.field"),
        (saved(np.zeros((0, 4), np.float16)), "has the shape"),
        (saved(np.zeros(4, np.float16)), "has the shape"),
        (saved(np.zeros((2, 4), np.int32)), "has the shape .* of int32"),
        (saved(np.array([[{}] * 4])), "has the shape .* of object"),
        (saved(np.array([[1, 2, 3, np.nan]])), "holds numbers that are not finite in 16 bits: scale them"),
        (saved(np.array([[1, 2, 3, 1e6]])), "holds numbers that are not finite in 16 bits"),
    ],
)
def test_what_is_no_array_of_features_is_refused(field, tmp_path, content, sentence):
    (tmp_path / "one.npy").write_bytes(content)
    for source, name in ((tmp_path / "one.npy", "one.npy"), (content, "the array")):
        with pytest.raises(SourceError, match=f"{name} ({sentence})"):
            field.encode([source], None)


def test_a_missing_file_is_refused(field: FeaturesField, tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"absent\.npy is no \.npy file, or broken \(.*No such file"):
        field.encode([tmp_path / "absent.npy"], None)


def test_both_sizes_are_one() -> None:
    given = {"folder": "x", "source": "path", "target": "caption", "field": {"name": "features", "size": 9}}
    with pytest.raises(UserError, match=r"frontend\.size=112 and dataset\.field\.size=9 are both the features of"):
        parse({"frontend": {"name": "features"}, "encoder": {"name": "none"}, "dataset": given}, Config)
