"""Both sides of every metric in one form: composed, with single blanks, in lower case where a model writes no other."""

import unicodedata

import pytest
from sacrebleu.metrics import BLEU, CHRF

from mt.metrics import METRICS, build
from mt.metrics.base import Settings
from mt.text_io import comparable
from tests.metrics.usable import USABLE

TEXT = [
    "Thé và cà phê đã nguội lạnh rồi",
    "Ça n’était qu’un été à Überlingen , où",
    "tiếng Việt của nó rất khó học",
] * 4
EVERY = pytest.mark.parametrize("name", [name for name in USABLE if name != "meteor"])
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
EACH_FORM = pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)


def values(metric, hypotheses, references) -> dict[str, float]:
    return {name: score.score for name, score in metric.score(hypotheses, references).items()}


@EVERY
@EACH_FORM
def test_a_form_of_the_text_scores_as_the_text(name, form) -> None:
    [metric] = build([name])
    other = [form(text) for text in TEXT]
    wrong = [TEXT[0], *("cà phê" for _ in TEXT[1:])]
    for hypotheses in (TEXT, wrong):
        best = values(metric, hypotheses, [[text] for text in TEXT])
        assert values(metric, hypotheses, [[text] for text in other]) == best
        assert values(metric, [form(text) for text in hypotheses], [[text] for text in TEXT]) == best
        assert values(metric, hypotheses, [["nothing", text] for text in other]) == values(
            metric, hypotheses, [["nothing", text] for text in TEXT]
        )
    if name == "wer":
        assert values(metric, TEXT, [[text] for text in other]) == {"wer": 0}
    if name in ("bleu", "chrf", "accuracy"):
        assert values(metric, TEXT, [[text] for text in other]) == pytest.approx({name: 100})


@EVERY
@EACH_FORM
def test_systems_are_compared_in_one_form(name, form) -> None:
    [metric] = build([name])
    systems = {"base": TEXT, "again": [form(text) for text in TEXT], "other": ["cà phê đã nguội", *TEXT[1:]]}
    result = metric.compare(systems, [[form(text)] for text in TEXT])
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


def test_the_signatures_of_lower_case_are_sacrebleus() -> None:
    for name, theirs in (("bleu", BLEU(lowercase=True)), ("chrf", CHRF(lowercase=True))):
        [metric] = build([name], Settings(lowercase=True))
        [result] = metric.score([text.upper() for text in TEXT], [[text] for text in TEXT]).values()
        assert result.score == theirs.corpus_score([text.upper() for text in TEXT], [TEXT]).score
        assert result.signature == theirs.get_signature().format()


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
