"""Sounds and pictures in the cells of tables, as the hub keeps them."""

import io
from multiprocessing.reduction import ForkingPickler
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from data_prep.sources import open_reader, open_source
from mt.data.corpus import Corpus
from mt.data.dataset import DatasetConfig
from mt.data.fields import SourceError
from tests.data_prep.small import RATE, prepared, refusal, sound_config

soundfile = pytest.importorskip("soundfile", reason="needs the extra `speech`")
Image = pytest.importorskip("PIL.Image", reason="needs the extra `images`")

SIZES = {"train": 7, "dev": 2, "test": 2}
CELL = pa.struct([("bytes", pa.binary()), ("path", pa.string())])


def sound(level: int) -> bytes:
    file = io.BytesIO()
    soundfile.write(file, np.full(800, level, np.int16), RATE, format="FLAC")
    return file.getvalue()


def picture(level: int) -> bytes:
    file = io.BytesIO()
    Image.new("RGB", (20, 20), (level, 0, 0)).save(file, format="PNG")
    return file.getvalue()


def config(folder: Path, **changed: Any) -> DatasetConfig:
    return sound_config(folder, **{"source": "audio", "tokenizer": {"model_type": "word", "vocab_size": 50}} | changed)


def write_parquet(folder: Path, cells: dict[str, list[Any]], kind: pa.DataType = CELL) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for split, column in cells.items():
        texts = [f"{split} {number}" for number in range(len(column))]
        table = pa.table({"audio": pa.array(column, kind), "text": texts})
        pq.write_table(table, folder / f"{split}.parquet", row_group_size=3)


def cells() -> dict[str, list[Any]]:
    return {
        split: [{"bytes": sound(100 * number + len(split)), "path": f"{number}.flac"} for number in range(size)]
        for split, size in SIZES.items()
    }


def levels(corpus: Corpus, split: str) -> list[int]:
    part = corpus.split(split)
    return [int(row.ravel()[0]) for row, _ in part.ids(range(len(part)))]


def test_plain_bytes_and_paths_below_the_folder(tmp_path: Path) -> None:
    (tmp_path / "data/sounds").mkdir(parents=True)
    (tmp_path / "data/sounds/a.flac").write_bytes(sound(5))
    named = {split: [{"bytes": None, "path": "sounds/a.flac"}] for split in SIZES}
    write_parquet(tmp_path / "data", named)
    assert levels(prepared(config(tmp_path / "data"), tmp_path), "train") == [5]
    write_parquet(tmp_path / "plain", {split: [sound(6)] for split in SIZES}, pa.binary())
    assert levels(prepared(config(tmp_path / "plain"), tmp_path), "train") == [6]


def test_the_hubs_layout_of_sound(tmp_path: Path) -> None:
    # As in the repositories: the schema says that the column is sound, which the library would decode.
    features = datasets.Features({"audio": datasets.Audio(), "text": datasets.Value("string")})
    for split, column in cells().items():
        texts = [f"{split} {number}" for number in range(len(column))]
        path = tmp_path / "copy/data" / f"{split.replace('dev', 'validation')}-00000-of-00001.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.Table.from_pydict({"audio": column, "text": texts}, features.arrow_schema), path)
    dataset = config(tmp_path / "copy", hub={"id": "a/b"})
    corpus = prepared(dataset, tmp_path)
    for split, size in SIZES.items():
        assert levels(corpus, split) == [100 * number + len(split) for number in range(size)]
    assert corpus.split("dev").column("source") == [f"data/validation-00000-of-00001.parquet#row={n}" for n in (0, 1)]
    assert len(list(open_source(dataset).splits["train"].read())) == 7
    sent = ForkingPickler.loads(ForkingPickler.dumps(open_reader(dataset)))  # as to another process
    assert sent.open("data/test-00000-of-00001.parquet#row=1") == sound(104)


def test_the_hubs_layout_of_pictures(tmp_path: Path) -> None:
    features = datasets.Features(
        {"image": datasets.Image(decode=False), "text": datasets.List(datasets.Value("string"))}
    )
    for split in ("train", "validation", "test"):
        column = [{"bytes": picture(40 * number), "path": None} for number in range(3)]
        texts = [[f"{number}", "a picture"] for number in range(3)]
        (tmp_path / "copy").mkdir(exist_ok=True)
        table = datasets.Dataset.from_dict({"image": column, "text": texts}, features)
        table.to_parquet(tmp_path / "copy" / f"{split}.parquet")
    picture_field = {"name": "image", "size": 16}
    corpus = prepared(config(tmp_path / "copy", hub={"id": "a/b"}, source="image", field=picture_field), tmp_path)
    train = corpus.split("train")
    assert [int(row[0, 0, 0]) for row, _ in train.ids(range(6))] == [0, 0, 40, 40, 80, 80]
    assert train.column("target") == ["0", "a picture", "1", "a picture", "2", "a picture"]
    assert corpus.split("dev").column("references")[1] == ["1", "a picture"]


