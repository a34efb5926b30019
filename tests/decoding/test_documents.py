"""Documents sentence by sentence, and the files that commands read and write them as."""

import codecs
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mt import markup
from mt.cli.decode import translate
from mt.data.words import words
from mt.decoding import documents
from mt.decoding.confidence import Confidence, Unsure
from mt.decoding.documents import Document, Sentence, joined, linked, translate_documents, translate_file
from mt.decoding.translator import Translator
from mt.errors import UserError
from mt.markup.words import Linked
from mt.search.config import BeamConfig
from mt.search.hypothesis import Windows
from tests.markup.test_identity import unchanged
from tests.refusals.sentences import require_refusal


def test_a_document_has_the_translations_of_its_sentences(translator: Translator) -> None:
    source = "<h1>the cats</h1>\n<p>see <b>two</b> {n} streets &amp; <code>x</code></p>"
    document = translator.translate(source, format="html")
    texts = ["the cats", "see two streets &"]
    assert [sentence.text for sentence in document.sentences] == [one.text for one in translator.translate(texts)]
    for kept in ("<h1>", "</h1>\n<p>", "<b>", "</b>", "{n}", "<code>x</code>", "</p>"):
        assert document.text.count(kept) == 1
    assert translator.translate([source, "the cats"], format="html")[0].text == document.text


def test_sentences_of_a_block_are_translated_one_by_one(translator: Translator) -> None:
    source = "The cats. <b>Two dogs see. Find</b> streets!"
    document = translator.translate(source, format="html")
    texts = ["The cats.", "Two dogs see.", "Find streets!"]
    assert [sentence.text for sentence in document.sentences] == [one.text for one in translator.translate(texts)]
    assert document.text.count("<b>") == document.text.count("</b>") >= 1
    asked = [("a bc", (1, 2), "xyz"), ("", None, "q"), ("d", (0, 0), "uv")]
    whole = joined([(Linked(text, [link] if link else []), Sentence(source, " ")) for text, link, source in asked])
    assert whole == Linked("a bc d", [(1, 2), (6, 5)], [])
    marked = joined([(Linked(text, [], [(0, 1)]), Sentence(source, " ")) for text, _, source in asked if text])
    assert marked.unsure == [(0, 1), (5, 6)]


@pytest.mark.parametrize("form", ["html", "text"])
@pytest.mark.parametrize("marked", [False, True])
def test_what_has_no_letter_stands_as_it_is(form: str, marked: bool, translator: Translator) -> None:
    """A sentence of a block, and a block, whether improbable words are marked or not."""
    unsure = Unsure(0.999999, leave_out=False, confidence=Confidence.of(translator)) if marked else None
    texts = ["Two cats. 3/4 = 0.75! Dogs see.", "12.5 / 1984"]
    document, numbers = translate_documents(translator, texts, form, None, unsure=unsure)
    assert " 3/4 = 0.75! " in document.text and len(document.sentences) == 2
    assert (numbers.text, numbers.sentences) == (texts[1], ())


def test_addresses_alone_stand_as_they_are(translator: Translator) -> None:
    kept = [
        "https://example.org/two?cats=3#dogs",
        "(www.example.org)",
        "info@mail.example.org, a.b@example.de",
        "mailto:a@b.de",
    ]
    texts = [*kept, "Two cats: https://example.org/two", "Two cats see www.", "二猫www.example.org二猫"]
    documents = translate_documents(translator, texts, "text", None)
    assert [one.text for one in documents[:4]] == kept
    assert [len(one.sentences) for one in documents] == [0, 0, 0, 0, 1, 1, 1]


def test_what_has_no_letter_is_not_decoded(translator: Translator, monkeypatch: pytest.MonkeyPatch) -> None:
    """So what is asked of a document is asked of its other sentences."""
    decoded: list[str] = []
    decode = translator.decode
    monkeypatch.setattr(
        translator, "decode", lambda *of, texts, **more: decoded.extend(texts) or decode(*of, texts=texts, **more)
    )
    asked: dict[str, Any] = {"prefix": "zwei", "constraints": ["Hunde"]}
    document = translator.translate("<p>*** 3/4 = 0.75! Dogs see. 12 - 13.</p>", BeamConfig(), **asked, format="html")
    assert decoded == ["Dogs see."]
    assert document.text == f"<p>*** 3/4 = 0.75! {document.sentences[0].text} 12 - 13.</p>"


