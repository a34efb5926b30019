"""Text that is compressed, packed into archives, or kept as a translation memory."""

import gzip
import zipfile
from pathlib import Path

import pyarrow as pa
import pytest

from data_prep.sources import open_source
from data_prep.sources.files import LocalFiles
from data_prep.sources.opus import MosesArchive
from mt.data.corpus import SPLITS, Example
from mt.data.dataset import DatasetConfig
from mt.errors import UserError


def _config(folder: Path, **settings) -> DatasetConfig:
    return DatasetConfig(**{"folder": str(folder), "source": "en", "target": "de"} | settings)


def _zst(text: bytes) -> bytes:
    return pa.compress(text, codec="zstd", asbytes=True)


def _text(rows: list[tuple[str, str]], side: int) -> bytes:
    return "".join(f"{row[side]}\n" for row in rows).encode()


@pytest.fixture
def zst(tmp_path: Path, pairs) -> Path:
    for split, rows in pairs.items():
        for side, name in enumerate(("en", "de")):
            (tmp_path / f"{split}.{name}.zst").write_bytes(_zst(_text(rows, side)))
    return tmp_path


@pytest.fixture
def archives(tmp_path: Path, pairs) -> Path:
    for split, rows in pairs.items():
        with zipfile.ZipFile(tmp_path / f"{split}.zip", "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("README", "OPUS")
            for side, name in enumerate(("en", "de")):
                archive.writestr(f"Books.de-en.{name}", _text(rows, side))
    return tmp_path


def _tmx(units: str, before: str = '<!DOCTYPE tmx SYSTEM "tmx14.dtd">') -> bytes:
    head = '<header creationtool="x" segtype="sentence" adminlang="en" srclang="en" datatype="PlainText"/>'
    body = f'<tmx version="1.4">{head}<body>\n{units}</body></tmx>'
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{before}\n{body}'.encode()


def _unit(**texts: str) -> str:
    variants = "".join(
        f'<tuv xml:lang="{name.replace("_", "-")}"><seg>{text}</seg></tuv>' for name, text in texts.items()
    )
    return f'<tu tuid="1">{variants}</tu>\n'


@pytest.fixture
def memories(tmp_path: Path, pairs) -> Path:
    for split, rows in pairs.items():
        (tmp_path / f"{split}.tmx").write_bytes(_tmx("".join(_unit(en=one, de=other) for one, other in rows)))
    return tmp_path


def test_zst(zst: Path, read, pairs) -> None:
    assert read(_config(zst)) == pairs
    assert open_source(_config(zst)).splits["dev"].columns() == {"en", "de"}
    assert open_source(_config(zst)).notes() == []


def test_zst_of_several_frames(zst: Path, read, pairs) -> None:
    rows = pairs["train"]
    frames = _zst(_text(rows[:1], 0)), _zst(_text(rows[1:], 0))
    (zst / "train.en.zst").write_bytes(b"".join(frames))
    assert read(_config(zst)) == pairs


@pytest.mark.parametrize("damage", [lambda whole: whole[:-8], lambda whole: b"a\nb\nc\n"])
def test_a_damaged_zst_is_refused(zst: Path, damage) -> None:
    path = zst / "train.en.zst"
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(
        UserError, match=r"train\.en\.zst is not a sound zst file \(.+\): copy it again, or compress it"
    ):
        len(list(open_source(_config(zst)).splits["train"].read()))


def test_an_archive_of_moses_form(archives: Path, read, pairs) -> None:
    assert read(_config(archives)) == pairs


@pytest.mark.parametrize(
    "litter", ["__MACOSX/._Books.en", "._Books.en", ".DS_Store", "x/Thumbs.db", "en.en/", ".x/a.en"]
)
def test_what_systems_leave_in_archives_is_not_read(archives: Path, read, pairs, litter: str) -> None:
    with zipfile.ZipFile(archives / "train.zip", "a") as archive:
        archive.writestr(litter, b"\0\5\x16\7" if not litter.endswith("/") else b"")
        archive.mkdir("Books")
    assert read(_config(archives)) == pairs
    assert "de" in open_source(_config(archives)).splits["train"].columns()


def test_endings_in_an_archive_are_codes_of_languages(archives: Path) -> None:
    with zipfile.ZipFile(archives / "train.zip", "w") as archive:
        for name in ("a.zh_CN", "a.en_GB", "a.pt_BR", "a.pt_PT"):
            archive.writestr(name, "x\n")
    for source, target in [("zh_CN", "en_GB"), ("zh-cn", "en")]:
        files = LocalFiles(_config(archives, source=source, target=target), archives, ["train"])
        assert [*files.source().splits["train"].read()]
    with pytest.raises(UserError, match=r"train\.zip has pt_BR and pt_PT, and pt may be either: set dataset\.source"):
        len(list(open_source(_config(archives, target="pt", dev_size=1, test_size=1)).splits["train"].read()))


@pytest.mark.parametrize(
    ("members", "sentence"),
    [
        ({"a.en": b"x\n"}, r"train\.zip has no column de: choices: en; set dataset\.source and dataset\.target"),
        ({"a.en": b"x\n", "b.en": b"x\n", "a.de": b"x\n"}, r"train\.zip has 2 columns en: give each a name of its own"),
        (
            {"a.en": b"x\ny\n", "a.de": b"x\n"},
            r"train\.zip: its en has 2 lines and its de 1: line N of one must belong",
        ),
        ({"a.en": b"", "a.de": b""}, r"train\.zip holds empty texts: expected one sentence a line"),
        ({"a.en": b"x\n", "a.de": b"x\xff\n"}, r"train\.zip, de, line 1 is not UTF-8 \(byte 2 of the line\)"),
    ],
)
def test_a_bad_archive_is_refused(archives: Path, members: dict[str, bytes], sentence: str) -> None:
    with zipfile.ZipFile(archives / "train.zip", "w") as archive:
        for name, text in members.items():
            archive.writestr(name, text)
    with pytest.raises(UserError, match=sentence):
        source = open_source(_config(archives))
        len(list(source.splits["train"].read()))
        list(source.splits["train"].read())


def test_a_damaged_archive_is_refused(archives: Path) -> None:
    path = archives / "train.zip"
    whole = path.read_bytes()
    path.write_bytes(whole[:50])
    with pytest.raises(UserError, match=r"train\.zip is no sound zip file \(.*\): copy it again"):
        len(list(open_source(_config(archives)).splits["train"].read()))
    place = whole.index(b"Books.de-en.en") + len("Books.de-en.en") + 3
    path.write_bytes(whole[:place] + b"\xff\xff\xff" + whole[place + 3 :])
    with pytest.raises(UserError, match=r"train\.zip is (damaged|no sound zip file) \(.*\): copy it again"):
        len(list(open_source(_config(archives)).splits["train"].read()))


def test_a_translation_memory(memories: Path, read, pairs) -> None:
    assert read(_config(memories)) == pairs
    path = memories / "dev.tmx"
    path.with_name("dev.tmx.gz").write_bytes(gzip.compress(path.read_bytes()))
    path.unlink()
    assert read(_config(memories)) == pairs


def test_what_a_unit_holds(memories: Path, read) -> None:
    units = [
        _unit(EN_GB="a &amp; b &lt;c&gt;", de="  ein\n   Haus "),
        _unit(en="no German", fr="pas"),
        _unit(en='<bpt i="1">{\\b</bpt>bold<ept i="1">}</ept> <hi>high</hi><ph>{x}</ph>', de_DE="fett"),
        '<tu><tuv lang="en"><prop type="x">not this</prop><seg>one</seg></tuv><tuv lang="de"><seg/></tuv></tu>\n',
        _unit(en="first", de="erste", de_AT="andere"),
    ]
    (memories / "train.tmx").write_bytes(_tmx("".join(units)))
    assert read(_config(memories))["train"] == [
        ("a & b <c>", "ein Haus"),
        ("bold high", "fett"),
        ("one", ""),
        ("first", "erste"),
    ]


@pytest.mark.parametrize("encoding", ["utf-16", "iso-8859-1"])
def test_other_encodings(memories: Path, read, encoding: str) -> None:
    text = _tmx(_unit(en="a bird", de="ein Vögelchen")).decode().replace("UTF-8", encoding)
    (memories / "train.tmx").write_bytes(text.encode(encoding))
    assert read(_config(memories))["train"] == [("a bird", "ein Vögelchen")]


_LAUGHS = '<!DOCTYPE tmx [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>'
_OUTSIDE = '<!DOCTYPE tmx [<!ENTITY a SYSTEM "file:///etc/passwd">]>'


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (_tmx(_unit(en="&b;", de="&b;"), _LAUGHS), r"train\.tmx, line 2 declares an entity, which can stand for more"),
        (_tmx(_unit(en="&a;", de="x"), _OUTSIDE), r"train\.tmx, line 2 declares an entity"),
        (_tmx(_unit(en="a", de="b"))[:-9], r"train\.tmx, line 5 is not XML \(.*\): copy the file again"),
        (b"\x00\x01", r"train\.tmx, line 1 is not XML"),
        (_tmx(_unit(en="a", fr="b")), r"train\.tmx has no units in de: choices: en, fr; set dataset\.source and"),
        (_tmx(""), r"train\.tmx has no units in en and de: expected units of both languages"),
    ],
)
def test_a_bad_memory_is_refused(memories: Path, content: bytes, sentence: str) -> None:
    (memories / "train.tmx").write_bytes(content)
    with pytest.raises(UserError, match=sentence):
        len(list(open_source(_config(memories)).splits["train"].read()))