def test_a_bad_cell_is_one_sentence_with_its_row(tmp_path: Path) -> None:
    def of(cell: Any, split: str = "dev") -> str:
        folder = tmp_path / "data"
        write_parquet(folder, cells() | {split: [cells()["dev"][0], cell]})
        return refusal(config(folder), tmp_path).replace(str(tmp_path), "")

    assert of({"bytes": b"no sound", "path": None}).startswith(
        "/data/dev.parquet, row 2: the sound is no sound, or cut "
    )
    assert of({"bytes": b"", "path": None}) == "/data/dev.parquet, row 2: the sound is empty: expected a sound"
    empty = "/data/dev.parquet, row 2: dev.parquet#row=1 holds neither bytes nor a path"
    assert of({"bytes": None, "path": None}) == of(None) == empty
    assert of({"bytes": None, "path": "../../etc/passwd"}).startswith(
        "/data/dev.parquet, row 2: dev.parquet#row=1 names '../../etc/passwd', which is not inside /data: give paths"
    )
    assert of({"bytes": None, "path": "/etc/passwd"}).startswith(
        "/data/dev.parquet, row 2: dev.parquet#row=1 names '/etc/passwd', which is not inside /data: give paths"
    )
    write_parquet(tmp_path / "data", cells() | {"train": [*cells()["train"], {"bytes": None, "path": None}]})
    assert prepared(config(tmp_path / "data"), tmp_path).meta["dropped"] == {"with an empty cell": 1}


def test_a_list_of_files_names_no_rows_of_tables(tmp_path: Path) -> None:
    """Which may lie outside of the folder, or be of another split."""
    folder = tmp_path / "data"
    write_parquet(tmp_path / "out", {"secret": [sound(1)]}, pa.binary())
    write_parquet(folder, {"in": [sound(1)], "dev": [sound(2)], "test": [sound(3)]}, pa.binary())
    (folder / "link").symlink_to(tmp_path / "out")
    (folder / "good.flac").write_bytes(sound(4))
    for named in (
        "../out/secret.parquet#row=0",
        f"{tmp_path}/out/secret.parquet#row=0",
        "x/../../out/secret.parquet#row=0",
        "link/secret.parquet#row=0",
        "in.parquet#row=0",
        "dev.parquet#row=0",
        "train.tsv#row=0",
        "none.parquet#row=99999999999999999999",
    ):
        (folder / "train.tsv").write_text(f"audio\ttext\ngood.flac\ta b\n{named}\ta b\n")
        assert refusal(config(folder), tmp_path).startswith(
            f"{folder}/train.tsv, line 3 names {named!r}, a row of a table, and only cells of a split's own table are "
        )
    for named in ("in.parquet#row=-1", "in.parquet#row=", "in.parquet#row=x", "..\\out\\secret.parquet", "x" * 300):
        (folder / "train.tsv").write_text(f"audio\ttext\ngood.flac\ta b\n{named}\ta b\n")
        assert refusal(config(folder), tmp_path).startswith(
            f"{folder}/train.tsv, line 3 names {named!r}, but there is no file"
        )
    write_parquet(folder, {"train": ["../out/secret.parquet#row=0"]}, pa.string())
    (folder / "train.tsv").unlink()
    assert "row 1 names '../out/secret.parquet#row=0', a row of a table, and only" in refusal(config(folder), tmp_path)


@pytest.mark.parametrize("row", ["train.parquet#row=7", "train.parquet#row=9999999999999999999999", "none#row=0"])
def test_a_row_that_is_not_there_is_one_sentence(tmp_path: Path, row: str) -> None:
    write_parquet(tmp_path, cells())
    for column in ("audio", "none"):
        reader = open_reader(config(tmp_path, source=column))
        with pytest.raises(SourceError, match=f"{row} is no row that can be read .*: give the table that"):
            reader.require_readable(row)
