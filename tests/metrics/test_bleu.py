import logging
import math
from importlib.metadata import version

import pytest

from mt.errors import UserError
from mt.metrics.bleu import bleu, chrf

SACREBLEU = version("sacrebleu")


def test_identical_text_scores_100_with_sacrebleus_own_signature():
    text = ["Die Katze sitzt auf der Matte.", "Es regnet heute sehr stark."]
    score = bleu(text, [[line] for line in text])
    assert score.score == pytest.approx(100)
    assert score.signature == f"nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:{SACREBLEU}"


def test_bleu_by_hand():
    # "a b c d e f" against "a b c d e x y": precisions 5/6, 4/5, 3/4, 2/3; brevity penalty exp(1 - 7/6).
    expected = 100 * (5 / 6 * 4 / 5 * 3 / 4 * 2 / 3) ** 0.25 * math.exp(1 - 7 / 6)
    assert bleu(["a b c d e f"], [["a b c d e x y"]]).score == pytest.approx(expected)


def test_case_counts():
    assert bleu(["THE CAT SAT ON THE MAT"], [["the cat sat on the mat"]]).score == 0


def test_references_may_differ_in_number_by_sentence():
    hypotheses = ["the cat sat on the mat", "it is raining very hard today"]
    references = [["nothing like that at all", "the cat sat on the mat"], ["it is raining very hard today"]]
    assert bleu(hypotheses, references).score == pytest.approx(100)
    assert bleu(hypotheses, references).signature.startswith("nrefs:var|")
    assert chrf(hypotheses, references).score == pytest.approx(100)
    assert bleu(hypotheses, [group * 2 for group in references[1:]] * 2).signature.startswith("nrefs:2|")


def test_an_empty_hypothesis_is_scored_as_it_is():
    assert bleu([""], [["a b c d"]]).score == 0
    assert chrf([""], [["a b c d"]]).score == 0


def test_a_tokenizer_for_scripts_without_spaces():
    hypothesis, references = ["今日は朝から雨が降る。"], [["今日は夜から雨が降る。"]]
    assert bleu(hypothesis, references).score == 0  # 13a sees one word
    # 11 characters, one of them wrong: precisions 10/11, 8/10, 6/9, 4/8.
    by_character = bleu(hypothesis, references, tokenizer="char")
    assert by_character.score == pytest.approx(100 * (10 / 11 * 8 / 10 * 6 / 9 * 4 / 8) ** 0.25)
    assert "tok:char" in by_character.signature


def test_chrf_by_hand():
    # "abcd" against "abce", n = 1..4 (higher orders do not occur): F2 of 3/4, 2/3, 1/2 and 0, both ways alike.
    score = chrf(["abcd"], [["abce"]])
    assert score.score == pytest.approx(100 * (3 / 4 + 2 / 3 + 1 / 2 + 0) / 4)
    assert score.signature == f"nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no|version:{SACREBLEU}"


def test_tokenised_text_draws_no_advice_into_the_log(caplog):
    with caplog.at_level(logging.WARNING):
        bleu(["a b c d ."] * 200, [["a b c d ."]] * 200)
    assert caplog.records == []


@pytest.mark.parametrize("metric", [bleu, chrf])
def test_refusals(metric):
    with pytest.raises(UserError, match=r"^there are 2 hypotheses but 1 references: give one entry per sentence"):
        metric(["a", "b"], [["a"]])
    with pytest.raises(UserError, match=r"^there is nothing to score: give at least one hypothesis"):
        metric([], [])
    with pytest.raises(UserError, match=r"^sentence 2 has no reference: give each sentence at least one$"):
        metric(["a", "b"], [["a"], []])
    with pytest.raises(TypeError, match="not a string"):
        metric(["a", "b"], ["a", "b"])


def test_an_unknown_tokenizer_is_answered_with_the_nearest():
    with pytest.raises(
        UserError, match=r"^there is no BLEU tokenizer 'chars': did you mean char\? There is: 13a, char"
    ):
        bleu(["a"], [["a"]], tokenizer="chars")