@pytest.mark.parametrize(
    ("pairs", "gap", "text"),
    [
        ([("Er kam.", "He came."), ("Sie ging.", "She left.")], " ", "He came. She left."),
        ([("他来了。", "He came."), ("她走了。", "She left.")], "", "He came. She left."),
        ([("He came.", "他来了。"), ("She left.", "她走了。")], " ", "他来了。她走了。"),
        ([("他来了。", "彼は来た。"), ("她走了。", "彼女は去った。")], "", "彼は来た。彼女は去った。"),
        ([("One.", "Eins."), ("Two.", "Zwei.")], "\n", "Eins.\nZwei."),
    ],
)
def test_translations_are_parted_as_their_language_does(pairs: list[tuple[str, str]], gap: str, text: str) -> None:
    found = joined([(Linked(target, [(0, 0)]), Sentence(source, gap)) for source, target in pairs])
    assert found.text == text
    assert found.links == [(0, 0), (len(pairs[0][0] + gap), text.index(pairs[1][1]))]


def test_a_tag_goes_where_the_pieces_of_its_words_attended_to(translator: Translator) -> None:
    """The links of a model of words are of characters then, which a document is cut into."""
    source = "two big cats"
    aligned = translator.align(source, "zwei großen Katzen")
    backwards = Windows.whole(np.eye(4, dtype=np.float32)[[2, 1, 0, 3]])
    found = linked(translator, replace(aligned, windows=backwards), source)
    document = markup.read("<b>two</b> <i>big</i> cats", "html")
    assert markup.write(document, [found]) == "zwei <i>großen</i> <b>Katzen</b>"


@pytest.mark.parametrize("format", ["xliff", "text"])
def test_blank_documents_stay_as_they_are(format: str, translator: Translator) -> None:
    text = "<xliff>\n</xliff>" if format == "xliff" else " \n"
    assert translator.translate(text, format=format).text == text


def test_what_is_asked_holds_for_the_text_without_tags(translator: Translator) -> None:
    texts = ["<p>the <b>cats</b></p>", "<p>two dogs</p><p>the birds</p>"]
    asked: dict[str, Any] = {"prefix": ["zwei", "zwei"], "avoid": [None, ["die"]], "constraints": [["Hunde"], None]}
    one, two = translator.translate(texts, BeamConfig(), **asked, format="html")
    assert one.sentences[0].text.startswith("zwei") and "Hunde" in words(one.sentences[0].text)
    assert two.sentences[0].text.startswith("zwei") and not two.sentences[1].text.startswith("zwei")
    assert not any("die" in words(sentence.text) for sentence in two.sentences) and len(two.sentences) == 2
    terms = translator.translate(texts, glossary=[None, {"birds": "Brücken"}], format="html")
    assert "Brücken" in words(terms[1].sentences[1].text)
    with pytest.raises(UserError, match="text 1 has 2 sentences, and constraints are asked of one: give each"):
        translator.translate(texts[1], BeamConfig(), constraints=["die"], format="html")
    assert translator.translate("<br>", BeamConfig(), prefix="die", format="html").text == "<br>"


def test_a_file_is_a_document_or_each_line_is(trained, translator, tmp_path, capsys):
    file = tmp_path / "text.html"
    file.write_text("<p>the cats\nsee <b>streets</b></p>\n\n<i>two</i> dogs\n")
    translate([str(trained), str(file), "--format", "html"])
    assert capsys.readouterr().out == translator.translate(file.read_text(), format="html").text
    translate([str(trained), str(file), "--format", "html", "--each-line"])
    lines = translator.translate(file.read_text().splitlines(), format="html")
    assert capsys.readouterr().out == "".join(f"{line.text}\n" for line in lines)


def test_attributes_are_translated_with_the_document(translator: Translator) -> None:
    alt = translator.translate("the big cats").text
    text = '<p lang="xx">two <img alt="the big cats"> dogs <b title="—">see</b></p>'
    translated = translator.translate(text, format="html")
    assert f'<img alt="{alt}">' in translated.text and '<b title="—">' in translated.text
    assert [one.text for one in translated.sentences] == [translator.translate("two dogs see").text, alt]


