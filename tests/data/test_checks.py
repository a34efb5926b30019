"""Prepared corpora of strangers: whatever is in their Arrow files, the corpus is read, or refused in one sentence."""

import hashlib
import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from data_prep.prepare import prepare
from mt.data.checks import read_table
from mt.data.corpus import Corpus
from mt.data.dataset import DatasetConfig
from mt.data.fields import ImageConfig
from mt.data.tokenizer import TokenizerConfig
from tests.data_prep.small import write_texts
from tests.refusals.sentences import refusal_of


@pytest.fixture(scope="module")
def corpora(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Path]:
    """Corpora of text with links of pieces, and of pictures that several examples share."""
    folder = tmp_path_factory.mktemp("text")
    pairs = [(f"a house of {number} rooms", f"ein Haus mit {number} Zimmern") for number in range(60)]
    write_texts(folder, train=pairs, dev=pairs, test=pairs)
    (folder / "links").write_text("0-0 1-1 2-2 3-3 4-4\n" * 60)
    image = pytest.importorskip("PIL.Image")
    for number in range(3):
        image.new("RGB", (16, 16), (number, 0, 0)).save(folder / f"{number}.png")
        with (folder / "pictures.tsv").open("a") as file:
            file.write("path\tcaption\n" * (number == 0) + f"{number}.png\tone\n{number}.png\ttwo\n")
    pieces = TokenizerConfig(model_type="char", vocab_size=60)
    given: dict[str, Any] = {"folder": str(folder), "tokenizer": pieces, "workers": 1}
    names = {"train": "pictures", "dev": "pictures", "test": "pictures"}
    text = {"source": "en", "target": "de", "links": str(folder / "links")}
    pictures = {"source": "path", "target": "caption", "splits": names, "field": ImageConfig(size=16)}
    configs = {"text": given | text, "pictures": given | pictures}
    made = {name: DatasetConfig.model_validate(config) for name, config in configs.items()}
    return {name: prepare(config, folder / name, progress=False) for name, config in made.items()}


Changed = Callable[[pa.Table], pa.Table]


def with_column(name: str, values: Callable[[pa.Array], pa.Array]) -> Changed:
    def changed(table: pa.Table) -> pa.Table:
        place = table.schema.get_field_index(name)
        column = values(table[name].combine_chunks())
        return table.set_column(place, pa.field(name, column.type), column)

    return changed


def first(row: list[int] | None) -> Callable[[pa.Array], pa.Array]:
    return lambda array: pa.array([row, *array.to_pylist()[1:]], array.type)


BAD: dict[str, tuple[str, Changed]] = {
    "an id beyond the vocabulary": ("no piece has", with_column("target_ids", first([7, 99_999]))),
    "a negative id": ("no piece has", with_column("source_ids", first([-1, 3]))),
    "no ids": ("an empty list", with_column("target_ids", first([]))),
    "no row": ("empty cells", with_column("target_ids", first(None))),
    "an empty cell of ids": ("empty cells in its lists", with_column("target_ids", first([7, None, 3]))),  # type: ignore[list-item]
    "no source": ("its first row", with_column("source_ids", first(None))),
    "an empty text": ("empty cells", with_column("target", first(None))),
    "half a link": ("half a link", with_column("piece_links", first([0, 0, 1]))),
    "a link to nowhere": ("a link to no piece", with_column("piece_links", first([0, 500]))),
    "words for links": ("no links", with_column("links", lambda it: pa.array(["0-0 one"] * len(it)))),
    "a link of 5,000 digits": ("no links", with_column("links", lambda it: pa.array([f"0-{'1' * 5000}"] * len(it)))),
    "no references": ("an empty list", with_column("references", first([]))),
    "an absent reference": ("empty cells in its lists", with_column("references", first([None]))),  # type: ignore[list-item]
    "larger numbers": ("no column of type", with_column("target_ids", lambda it: it.cast(pa.list_(pa.int64())))),
    "a dictionary": ("holds a dictionary", with_column("source", lambda it: it.dictionary_encode())),
    "numbers for texts": ("no column of type", with_column("source", lambda it: pa.array(range(len(it))))),
    "views": ("no column of type", with_column("target", lambda it: it.cast(pa.string_view()))),
    "a column less": ("no column of type", lambda table: table.drop_columns("target")),
    "a column more": ("unknown", lambda table: table.append_column("more", [list(range(len(table)))])),
    "a column twice": ("no column of type", lambda table: table.append_column("source", table["source"])),
    "fewer pairs": ("has 59 pairs", lambda table: table.slice(1)),
}