_MANY = [(f"word {number}" + 300 * " x", f"Wort {number}") for number in range(5_000)]
"""Files of more bytes than are read at once."""


@pytest.mark.parametrize("kind", ["en", "en.gz", "en.zst", "zip", "tsv", "tmx"])
def test_rows_are_found_in_any_kind_of_file(tmp_path: Path, kind: str) -> None:
    for split in SPLITS:
        if kind == "zip":
            with zipfile.ZipFile(tmp_path / f"{split}.zip", "w") as archive:
                for side, name in enumerate(("en", "de")):
                    archive.writestr(f"text.{name}", _text(_MANY, side))
        elif kind == "tsv":
            rows = "".join(f"{one}\t{other}\n" for one, other in [("en", "de"), *_MANY])
            (tmp_path / f"{split}.tsv").write_text(rows, encoding="utf-8")
        elif kind == "tmx":
            (tmp_path / f"{split}.tmx").write_bytes(_tmx("".join(_unit(en=a, de=b) for a, b in _MANY)))
        else:
            pack = {"": bytes, "gz": gzip.compress, "zst": _zst}[kind[3:]]
            for side, name in enumerate(("en", "de")):
                ending = f".{kind[3:]}" if kind[3:] else ""
                (tmp_path / f"{split}.{name}{ending}").write_bytes(pack(_text(_MANY, side)))
    assert [*open_source(_config(tmp_path)).splits["train"].read()] == [Example(*pair) for pair in _MANY]


@pytest.mark.parametrize("litter", ["__MACOSX/._Books.en", ".DS_Store", "en.en/"])
def test_an_archive_of_litter_alone_says_what_is_missing(tmp_path: Path, litter: str) -> None:
    with zipfile.ZipFile(tmp_path / "train.zip", "w") as archive:
        archive.writestr(litter, b"")
    with pytest.raises(UserError, match=r"train\.zip holds no text: expected two files, that end in \.en and \.de$"):
        len(list(MosesArchive(tmp_path / "train.zip", ("en", "de")).read()))
