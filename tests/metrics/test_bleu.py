import logging
import math
import random
from importlib.metadata import version

import pytest
from sacrebleu.metrics import BLEU, CHRF
from sacrebleu.significance import PairedTest

from mt.errors import UserError
from mt.metrics.bleu import bleu, chrf, paired_bleu, paired_chrf

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


def sentences(seed, changed):
    """40 sentences of eight words, some words replaced."""
    draw = random.Random(seed)
    text = [[f"word{(7 * i + j) % 50}" for j in range(8)] for i in range(40)]
    return [" ".join("other" if draw.random() < changed else word for word in line) for line in text]


@pytest.mark.parametrize(("paired", "metric", "name"), [(paired_bleu, BLEU(), "BLEU"), (paired_chrf, CHRF(), "chrF2")])
def test_systems_beside_the_first_as_sacrebleu_has_them(paired, metric, name):
    systems = {"base": sentences(1, 0.3), "near": sentences(2, 0.27), "good": sentences(3, 0.1)}
    systems["again"] = systems["base"]
    first, second = sentences(0, 0.0), [line if i % 2 else None for i, line in enumerate(sentences(4, 0.05))]
    references = [[text for text in pair if text] for pair in zip(first, second, strict=True)]
    found = paired(systems, references)
    signatures, table = PairedTest(list(systems.items()), {"": metric}, [first, second], "bs", 1000)()
    assert list(found) == list(systems)
    for result, theirs in zip(found.values(), table[name], strict=True):
        assert (result.score, result.mean, result.ci) == (theirs.score, theirs.mean, theirs.ci)
        assert result.signature == signatures[name].format()
    assert result.signature.startswith("nrefs:var|bs:1000|seed:12345|")
    assert [found[system].p_value for system in ("base", "near", "good")] == [
        None,
        *(r.p_value for r in table[name][1:3]),
    ]
    assert found["near"].p_value > 0.05 and not found["near"].significant
    assert found["good"].significant
    # sacreBLEU would give 0.001 here.
    assert found["again"].p_value == 1.0 and found["again"].score == found["base"].score


def test_one_system_alone_has_its_interval():
    [result] = paired_bleu({"only": sentences(1, 0.3)}, [[line] for line in sentences(0, 0.0)]).values()
    assert result.p_value is None and 0 < result.ci < 20 and result.mean == pytest.approx(result.score, abs=2)


def test_each_system_needs_as_many_hypotheses_as_there_are_references():
    for paired in (paired_bleu, paired_chrf):
        with pytest.raises(UserError, match=r"^there are 1 hypotheses but 2 references: "):
            paired({"long": ["a", "b"], "short": ["a"]}, [["a"], ["b"]])
    with pytest.raises(UserError, match=r"^there is no BLEU tokenizer 'chars': did you mean char\?"):
        paired_bleu({"only": ["a"]}, [["a"]], tokenizer="chars")


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
