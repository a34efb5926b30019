import json
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from mt.metrics import latency
from mt.metrics.latency import LOG, Instance, read_log, score_latency, write_log
from tests.refusals.sentences import refusal_of, require_refusal


def instance(index: int, prediction: str, delays: list, reference: str | None = "a b c\n", **changes) -> Instance:
    given = {"source": "w x y z", "source_length": 4} | changes
    return Instance(index=index, prediction=prediction, delays=tuple(delays), reference=reference, **given)


def waited(delays: list, source_length: int, words: int, **changes) -> Instance:
    """Returns a hypothesis with these delays, and a reference of so many words."""
    prediction, reference = (" ".join("a" * count) for count in (len(delays), words))
    return instance(0, prediction, delays, reference, source_length=source_length, **changes)


# Wait-3 on three sentences: delays, words of the source, words of the reference; and what SimulEval 1.1.4 and
# OmniSTEval 0.1.10 make of them.
VECTOR = [waited([3, 4, 4, 4], 4, 4), waited([3, 4, 5, 6, 6, 6], 6, 5), waited([2, 2], 2, 3)]


def test_signatures_say_how_the_scorers_count():
    """Their results for the same log stand in the tests of `mt score`."""
    scores = score_latency([*VECTOR, waited([], 5, 7), waited([], 0, 1)])
    assert not latency.degenerate(scores) and scores["erasure"].score == 0
    simuleval = "average:sentence|version:SimulEval.1.1.4"
    omnisteval = "version:OmniSTEval.0.1.10"
    assert {name: score.signature.removeprefix("n:3|empty:2|unit:word|") for name, score in scores.items()} == {
        **dict.fromkeys(("ap", "al"), f"length:reference|{simuleval}"),
        "laal": f"length:longer|{simuleval}",
        "dal": f"length:hypothesis|{simuleval}",
        "yaal": f"length:longer|average:sentence|{omnisteval}",
        "erasure": "erased:0|average:corpus",
        **dict.fromkeys(("swf", "efsw"), f"average:corpus|{omnisteval}"),
    }


# What was shown with each of four source words; what each update takes back, and with which word each target word was
# final (Arivazhagan et al. 2020).
HISTORIES = [
    (["a", "a b", "a b c", "a b c d"], [0, 0, 0], [1, 2, 3, 4]),  # a stream
    (["a b", "a c d", "a c", "a c d e"], [1, 1, 0], [1, 2, 4, 4]),
    (["x y z", "a b", "x b", "a b"], [3, 2, 2], [4, 4]),  # right in between does not count
    (["a b c", "a", "", "a"], [2, 1, 0], [4]),
    (["a b", "a b", "b", ""], [0, 2, 1], []),
    (["", "", "", "a b"], [0, 0, 0], [4, 4]),
]


@pytest.mark.parametrize(("updates", "taken_back", "delays"), HISTORIES)
def test_erasure_and_delays_of_a_history_by_hand(updates, taken_back, delays):
    words = [update.split() for update in updates]
    assert [latency.erased(*pair) for pair in pairwise(words)] == taken_back
    assert latency.finalised(words) == delays


@given(st.lists(st.lists(st.sampled_from("ab"), max_size=4), min_size=1, max_size=5))
def test_a_word_is_final_where_no_later_update_differs_up_to_it(updates):
    last = updates[-1]
    expected = [
        min(i for i in range(len(updates)) if all(later[: j + 1] == last[: j + 1] for later in updates[i:])) + 1
        for j in range(len(last))
    ]
    assert latency.finalised(updates) == expected


def test_erasure_is_of_the_corpus_and_stands_in_the_log(tmp_path):
    """Two words were taken back of a sentence without any in the end, three of one of four."""
    write_log(tmp_path, [instance(0, "", [], erased=2), instance(1, "a b c d", [1, 2, 4, 4], erased=3)])
    score = score_latency(read_log(tmp_path / LOG))["erasure"]
    assert (score.score, score.signature) == (5 / 4, "n:1|empty:1|unit:word|erased:5|average:corpus")


