"""The published script's counts, on texts that show each of its rules."""

import pytest

from mt.errors import UserError
from mt.metrics import build
from mt.metrics.base import Settings
from mt.metrics.bleu import Bleu

REFERENCES = ["<b>Click the <i>big red</i> button now</b>", "one two three four five", "a &amp; b <x>c d</x> e f g"]


def test_xml_bleu_is_bleu_of_the_texts_between_tags() -> None:
    hypotheses = ["<b>Click the <i>large red</i> button now</b>", "one two three four six", "<x>a & b</x>"]
    score = build(["xml_bleu"])[0].score(hypotheses, [[text] for text in REFERENCES])["xml_bleu"]
    # The third is no XML: its texts are blank. Blanks at tags do not count.
    between = [
        ("", ""), ("Click the", "Click the"), ("large red", "big red"), ("button now", "button now"), ("", ""),
        ("one two three four six", "one two three four five"),
        ("", "a & b"), ("", "c d"), ("", "e f g"),
    ]  # fmt: skip
    bleu = Bleu(Settings()).score([one for one, _ in between], [[gold] for _, gold in between])["bleu"].score
    assert score.score == pytest.approx(bleu)
    assert score.signature.endswith("|accuracy:66.7|match:66.7|n:3")


def test_other_tags_than_the_references_are_blank_and_attributes_are_not_compared() -> None:
    metric = build(["xml_bleu"])[0]
    golds = [["<b>one two three four</b> five six seven eight <i>nine ten</i>"]]
    same = metric.score(['<b id="3">one two three four</b> five six seven eight <i>nine ten</i>'], golds)["xml_bleu"]
    assert same.score == pytest.approx(100)
    assert "|accuracy:100.0|match:100.0|" in same.signature
    for other in ("one two three four five six", "<i>one two three four</i> five six seven eight <b>nine ten</b>"):
        score = metric.score([other], golds)["xml_bleu"]
        assert score.score == 0
        assert "|accuracy:100.0|match:0.0|" in score.signature
    # Of several references the one with these tags counts.
    assert metric.score([golds[0][0]], [["one", *golds[0]]])["xml_bleu"].score == pytest.approx(100)


def test_references_that_are_no_xml_are_refused() -> None:
    with pytest.raises(UserError, match="reference 2 is no well-formed XML"):
        build(["xml_bleu"])[0].score(["x", "x"], [["x"], ["<b>x"]])
