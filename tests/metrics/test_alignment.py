from pathlib import Path

import pytest

from mt.common import links as of_words
from mt.common.links import Links, is_naacl, links_of, parse_naacl, parse_pharaoh, require_inside, symmetrised
from mt.metrics.alignment import alignment_error_rate
from tests.refusals.sentences import refusal_of, require_refusal

HANSARDS = Path(__file__).parents[3] / "shared" / "data" / "align-en-fr"


def read(name):
    return parse_pharaoh((HANSARDS / name).read_text(encoding="utf-8").splitlines(), name)


@pytest.mark.parametrize("token", ["1_2", "1-", "-1-2", "1-2-3", "a-b", "1P2", "1", "²-1"])
def test_a_bad_token_is_refused_with_its_line(token):
    sentence = refusal_of(lambda: parse_pharaoh(["0-0", f"1-1 {token} 2-2"], "test.gold"))
    assert sentence.startswith(f"test.gold, line 2: {token!r} is not a link; write i-j (sure) or ipj")


def test_links_that_cannot_be_made_are_left_out_and_counted():
    gold = [Links(frozenset({(0, 0), (1, 1), (2, 2)}), frozenset({(0, 0), (1, 1), (2, 2), (3, 0)}))]
    # No piece stands for source word 3 and target word 2.
    score = alignment_error_rate([{(0, 0), (1, 0)}], gold, [({0, 1, 2, None}, {0, 1})])
    assert (score.score, score.precision, score.recall, score.unlinkable) == (50, 50, 50, 2)
    assert score.signature == "n:1|sure:2|possible:2|average:corpus|unlinkable:2"
    assert alignment_error_rate([{(0, 0), (1, 0)}], gold).unlinkable == 0
    sentence = r"no sure link \(i-j\) but 4 to words without a piece of the model"
    require_refusal(lambda: alignment_error_rate([set()], gold, [(set(), set())]), sentence)


def test_precision_is_of_possible_and_recall_of_sure_links():
    """All four counts differ, so that exchanging precision and recall, or sure and possible links, shows."""
    sure = {(0, 0), (1, 1), (2, 2), (3, 3), (4, 4)}
    gold = [Links(frozenset(sure), frozenset(sure | {(0, 1), (1, 2), (5, 5)}))]
    # 4 proposed: 1 of 5 sure ones, and 2 more that are possible.
    score = alignment_error_rate([{(0, 0), (0, 1), (1, 2), (9, 9)}], gold)
    assert score.precision == pytest.approx(100 * 3 / 4)
    assert score.recall == pytest.approx(100 * 1 / 5)
    assert score.score == pytest.approx(100 * (1 - (1 + 3) / (4 + 5)))
    assert score.signature == "n:1|sure:5|possible:8|average:corpus"
    nothing = alignment_error_rate([set()], gold)
    assert (nothing.score, nothing.precision, nothing.recall) == (100, 0, 0)


@pytest.mark.parametrize(("link", "first"), [("2-0", 0), ("0p3", 0), ("3-1", 1), ("1-4", 1)])
def test_a_link_to_a_word_that_is_not_there_is_refused_with_its_line(link, first):
    require_inside(links_of("2-3 1p1", first=1), (2, 3), "gold")
    number = rf"{link.replace('p', '-')} joins a word that is not there. The pair has 2 source and 3 target words"
    links = links_of(link, first=first)
    facts = f"^gold, line 2: the link {number}, which count from {first}: check .*, x$"
    require_refusal(lambda: require_inside(links, (2, 3), "gold, line 2", first=first, advice=lambda: ", x"), facts)


def test_links_of_tsinghua_aligner():
    first, second, third = parse_pharaoh(["1:1/1 2:3/0\n", "", "11-10 2-3 2-1"], "gold", first=1)
    assert first == Links(frozenset({(0, 0)}), frozenset({(0, 0), (1, 2)}))
    assert second == Links(frozenset(), frozenset())
    assert of_words.to_pharaoh(third.sure) == "1-0 1-2 10-9"
    for token in ("1:1", "1-1/1", "1p1/0", "1:1/2"):
        require_refusal(lambda token=token: parse_pharaoh([token], "gold"), f"^gold, line 1: '{token}' is not a link")


NAACL = ["0001 1 1 S", "1 2 1 P 0.7", "", "3 2 2", "3 0 1 S", "3 3 0"]