def test_without_the_length_of_the_reference():
    scores = score_latency(VECTOR, reference_length=False)
    assert scores["al"].score == pytest.approx(8 / 3, abs=1e-9)
    assert scores["ap"].score == pytest.approx((0.9375 + 30 / 36 + 1) / 3, abs=1e-9)
    # Without early words there is no YAAL; with them the longer of hypothesis and reference counts.
    yaal = [latency.yet_another_average_lagging([1, 3, 3], 4, words) for words in (None, 2, 6)]
    assert yaal == pytest.approx([(1 + 3 - 4 / 3 + 3 - 8 / 3) / 3] * 2 + [(1 + 3 - 2 / 3 + 3 - 4 / 3) / 3])
    assert score_latency([waited([1, 3, 3], 4, 6)], reference_length=False)["yaal"].score == pytest.approx(yaal[2])
    assert "|length:hypothesis|" in scores["al"].signature and "|length:longer|" in scores["yaal"].signature


@pytest.mark.parametrize(
    ("delays", "source_length", "ap", "al", "dal"),
    [
        ([3, 4, 4, 4], 4, 15 / 16, 3, 3),  # wait-3: AL stops counting at the second word
        ([1, 2, 3, 4], 4, 10 / 16, 1, 1),  # wait-1
        ([4, 4, 4, 4], 4, 1, 4, 4),  # the whole source first
        ([6, 6], 6, 1, 6, 6),
        # Half a target word per source word; DAL's second delay is max(2, 1 + 2) and its third 5.
        ([1, 2, 6], 6, 9 / 18, (1 + 0 + 2) / 3, (1 + 1 + 2) / 3),
        # The end is never read: all three are counted. rate 3/4, delays after DAL's minimum 1, 7/3, 11/3.
        ([1, 1, 1], 4, 3 / 12, (1 + (1 - 4 / 3) + (1 - 8 / 3)) / 3, 1),
        ([0, 0], 2, 0, -0.5, 0),  # writing without reading
    ],
)
def test_by_hand(delays, source_length, ap, al, dal):
    assert latency.average_proportion(delays, source_length) == pytest.approx(ap)
    assert latency.average_lagging(delays, source_length) == pytest.approx(al)
    assert latency.length_adaptive_average_lagging(delays, source_length, 1) == pytest.approx(al)
    assert latency.differentiable_average_lagging(delays, source_length) == pytest.approx(dal)


def test_a_first_word_after_the_end_of_speech_lags_by_its_delay():
    assert latency.average_lagging([1200.0, 1300.0], 1000.0, 2) == 1200
    assert latency.length_adaptive_average_lagging([1200.0], 1000.0, 9) == 1200
    assert latency.yet_another_average_lagging([1200.0], 1000.0, 9) is None


def test_a_policy_that_waits_for_the_end_or_not_at_all_is_degenerate():
    waits = waited([20] * 10, 20, 10)
    assert latency.degenerate(score_latency([waited([1] + [20] * 9, 20, 10), waits]))
    assert latency.degenerate(score_latency([waited([19] * 10, 20, 10)]))  # all at the last moment
    assert not latency.degenerate(score_latency([waits]))  # it has no YAAL
    assert not latency.degenerate(score_latency([waited([*range(1, 21)], 20, 20)]))


def test_nothing_written_has_no_latency():
    assert score_latency([waited([], 3, 2)]) == {} == score_latency([])
    assert set(score_latency([waited([2, 2], 2, 2)])) == {"ap", "al", "laal", "dal", "erasure", "swf"}


def test_it_is_written_as_simuleval_writes_it(tmp_path: Path):
    write_log(tmp_path, [instance(0, "a ü", [1, 4]), instance(1, "", [], source="", source_length=0)])
    lines = (tmp_path / LOG).read_text().splitlines()
    written = '"prediction": "a \\u00fc", "delays": [1, 4], "elapsed": [0, 0], "prediction_length": 2'
    given = '"reference": "a b c\\n", "source": "w x y z", "source_length": 4'
    assert lines[0] == f'{{"index": 0, {written}, {given}}}'
    assert json.loads(lines[1])["delays"] == []
    assert (tmp_path / "config.yaml").read_text() == "source_type: text\ntarget_type: text\n"
    assert read_log(tmp_path / LOG) == [instance(0, "a ü", [1, 4]), instance(1, "", [], source="", source_length=0)]