@pytest.fixture
def shard(corpora: Mapping[str, Path], tmp_path: Path) -> Path:
    """A file of training pairs, in a copy of a corpus."""
    return Path(shutil.copytree(corpora["text"], tmp_path / "copy"), "train/data-00000.arrow")


def written(path: Path, table: pa.Table, **options: Any) -> None:
    draft = path.with_suffix(".draft")  # the table may lie in the memory map of the file
    with pa.OSFile(str(draft), "wb") as file, pa.ipc.new_stream(file, table.schema, **options) as stream:
        stream.write_table(table)
    draft.replace(path)


def signed(folder: Path) -> None:
    """Records the files as they are now, as somebody does who means harm."""
    meta = json.loads((folder / "meta.json").read_text())
    for name in meta["files"]:
        content = (folder / name).read_bytes()
        meta["files"][name] = {"size": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    (folder / "meta.json").write_text(json.dumps(meta))


def refusal(shard: Path) -> str:
    folder = shard.parents[1]
    signed(folder)
    sentence = refusal_of(lambda: Corpus.open(folder).split("train"))
    assert sentence.startswith(f"{folder} is damaged (") and "\n" not in sentence
    return sentence


OFFSETS = {"negative": -5, "beyond the data": 1 << 30, "backwards": 1, "inside of a letter": 0}


@pytest.mark.parametrize("where", OFFSETS)
@pytest.mark.parametrize("name", ["target_ids", "piece_links", "target", "references"])
def test_offsets_are_checked(name: str, where: str, shard: Path) -> None:
    table = with_column("target", lambda it: pa.array(["é" * n for n in range(3, 3 + len(it))]))(read_table(shard))
    written(shard, table)
    offsets = np.frombuffer(table[name].combine_chunks().buffers()[1], np.int32)[: len(table) + 1]
    changed = offsets.copy()
    changed[3] = changed[2] + 1 if where == "inside of a letter" else OFFSETS[where]
    shard.write_bytes(shard.read_bytes().replace(offsets.tobytes(), changed.tobytes()))
    if where != "inside of a letter" or name == "target":
        assert "Invalid: " in refusal(shard)


@pytest.mark.parametrize("what", BAD)
def test_what_reading_trusts_is_checked(what: str, shard: Path) -> None:
    sentence, changed = BAD[what]
    written(shard, changed(read_table(shard)))
    assert sentence in refusal(shard)


def test_nothing_is_unpacked(shard: Path) -> None:
    whole = read_table(shard).combine_chunks()
    large = with_column("target", lambda it: pa.array([" " * 1_000_000] * len(it)))(whole)
    written(shard, large, options=pa.ipc.IpcWriteOptions(compression="zstd"))
    assert shard.stat().st_size < 1_000_000 and "data-00000.arrow is compressed" in refusal(shard)


def test_rows_of_pictures_have_their_size(corpora: Mapping[str, Path], tmp_path: Path) -> None:
    shard = Path(shutil.copytree(corpora["pictures"], tmp_path / "copy"), "train/data-00000.arrow")
    written(shard, with_column("source_ids", first([1, 2, 3]))(read_table(shard)))
    assert "no picture of 16 pixels" in refusal(shard)
