import gzip
import io
import unicodedata
from pathlib import Path

import pytest

from mt.metrics import METRICS, build
from mt.metrics.base import Settings
from mt.text_io import comparable, decoded, file_lines, is_blank, normalize, read_lines, read_parallel
from tests.refusals.sentences import require_refusal


@pytest.mark.parametrize(
    ("content", "lines"),
    [
        ("\ufeffa\u2028b\r\n\r\n\x85\rc", ["a\u2028b", "", "\x85\rc"]),  # newlines alone end lines
        # Files that were joined have byte-order marks in front of lines, and inside.
        ("\ufeffa\n\ufeffb\n\ufeff\ufeffc\ufeff\n\ufeff\n", ["a", "b", "c", ""]),
        *((text, [text.rstrip("\r\n")]) for text in ("a", "a\r", "a\r\n", "a\rb\n")),
        ("a\n\rb\rc", ["a", "\rb\rc"]),
    ],
)
def test_lines_of_a_text(content: str, lines: list[str]) -> None:
    assert [*decoded(io.BytesIO(content.encode()), "text")] == lines


@pytest.mark.parametrize("text", ["", " \t", "\u200b", "\u00ad", "\u200e \u2060", "\ufeff\x85"])
def test_a_text_that_shows_nothing_is_none(text: str) -> None:
    assert is_blank(text) and normalize(text) == comparable(text) == ""
    assert normalize(f" a {text}b").split()[0] == "a"


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"gut\nGr\xfc\xdfe\n", "^text, line 2 is not UTF-8 \\(byte 3 of the line\\): convert the text to UTF-8$"),
        (b"a\0\n", "^text, line 1 holds a NUL character: remove it, or convert the text to UTF-8$"),
    ],
)
def test_bad_lines_are_refused(content: bytes, sentence: str) -> None:
    require_refusal(lambda: list(decoded(io.BytesIO(content), "text")), sentence)


def test_compressed_files_are_read_alike(tmp_path: Path) -> None:
    (tmp_path / "plain").write_bytes(b"one\r\ntwo")
    (tmp_path / "small.gz").write_bytes(gzip.compress(b"one\ntwo\n"))
    assert read_parallel([tmp_path / "plain", tmp_path / "small.gz"], "pair") == [["one", "two"], ["one", "two"]]


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("a.gz", gzip.compress(b"one\n", mtime=0)[:-4], r"a\.gz is cut short: copy it again, or compress it again$"),
        ("a.gz", b"one\n", r"a\.gz is not a sound gzip file \(Not a gzipped file .*\): copy it again, or compress it"),
    ],
)
def test_bad_files_are_refused(tmp_path: Path, name: str, content: bytes, sentence: str) -> None:
    (tmp_path / name).write_bytes(content)
    require_refusal(lambda: read_lines(tmp_path / name), sentence)


def test_lines_are_read_as_they_are_asked_for(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"one\n" + b"\xff\n")
    assert next(file_lines(tmp_path / "a")) == "one"


@pytest.mark.parametrize("content", [b"a\rb\rc", b"a\rb\rc\r", b"\xef\xbb\xbfa\rb"])
def test_carriage_returns_alone_end_no_line(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "mac").write_bytes(content)
    (tmp_path / "mac.gz").write_bytes(gzip.compress(content))
    for name in ("mac", "mac.gz"):
        sentence = rf"/{name} has carriage returns and no newline, .*: convert its line ends"
        require_refusal(lambda name=name: read_lines(tmp_path / name), sentence)


# Both sides of every metric in one form: composed, with single blanks, in lower case where a model writes no other.
TEXT = ["Thé và cà phê đã nguội lạnh rồi", "Ça n’était qu’un été à Überlingen , où", "tiếng Việt của nó khó học"] * 4
EVERY = pytest.mark.parametrize("name", METRICS)
FORMS = {
    "decomposed": lambda text: unicodedata.normalize("NFD", text),
    "no-break": lambda text: text.replace(" ", "\u00a0"),
    "narrow no-break": lambda text: text.replace(" ", "\u202f"),
    "ideographic": lambda text: text.replace(" ", "\u3000"),
    "tab": lambda text: text.replace(" ", "\t"),
    "separators": lambda text: text.replace(" ", "\u2028\x1f\x85"),
    "several, and at the ends": lambda text: f"  {text.replace(' ', '  ')}\u00a0",
    "all at once": lambda text: unicodedata.normalize("NFD", text).replace(" ", "\u00a0\t"),
}
ANY = FORMS["all at once"]