def test_speech_takes_the_time_of_its_delays(tmp_path: Path):
    spoken = instance(0, "a ü", [120.5, 400], source="a.wav", source_length=500.25, speech=True)
    write_log(tmp_path, [spoken])
    line = json.loads((tmp_path / LOG).read_text())
    assert line["delays"] == line["elapsed"] == [120.5, 400] and line["source_length"] == 500.25
    assert "speech" not in line
    assert (tmp_path / "config.yaml").read_text() == "source_type: speech\ntarget_type: text\n"
    assert score_latency([spoken])["al"].signature.startswith("n:1|empty:0|unit:word|source:ms|length:reference|")
    assert score_latency([spoken])["al"].score == score_latency(read_log(tmp_path / LOG))["al"].score


GOOD = {"index": 1, "prediction": "a b", "delays": [1, 2], "reference": "a\n", "source": "x y", "source_length": 2}


@pytest.mark.parametrize(
    ("line", "wrong"),
    [
        ("", "Invalid JSON"),
        ("{", "Invalid JSON"),
        ("[]", "input should be an object"),
        (GOOD | {"index": 0}, "index 0 is there twice"),
        ({name: value for name, value in GOOD.items() if name != "reference"}, "reference: field required"),
        (GOOD | {"prediction": 3}, "prediction: input should be a valid string"),
        (GOOD | {"delays": [1, None]}, "delays.1: input should be a valid integer"),
        (GOOD | {"delays": [2, 1]}, "its delays do not rise from 0"),
        (GOOD | {"delays": [-1, 1]}, "its delays do not rise from 0"),
        (GOOD | {"delays": [1, float("nan")]}, "its delays do not rise from 0"),
        (GOOD | {"delays": [1, float("inf")]}, "its delays do not rise from 0"),
        (GOOD | {"delays": [1]}, "its words are 2, and its delays are 1: it is damaged, or counts in another unit"),
        (GOOD | {"source_length": 0}, "its source is empty, but its prediction is not"),
        (GOOD | {"source_length": float("inf")}, "source_length: input should be a "),
    ],
)
def test_a_bad_line_is_named(line, wrong: str, tmp_path: Path):
    text = line if isinstance(line, str) else json.dumps(line)
    first = json.dumps(GOOD | {"index": 0})
    (tmp_path / LOG).write_text(f"{first}\n{text}\n")
    sentence = refusal_of(lambda: read_log(tmp_path / LOG))
    assert sentence.startswith(f"{tmp_path / LOG}, line 2 is no line of an instances.log (")
    assert wrong.lower() in sentence.lower() and sentence.endswith("): give a log as SimulEval writes it")
    assert "\n" not in sentence


def test_a_log_in_another_unit_and_an_empty_one_are_refused(tmp_path: Path):
    write_log(tmp_path, [instance(0, "ab", [1, 2])])
    require_refusal(
        lambda: read_log(tmp_path / LOG, "subword"),
        "it has no prediction_spm: it counts words or characters, not subwords",
    )
    require_refusal(lambda: read_log(tmp_path / LOG), "its words are 1, and its delays are 2: it is damaged")
    (tmp_path / LOG).write_text("")
    require_refusal(lambda: read_log(tmp_path / LOG), r"instances\.log is empty: give a log as SimulEval writes it")


def test_lengths_of_references_are_the_scorers():
    """A blank more is a word more to both; at the ends, and before the newline, to SimulEval alone."""
    both = score_latency([instance(0, "a b", [1, 3], "a  b \n")])
    assert both["al"].score == pytest.approx((1 + 3 - 4 / 4) / 2)
    assert both["yaal"].score == pytest.approx((1 + 3 - 4 / 3) / 2)
    characters = score_latency([instance(0, "ab c", [1, 3, 3], " ab c \n")], "char")
    assert characters["al"].score == pytest.approx((1 - 0 + 3 - 1 + 3 - 2) / 3)
    subwords = score_latency([instance(0, "ab", [1, 3], "a\n", prediction_spm=("▁a", "b"))], "subword", subwords=len)
    assert subwords["ap"].score == pytest.approx(4 / (4 * 2)) and "|unit:subword|" in subwords["ap"].signature
    # As characters an empty reference has the hypothesis' length; as words both give it one.
    empty = [instance(0, "ab", [1, 2], "\n")]
    assert score_latency(empty, "char")["ap"].score == 3 / 8
    assert score_latency([instance(0, "a", [1], "\n")])["ap"].score == 1 / 4