def test_words_that_are_probably_wrong_are_marked_and_sentences_left_out(trained, translator, tmp_path, capsys):
    file = tmp_path / "page.html"
    file.write_text('<p title="the dogs">see <b>streets</b> &amp; cats</p>\n<p>two zzq <i>houses</i></p>\n')
    document = translator.translate(file.read_text(), format="html")
    command = [str(trained), str(file), "--format", "html", "--min-confidence"]
    least = sorted(sure for one in document.sentences for sure in Confidence.of(translator).words(one))[2]
    translate([*command, f"{least}"])
    marked = capsys.readouterr().out
    assert re.sub(r"\[\?(.*?)\]", r"\1", marked) == document.text and marked.count("[?") == 2
    translate([*command, "1", "--leave-out"])
    assert capsys.readouterr().out == file.read_text()


def test_a_model_says_once_that_it_has_no_symbols_for_placeholders(trained, tmp_path, capsys):
    file = tmp_path / "lines.html"
    for text, notes in (("the {n} cats\nthe {m} dogs\n", 1), ("the cats\n<code>{n}</code> dogs\n", 0)):
        file.write_text(text)
        translate([str(trained), str(file), "--format", "html", "--each-line", "--buffer-size", "1"])
        said = capsys.readouterr().err
        assert said.count("note: this model has no symbols for placeholders, such as {n}: ") == notes


def test_a_document_says_how_its_placeholders_are_written(trained, translator, tmp_path, capsys):
    file = tmp_path / "text"
    file.write_text("the cats see %L1 {n} zzq")
    translate([str(trained), str(file), "--format", "text", "--placeholders", "qt"])
    written = capsys.readouterr().out
    assert written.count("%L1") == 1
    assert translator.translate(file.read_text(), format="text", placeholders=["qt"]).text == written
    require_refusal(lambda: translator.translate("the cats", placeholders=["qt"]), "placeholders are about documents")


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
def test_files_stay_byte_for_byte(data, format, tmp_path, capfdbinary):
    file = tmp_path / "document"
    file.write_bytes(data)
    translate_file(None, file, None, format, lines_at_once=None)  # type: ignore[arg-type]
    assert capfdbinary.readouterr().out == data


@pytest.mark.usefixtures("unchanging")
@pytest.mark.parametrize("data", [b"\xef\xbb\xbfa\r\n\r\nb  c\n \n<b>d", b"", b"\n", b"a\n"])
@pytest.mark.parametrize("lines", [1, 2, 1000])
def test_lines_keep_their_ends(data, lines, tmp_path, capfdbinary):
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
def test_what_cannot_be_read_is_refused(data, format, sentence, tmp_path, translator):
    file = tmp_path / "document"
    file.write_bytes(data)
    with pytest.raises(UserError, match=sentence.replace("FILE", str(file))):
        translate_file(translator, file, translator.config.search, format, lines_at_once=None)


def test_a_line_that_is_no_document_is_named(tmp_path: Path, translator: Any) -> None:
    file = tmp_path / "lines"
    file.write_text("<xliff/>\n<xliff>\n")
    with pytest.raises(UserError, match="lines, line 2 is no XLIFF: line 1, column 8 is no XML"):
        translate_file(translator, file, translator.config.search, "xliff", lines_at_once=10)


def test_a_translation_that_the_encoding_lacks(tmp_path, monkeypatch, capfdbinary):
    monkeypatch.setattr(documents, "translate_documents", lambda *_, **__: [Document("\u65e5", ())])
    file = tmp_path / "document"
    file.write_bytes(b"<?xml version='1.0' encoding='iso-8859-1'?><xliff/>")
    translate_file(None, file, None, "html", lines_at_once=None)  # type: ignore[arg-type]
    assert capfdbinary.readouterr().out == b"&#26085;"
    with pytest.raises(UserError, match=r"the translation of .* holds \u65e5, which ISO8859-1 has not: convert"):
        translate_file(None, file, None, "xliff", lines_at_once=None)  # type: ignore[arg-type]


def test_latin_1_in_html_is_that_of_windows(tmp_path, monkeypatch, capfdbinary):
    """As browsers read it: its euro has a byte."""
    monkeypatch.setattr(documents, "translate_documents", lambda *_, **__: [Document("\u20ac", ())])
    (tmp_path / "page").write_bytes(b"<meta charset=latin1>a")
    translate_file(None, tmp_path / "page", None, "html", lines_at_once=None)  # type: ignore[arg-type]
    assert capfdbinary.readouterr().out == b"\x80"
