import codecs
from pathlib import Path
from typing import Any

import pytest

from mt.decoding import documents
from mt.decoding.documents import Document, translate_file
from mt.errors import UserError
from tests.markup.test_identity import unchanged

HTML = "<html>\r\n<p>Caf\u00e9,\r\n  two</p>\r<p>Cafe\u0301 &copy</p>\n\n<pre> a\tb</pre>"
XLIFF = "<xliff>\r\n<trans-unit><source>a\r\nb</source><target>c</target></trans-unit>\r\n</xliff>"


@pytest.fixture
def unchanging(monkeypatch: pytest.MonkeyPatch) -> None:
    """Has documents translated into themselves."""

    def translated(translator: object, texts: list[str], format: str, *_: object, **__: object) -> list[Document]:
        return [Document(unchanged(text, format), ()) for text in texts]

    monkeypatch.setattr(documents, "translate_documents", translated)


DOCUMENTS = {
    "UTF-8": HTML.encode(),
    "mark": codecs.BOM_UTF8 + HTML.encode(),
    "UTF-16": codecs.BOM_UTF16_LE + HTML.encode("utf-16-le"),
    "UTF-16, big end first": codecs.BOM_UTF16_BE + HTML.encode("utf-16-be"),
    "windows-1252": b'<meta charset="ISO-8859-1">' + "caf\u00e9 \u20ac5".encode("cp1252"),
    "http-equiv": b"<meta http-equiv=x content='text/html; charset=koi8-r'>" + "\u0434\u0430".encode("koi8-r"),
    "UTF-16 that is none": b'<meta charset="utf-16">' + "caf\u00e9".encode(),
    "empty": b"",
    "newlines": b"\n\n",
}


XLIFFS = [
    codecs.BOM_UTF8 + XLIFF.encode(),
    codecs.BOM_UTF16_LE + XLIFF.encode("utf-16-le"),
    ('<?xml version="1.0" encoding="UTF-16"?>' + XLIFF).encode("utf-16-le"),
    b"<?xml version='1.0' encoding='iso-8859-1'?>" + XLIFF.replace("c<", "\u00e9<").encode("latin-1"),
]


@pytest.mark.usefixtures("unchanging")
@pytest.mark.parametrize(
    ("data", "format"), [*((data, "html") for data in DOCUMENTS.values()), *((data, "xliff") for data in XLIFFS)]
)
def test_files_stay_byte_for_byte(
    data: bytes, format: str, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    file = tmp_path / "document"
    file.write_bytes(data)
    translate_file(None, file, None, format, lines_at_once=None)  # type: ignore[arg-type]
    assert capfdbinary.readouterr().out == data


@pytest.mark.usefixtures("unchanging")
@pytest.mark.parametrize("data", [b"\xef\xbb\xbfa\r\n\r\nb  c\n \n<b>d", b"", b"\n", b"a\n"])
@pytest.mark.parametrize("lines", [1, 2, 1000])
def test_lines_keep_their_ends(
    data: bytes, lines: int, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    file = tmp_path / "lines.txt"
    file.write_bytes(data)
    translate_file(None, file, None, "html", lines_at_once=lines)  # type: ignore[arg-type]
    assert capfdbinary.readouterr().out == data


@pytest.mark.parametrize(
    ("data", "format", "sentence"),
    [
        (b"a\nb\xff", "html", "FILE, line 2 is not UTF-8: convert the document to UTF-8"),
        (b"<meta charset=klingon>", "html", "FILE declares the encoding klingon, which is unknown: convert it"),
        (b"<meta charset=base64>", "html", "FILE declares the encoding base64, which is unknown: convert it"),
        (b"<meta charset=utf-7>+AGE-", "html", "FILE is of UTF-7, which writes some of it otherwise: convert it"),
        (b"a\n\0", "text", "FILE, line 2 holds a NUL character: remove it"),
        (b"<xliff>\n<a>", "xliff", r"FILE is no XLIFF: line 2, column 4 is no XML \(no element found\); mend it"),
        (b"\xff\xfe\0", "xliff", "FILE, line 1 is not UTF-16-LE"),
    ],
)
def test_what_cannot_be_read_is_refused(
    data: bytes, format: str, sentence: str, tmp_path: Path, translator: Any
) -> None:
    file = tmp_path / "document"
    file.write_bytes(data)
    with pytest.raises(UserError, match=sentence.replace("FILE", str(file))):
        translate_file(translator, file, translator.config.search, format, lines_at_once=None)


def test_a_line_that_is_no_document_is_named(tmp_path: Path, translator: Any) -> None:
    file = tmp_path / "lines"
    file.write_text("<xliff/>\n<xliff>\n")
    with pytest.raises(UserError, match="lines, line 2 is no XLIFF: line 1, column 8 is no XML"):
        translate_file(translator, file, translator.config.search, "xliff", lines_at_once=10)


def test_a_translation_that_the_encoding_lacks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    monkeypatch.setattr(documents, "translate_documents", lambda *_, **__: [Document("\u65e5", ())])
    file = tmp_path / "document"
    file.write_bytes(b"<?xml version='1.0' encoding='iso-8859-1'?><xliff/>")
    translate_file(None, file, None, "html", lines_at_once=None)  # type: ignore[arg-type]
    assert capfdbinary.readouterr().out == b"&#26085;"
    with pytest.raises(UserError, match=r"the translation of .* holds \u65e5, which ISO8859-1 has not: convert"):
        translate_file(None, file, None, "xliff", lines_at_once=None)  # type: ignore[arg-type]


def test_latin_1_in_html_is_that_of_windows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    """As browsers read it: its euro has a byte."""
    monkeypatch.setattr(documents, "translate_documents", lambda *_, **__: [Document("\u20ac", ())])
    (tmp_path / "page").write_bytes(b"<meta charset=latin1>a")
    translate_file(None, tmp_path / "page", None, "html", lines_at_once=None)  # type: ignore[arg-type]
    assert capfdbinary.readouterr().out == b"\x80"
