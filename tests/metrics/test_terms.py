"""Terms that are met: places by hand, and figures that the evaluator of WMT21's terminology task gives."""

import pytest

from mt.metrics.terms import OwnWords, score_terms
from tests.refusals.sentences import require_refusal


def scores(hypothesis: str, reference: str, *terms: str) -> dict[str, float]:
    forms = [[form.split() for form in term.split("|")] for term in terms]
    result = score_terms([hypothesis.split()], [reference.split()], [forms])
    return {name.removeprefix("term_"): score.score for name, score in result.items()}


def test_a_place_meets_one_term():
    assert scores("der Speicher", "x", "Speicher", "Speicher")["exact"] == 50
    assert scores("Speicher , Speicher", "x", "Speicher", "Speicher")["exact"] == 100
    assert scores("der Speicher", "x", "Ablage|der Speicher", "Speicher")["exact"] == 100


def test_a_form_without_a_capital_is_met_whatever_the_case():
    assert scores("Teilen hilft", "x", "teilen")["exact"] == 100
    # Where no reference has the term there are no words around it.
    assert scores("SPEICHER und speicher", "x", "Speicher") == pytest.approx({"exact": 0, "inside": 100})
    # The first word of a text may have a capital letter.
    assert scores("EBay hilft", "x", "eBay")["exact"] == 100 and scores("x EBay", "x", "eBay")["exact"] == 0


def test_within_a_longer_word_a_term_is_inside():
    result = scores("Rechenspeicher", "x", "Speicher", "Speicher")
    assert (result["exact"], result["inside"]) == (0, 50)


def test_the_context_compares_the_words_around_without_punctuation():
    reference = "wir teilen , den großen Speicher ganz neu ein"
    # Of den, großen, ganz, neu; and of teilen, den, großen, ganz, neu, ein.
    result = scores("den kleinen Speicher ganz ein", reference, "Speicher")
    assert (result["context2"], result["context3"]) == pytest.approx((50, 50))
    # A word that stands there twice counts twice.
    assert scores("der X ein", "der X der", "X")["context2"] == 50
    # Of two terms the places that agree are compared, whatever their order.
    assert scores("s t X u v p X q r", "p X q r s t X u v", "X", "X")["context2"] == pytest.approx(100)
    assert scores("b Y c a X a X", "a X b X c", "X", "X")["context2"] == pytest.approx(100 * (2 / 3 + 1 / 3) / 2)


@pytest.mark.parametrize(
    ("hypothesis", "doubled"),
    [
        ("Die Bahn fährt", 0),
        ("Bahn der Zug fährt", 100),
        ("Der Zug fährt", 0),
        # The article alone is no translation, and one of two copies is gone.
        ("Der Bahn fährt", 0),
    ],
)
def test_a_term_is_doubled_beside_the_model_s_own_words_for_it(hypothesis: str, doubled: int):
    own = OwnWords(["der", "Zug", "fährt", "."], [["der", "Zug", "."]])  # of which the full stop is no translation
    found = score_terms([hypothesis.replace("Der", "der").split()], [["x"]], [[[["Bahn"]]]], [own])
    assert found["term_doubled"].score == doubled


def test_what_the_model_writes_by_itself_is_not_doubled_nor_what_a_target_holds():
    own = OwnWords(["die", "Bahn"], [["die", "Bahn"]])
    assert score_terms([["die", "Bahn"]], [["x"]], [[[["Bahn"]]]], [own])["term_doubled"].score == 0
    own = OwnWords(["ein", "Mädchen"], [["Mädchen"]])
    terms = [[[["junges", "Mädchen"]]]]
    assert score_terms([["ein", "junges", "Mädchen"]], [["x"]], terms, [own])["term_doubled"].score == 0
    assert score_terms([["ein", "junges", "Mädchen", "Mädchen"]], [["x"]], terms, [own])["term_doubled"].score == 100


def test_nothing_to_count_is_refused():
    require_refusal(lambda: scores("a", "a"), "no source has a term of the glossary")
    require_refusal(lambda: score_terms([["a"]], [], [[]]), r"hypotheses \(1\) and references \(0\) are not")