def test_the_naacl_format_has_a_link_a_line():
    """A line without a letter is sure; a link to word 0 is none."""
    assert is_naacl(["", *NAACL]) and not is_naacl(["0-0 1p1"]) and not is_naacl(["", ""]) and not is_naacl(["1 2"])
    first, second, third = parse_naacl(NAACL, "gold", 3)
    assert first == Links(frozenset({(0, 0)}), frozenset({(0, 0), (1, 0)}))
    assert second == Links(frozenset(), frozenset())
    assert third == Links(frozenset({(1, 1)}), frozenset({(1, 1)}))


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("4 1 1 S", "there is no sentence 4, since there are 3 pairs"),
        ("0 1 1 S", "there is no sentence 0, since there are 3 pairs"),
        ("1 1 1 X", "'1 1 1 X' is no link of the NAACL format, as the first line is; write: SENTENCE SOURCE TARGET S"),
        ("0-0 1-1", "'0-0 1-1' is no link of the NAACL format"),
    ],
)
def test_a_bad_line_of_the_naacl_format_is_refused(line, problem):
    require_refusal(lambda: parse_naacl([*NAACL, line], "test.wa", 3), f"^test.wa, line 7: {problem}")


def test_refusals():
    unsure = [Links(frozenset(), frozenset({(0, 0)}))]
    require_refusal(lambda: alignment_error_rate([], unsure), r"^hypotheses \(0\) and references \(1\) are not ")
    require_refusal(lambda: alignment_error_rate([{(0, 0)}], unsure), "^the gold alignments hold no sure link")


@pytest.mark.skipif(not HANSARDS.is_dir(), reason="needs ../shared/data/align-en-fr (WPT 2003)")
@pytest.mark.parametrize(
    ("system", "published"),
    [("fastalign.forward", 16.4), ("giza.reverse", 9.8), ("giza.grow-diagonal-final", 6.2), ("awesome-align", 4.1)],
)
def test_published_error_rates(system, published):
    hypotheses = [links.possible for links in read(f"hyp.{system}.pharaoh")]
    score = alignment_error_rate(hypotheses, read("test.gold"))
    assert round(score.score, 1) == published
    assert score.signature == "n:447|sure:4038|possible:17438|average:corpus"


FORWARD = {(0, 0), (1, 1), (1, 2), (3, 3), (5, 0), (6, 6)}
REVERSE = {(0, 0), (1, 1), (2, 0), (2, 2), (4, 5)}


@pytest.mark.parametrize(
    ("method", "expected"),
    [
        ("intersection", {(0, 0), (1, 1)}),
        ("union", FORWARD | REVERSE),
        # (2, 2) touches (1, 1) at a corner, (3, 3) that; (1, 2) and (2, 0) have a word that is linked, (4, 5) no corner
        ("grow-diag", {(0, 0), (1, 1), (2, 2), (3, 3)}),
        ("grow-diag-final", {(0, 0), (1, 1), (2, 2), (3, 3), (6, 6), (4, 5)}),
        # (1, 2) is beside (1, 1) and its target word is free; then (2, 0) is beside it and its source word is free.
        ("grow-diag-final-and", {(0, 0), (1, 1), (1, 2), (2, 0), (3, 3), (6, 6), (4, 5)}),
    ],
)
def test_two_directions_make_one_alignment(method, expected):
    before = ({*FORWARD}, {*REVERSE})
    assert symmetrised(FORWARD, REVERSE, method) == expected
    assert before == (FORWARD, REVERSE)
    assert symmetrised(set(), set(), method) == set()
    assert symmetrised(FORWARD, FORWARD, method) == FORWARD


@pytest.mark.parametrize("method", ["grow-diag", "grow-diag-final", "grow-diag-final-and"])
def test_what_was_added_first_keeps_others_out(method):
    """Of two links that want one word, the one above and to the right comes first."""
    union = {(2, 2), (1, 3), (3, 3)}
    assert symmetrised({(2, 2), (3, 3)}, {(2, 2), (1, 3)}, method) >= {(2, 2), (1, 3)}
    links = symmetrised({(2, 2)}, union, method)
    assert ((3, 3) in links) == (method == "grow-diag-final-and"), "which asks for one free word only"


@pytest.mark.skipif(not HANSARDS.is_dir(), reason="needs ../shared/data/align-en-fr (WPT 2003)")
@pytest.mark.parametrize("system", ["fastalign", "giza"])
@pytest.mark.parametrize("method", ["intersection", "union", "grow-diag", "grow-diag-final"])
def test_symmetrised_files_come_out_link_for_link(system, method):
    forward, reverse, both = (
        [links.possible for links in read(f"hyp.{system}.{name}.pharaoh")]
        for name in ("forward", "reverse", method.replace("diag", "diagonal"))
    )
    assert [symmetrised(one, other, method) for one, other in zip(forward, reverse, strict=True)] == both
