"""Parquet that is damaged, or is no table of pairs."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from data_prep.sources import open_source
from mt.data.dataset import DatasetConfig
from mt.errors import UserError


def _config(folder: Path, source: str = "en", target: str = "de") -> DatasetConfig:
    return DatasetConfig(folder=str(folder), source=source, target=target)


def _write(path: Path, count: int) -> None:
    columns = {"id": [7] * count, **{side: [f"{side} words {i}" for i in range(count)] for side in ("en", "de")}}
    pq.write_table(pa.table(columns), path)


def test_bad_parquet_is_refused(tmp_path: Path) -> None:
    for split in ("train", "dev", "test"):
        _write(tmp_path / f"{split}.parquet", 2000)
    sound = (tmp_path / "train.parquet").read_bytes()
    (tmp_path / "dev.parquet").write_bytes(sound[:-50])
    (tmp_path / "test.parquet").write_bytes(sound[:100] + b"\xff" * 4000 + sound[4100:])
    source = open_source(_config(tmp_path))
    for split in ("dev", "test"):
        with pytest.raises(UserError, match=rf"{split}\.parquet cannot be read as parquet \(.*\): copy it again"):
            len(list(source.splits[split].read()))
    with pytest.raises(UserError, match=r"train\.parquet has no column fr: .*de, en, id; set dataset\.source"):
        len(list(open_source(_config(tmp_path, "en", "fr")).splits["train"].read()))
    with pytest.raises(UserError, match=r"train\.parquet, row 1, column id holds int, not text: set dataset\.source"):
        len(list(open_source(_config(tmp_path, "en", "id")).splits["train"].read()))


@pytest.mark.parametrize("nested", [False, True])
def test_a_column_that_is_there_twice_is_refused(tmp_path: Path, nested: bool) -> None:
    texts = [pa.array([text]) for text in ("a", "b", "c", "d")]
    names = ["en", "de", "x", "de"]
    table = pa.table(texts, names)
    if nested:
        table = pa.table({"translation": pa.StructArray.from_arrays(texts, names)})
    for split in ("dev", "test"):
        _write(tmp_path / f"{split}.parquet", 1)
    pq.write_table(table, tmp_path / "train.parquet")
    with pytest.raises(UserError, match=r"train\.parquet has 2 columns de: give each a name of its own$"):
        len(list(open_source(_config(tmp_path)).splits["train"].read()))
    assert len(list(open_source(_config(tmp_path, "en", "x")).splits["train"].read())) == 1
