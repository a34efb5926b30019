"""The oracles are jiwer's own rates: over a corpus, and over the best reference of each sentence."""

from importlib.metadata import version

import jiwer
import pytest

from mt.metrics.accuracy import Accuracy
from mt.metrics.wer import Cer, Wer

BOTH = pytest.mark.parametrize(("metric", "oracle"), [(Wer(), jiwer.wer), (Cer(), jiwer.cer)], ids=["wer", "cer"])


def joined(texts: list[str]) -> list[str]:
    """With one blank between words, as metrics compare texts."""
    return [" ".join(text.split()) for text in texts]


def score(metric, hypotheses, references) -> float:
    [result] = metric.score(hypotheses, references).values()
    return result.score


@BOTH
@pytest.mark.parametrize("seed", range(20))
def test_as_jiwer_has_it(metric, oracle, seed, random_corpus) -> None:
    hypotheses, references = random_corpus(seed, count=1 + 3 * seed)
    expected = 100 * oracle(joined([group[0] for group in references]), joined(hypotheses))
    assert score(metric, hypotheses, references) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("metric", "process"), [(Wer(), jiwer.process_words), (Cer(), jiwer.process_characters)], ids=["wer", "cer"]
)
def test_a_thousand_pairs_and_the_kinds_of_their_errors(metric, process, random_corpus) -> None:
    hypotheses, references = random_corpus(7, count=1_000)
    expected = process(joined([group[0] for group in references]), joined(hypotheses))
    [actual] = metric.score(hypotheses, references).values()
    assert actual.score == pytest.approx(100 * (expected.wer if metric.name == "wer" else expected.cer), abs=1e-9)
    kinds = actual.substitutions, actual.deletions, actual.insertions
    assert kinds == (expected.substitutions, expected.deletions, expected.insertions)
    assert all(kinds) and actual.units == sum(map(len, expected.references))
    assert actual.signature.endswith(f"|n:1000|version:jiwer.{version('jiwer')}")


@BOTH
def test_the_best_reference_counts(metric, oracle, random_corpus) -> None:
    hypotheses, groups = random_corpus(3, most=4)
    hypotheses, references = joined(hypotheses), [joined(group) for group in groups]
    length = {jiwer.wer: lambda text: len(text.split()), jiwer.cer: lambda text: len(text.strip())}[oracle]
    best = [
        # In a tie the shorter one, which has fewer edits.
        min(group, key=lambda reference, text=text: (oracle(reference, text), length(reference)))
        for text, group in zip(hypotheses, references, strict=True)
    ]
    assert score(metric, hypotheses, references) == pytest.approx(100 * oracle(best, hypotheses))
    alone = [score(metric, [text], [group]) for text, group in zip(hypotheses, references, strict=True)]
    least = [min(100 * oracle(r, text) for r in group) for text, group in zip(hypotheses, references, strict=True)]
    assert alone == pytest.approx(least)


def test_by_hand() -> None:
    [result] = Wer().score(["the cat sat down", "x"], [["a cat sat"], ["x y z"]]).values()
    assert (result.substitutions, result.insertions, result.deletions, result.units) == (1, 1, 2, 6)
    # "the cat sat down" against "a cat sat": a substitution and an insertion; then a deletion of two words.
    assert score(Wer(), ["the cat sat down"], [["a cat sat"]]) == pytest.approx(200 / 3)
    assert score(Wer(), ["the cat sat down", "x"], [["a cat sat"], ["x y z"]]) == pytest.approx(400 / 6)
    assert score(Cer(), ["ab c"], [["abc"]]) == pytest.approx(100 / 3)
    # 1 of 2 words against 1 of 3: the second reference, over whose three words the error counts.
    assert score(Wer(), ["a b c"], [["a b"], ["a b d"]][:1]) == pytest.approx(50)
    assert score(Wer(), ["a b c"], [["a b", "a b d"]]) == pytest.approx(100 / 3)


def test_no_word_in_any_reference() -> None:
    assert score(Wer(), ["a b"], [[""]]) == 100 * jiwer.wer([""], ["a b"]) == 200
    assert score(Wer(), [""], [[""]]) == 0


def test_signatures() -> None:
    [wer], [cer] = (metric.score(["a"], [["a", "b"]]).values() for metric in (Wer(), Cer()))
    end = f"|n:1|version:jiwer.{version('jiwer')}"
    assert wer.signature == f"nrefs:2|multi:best|level:word|case:mixed|tok:blanks{end}"
    assert cer.signature == f"nrefs:2|multi:best|level:character|case:mixed|space:joined{end}"


def test_accuracy() -> None:
    references = [["Anna"], ["Otto", "otto "], ["Eva"], ["a  b"]]
    result = Accuracy().score(["Anna", "otto", "eva", " a b"], references)["accuracy"]
    assert result.score == pytest.approx(75)
    assert result.signature == "nrefs:var|multi:any|case:mixed|space:joined|n:4"