def values(metric, hypotheses, references) -> dict[str, float]:
    return {name: score.score for name, score in metric.score(hypotheses, references).items()}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_a_form_of_a_text_is_compared_as_the_text(form) -> None:
    assert [comparable(form(text)) for text in TEXT] == TEXT


@EVERY
def test_every_metric_compares_any_form_of_the_text(name) -> None:
    [metric] = build([name])
    other = [ANY(text) for text in TEXT]
    for hypotheses in (TEXT, [TEXT[0], *("cà phê" for _ in TEXT[1:])]):
        best = values(metric, hypotheses, [["nothing", text] for text in TEXT])
        assert values(metric, hypotheses, [["nothing", text] for text in other]) == best
        assert values(metric, [ANY(text) for text in hypotheses], [["nothing", text] for text in TEXT]) == best
    if name in ("bleu", "chrf", "accuracy", "wer"):
        assert values(metric, TEXT, [[text] for text in other]) == pytest.approx({name: 0 if name == "wer" else 100})
    systems = {"base": TEXT, "again": other, "other": ["cà phê đã nguội", *TEXT[1:]]}
    result = metric.compare(systems, [[text] for text in other])
    assert result.keys() <= metric.headings().keys()
    for results in result.values():
        assert results["again"].score == results["base"].score and results["again"].p_value == 1
        if name != "truth":
            assert results["other"].score != results["base"].score


@EVERY
def test_a_signature_says_what_a_reader_would_not_find_in_the_texts(name) -> None:
    [metric] = build([name])
    for texts, composed in ((TEXT, True), ([unicodedata.normalize("NFD", text) for text in TEXT], False)):
        references = [[text] for text in texts]
        signatures = [score.signature for score in metric.score(TEXT, references).values()]
        signatures += [paired["a"].signature for paired in metric.compare({"a": TEXT}, references).values()]
        assert all(("|unicode:nfc" in signature) is not composed for signature in signatures)
        assert all(signature.rpartition("|")[2] != "unicode:nfc" for signature in signatures if "|version" in signature)


@EVERY
def test_without_regard_to_case(name) -> None:
    [lower] = build([name], Settings(lowercase=True))
    [cased] = build([name])
    upper = [text.upper() for text in TEXT]
    references = [[text] for text in TEXT]
    best = values(lower, TEXT, references)
    assert values(lower, upper, references) == best == values(lower, TEXT, [[text] for text in upper])
    signatures = [score.signature for score in lower.score(TEXT, references).values()]
    assert all("|case:lc|" in f"{signature}|" or "|case:lower|" in signature for signature in signatures)
    assert all("case:mixed" not in signature for signature in signatures)
    result = lower.compare({"a": TEXT, "b": upper}, references)
    assert all(results["b"].score == results["a"].score for results in result.values())
    if name in ("bleu", "chrf", "wer", "cer", "accuracy"):
        assert values(cased, upper, references) != values(cased, TEXT, references)


@pytest.mark.parametrize("text", ["ΟΔΟΣ ΤΗΣ ΠΟΛΗΣ", "İSTANBUL", "STRASSE ẞ", "ǅUNGLA", "\u1fbc"])
def test_lower_case_of_a_character_does_not_depend_on_its_neighbours(text: str) -> None:
    by_character = "".join(character.lower() for character in unicodedata.normalize("NFC", text))
    assert comparable(by_character, lowercase=True) == comparable(text, lowercase=True)


def test_what_is_no_blank_stays() -> None:
    assert comparable("a\u200bb\u200d\u2060c") == "a\u200bb\u200d\u2060c"
    assert comparable("\u00bd ﬁ Ａ") == "\u00bd ﬁ Ａ"  # other characters, which a model may have to write


def test_rouge_alone_reads_lines() -> None:
    assert [name for name, metric in METRICS.items() if metric.reads_lines] == ["rouge"]
    assert comparable(" a\t\nb ", newlines=True) == "a\nb" and comparable(" a\t\nb ") == "a b"
