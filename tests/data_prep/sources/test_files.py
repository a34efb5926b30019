import os
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from data_prep.sources import open_source
from mt.data.dataset import DatasetConfig, HubConfig
from tests.data_prep.small import require_refused, write_texts
from tests.refusals.sentences import require_refusal


@pytest.fixture
def folder(tmp_path: Path, pairs) -> Path:
    write_texts(tmp_path, **pairs)
    return tmp_path


def _config(folder: Path, **settings) -> DatasetConfig:
    return DatasetConfig(**{"folder": str(folder), "source": "en", "target": "de"} | settings)


def test_texts(folder: Path, read, pairs) -> None:
    assert read(_config(folder)) == pairs
    assert open_source(_config(folder)).splits["dev"].sides == (f"{folder}/dev.en, line", f"{folder}/dev.de, line")


def test_texts_replace_the_hub(folder: Path, read, pairs) -> None:
    assert read(_config(folder, hub=HubConfig(id="somebody/captions"))) == pairs


def test_compressed_texts(folder: Path, read, pairs) -> None:
    """Also of several frames, as of files that are put together."""
    for path in folder.iterdir():
        frames = [pa.compress(line, codec="zstd", asbytes=True) for line in path.read_bytes().splitlines(keepends=True)]
        path.with_name(f"{path.name}.zst").write_bytes(b"".join(frames))
        path.unlink()
    assert read(_config(folder)) == pairs
    assert open_source(_config(folder)).splits["dev"].columns() == {"en", "de"}
    assert open_source(_config(folder)).notes() == []


ZST = pa.compress(b"one sentence\n" * 3, codec="zstd", asbytes=True)


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("train.de", b"ein Haus\n", r"train\.en has 3 lines and .*train\.de has 1: line N of one must belong to"),
        ("dev.en", b"", r"dev\.en is empty: expected one sentence a line"),
        ("train.en.gz", b"", r"train\.en\.gz is empty: expected one sentence a line"),
        ("train.en.zst", ZST[:-8], r"train\.en\.zst is not a sound zst file \(.+\): copy it again, or compress it"),
        ("train.en.zst", b"a\nb\nc\n", r"train\.en\.zst is not a sound zst file \(.+\): copy it again, or compress"),
    ],
)
def test_bad_files_are_refused(folder: Path, name: str, content: bytes, sentence: str, read) -> None:
    (folder / name.removesuffix(".gz").removesuffix(".zst")).unlink()
    (folder / name).write_bytes(content)
    require_refusal(lambda: read(_config(folder)), sentence)


def test_missing_files_are_named(folder: Path) -> None:
    (folder / "dev.de").unlink()
    require_refused(_config(folder), r"lacks dev\.de \(it holds: dev\.en, .*train\.en\): set .*\.dev_size=1000")
    require_refused(_config(folder / "nowhere"), r"nowhere lacks train\.en, .* \(no such folder\): set dataset\.folder")


@pytest.mark.parametrize(("one", "other"), [("dev.en", "dev.de"), ("dev.en", "test.en")])
def test_the_same_bytes_in_another_role_make_another_corpus(folder: Path, one: str, other: str) -> None:
    first = open_source(_config(folder)).identity()
    (folder / one).rename(folder / "x")
    (folder / other).rename(folder / one)
    (folder / "x").rename(folder / other)
    assert open_source(_config(folder)).identity() != first


@pytest.mark.parametrize(
    ("make", "kind"),
    [(Path.mkdir, "folder"), (os.mkfifo, "pipe or device"), (lambda path: path.symlink_to("none"), "link to nothing")],
)
@pytest.mark.parametrize("name", ["train.de", "dev.en"])
def test_what_is_no_file_is_called_by_its_name(folder: Path, name: str, make: Callable[[Path], object], kind: str):
    (folder / name).unlink()
    make(folder / name)
    require_refused(_config(folder), rf"/{name} is a {kind}: expected a file, which can be read several times$")
