import json
from pathlib import Path

import pytest

from mt.errors import UserError
from mt.metrics.latency import LOG, Instance, read_log, score_latency, write_log


def instance(index: int, prediction: str, delays: list, reference: str | None = "a b c\n", **changes) -> Instance:
    given = {"source": "w x y z", "source_length": 4} | changes
    return Instance(index=index, prediction=prediction, delays=tuple(delays), reference=reference, **given)


def test_it_is_written_as_simuleval_writes_it(tmp_path: Path):
    write_log(tmp_path, [instance(0, "a ü", [1, 4]), instance(1, "", [], source="", source_length=0)])
    lines = (tmp_path / LOG).read_text().splitlines()
    assert lines[0] == (
        '{"index": 0, "prediction": "a \\u00fc", "delays": [1, 4], "elapsed": [0, 0], "prediction_length": 2, '
        '"reference": "a b c\\n", "source": "w x y z", "source_length": 4}'
    )
    assert json.loads(lines[1])["delays"] == []
    assert (tmp_path / "config.yaml").read_text() == "source_type: text\ntarget_type: text\n"
    assert read_log(tmp_path / LOG) == [instance(0, "a ü", [1, 4]), instance(1, "", [], source="", source_length=0)]


def test_speech_takes_the_time_of_its_delays(tmp_path: Path):
    spoken = instance(0, "a ü", [120, 400], source="a.wav", source_length=500, speech=True)
    write_log(tmp_path, [spoken])
    line = json.loads((tmp_path / LOG).read_text())
    assert line["delays"] == line["elapsed"] == [120, 400] and line["source_length"] == 500 and "speech" not in line
    assert (tmp_path / "config.yaml").read_text() == "source_type: speech\ntarget_type: text\n"
    assert score_latency([spoken])["al"].signature.startswith("n:1|empty:0|unit:word|source:ms|length:reference|")
    assert score_latency([spoken])["al"].score == score_latency(read_log(tmp_path / LOG))["al"].score


def test_other_units_and_speech_are_read(tmp_path: Path):
    subwords = instance(0, "ab", [1, 2], prediction_spm=("▁a", "b"))
    write_log(tmp_path, [subwords])
    assert read_log(tmp_path / LOG, "subword") == [subwords]
    assert read_log(tmp_path / LOG, "char") == [subwords]
    spoken = {"delays": [120.5, 300], "source": ["a.wav", "samplerate: 16000"], "source_length": 3000.25}
    line = {"index": 7, "prediction": "a b", "reference": None, "elapsed": [130.2, 340.1]} | spoken
    (tmp_path / LOG).write_text(json.dumps(line) + "\n")
    [result] = read_log(tmp_path / LOG)
    assert (result.delays, result.source_length, result.reference) == ((120.5, 300), 3000.25, None)
    assert score_latency([result])["al"].score == pytest.approx((120.5 + 300 - 3000.25 / 2) / 2)


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
        (GOOD | {"delays": [1]}, "it has 1 delays for 2 words: it is damaged, or counts in another unit"),
        (GOOD | {"source_length": 0}, "its source is empty, but its prediction is not"),
        (GOOD | {"source_length": float("inf")}, "source_length: input should be a "),
    ],
)
def test_a_bad_line_is_named(line, wrong: str, tmp_path: Path):
    text = line if isinstance(line, str) else json.dumps(line)
    first = json.dumps(GOOD | {"index": 0})
    (tmp_path / LOG).write_text(f"{first}\n{text}\n")
    with pytest.raises(UserError) as refusal:
        read_log(tmp_path / LOG)
    sentence = str(refusal.value)
    assert sentence.startswith(f"{tmp_path / LOG}, line 2 is no line of an instances.log (")
    assert wrong.lower() in sentence.lower() and sentence.endswith("): give a log as SimulEval writes it")
    assert "\n" not in sentence


def test_a_log_in_another_unit_and_an_empty_one_are_refused(tmp_path: Path):
    write_log(tmp_path, [instance(0, "ab", [1, 2])])
    with pytest.raises(UserError, match="it has no prediction_spm: it counts words or characters, not subwords"):
        read_log(tmp_path / LOG, "subword")
    with pytest.raises(UserError, match="it has 2 delays for 1 words: it is damaged, or counts in another unit"):
        read_log(tmp_path / LOG)
    (tmp_path / LOG).write_text("")
    with pytest.raises(UserError, match=r"instances\.log is empty: give a log as SimulEval writes it"):
        read_log(tmp_path / LOG)


def test_lengths_of_references_are_the_scorers():
    """A blank more is a word more to both; at the ends, and before the newline, to SimulEval alone."""
    both = score_latency([instance(0, "a b", [1, 3], "a  b \n")])
    assert both["al"].score == pytest.approx((1 + 3 - 4 / 4) / 2)
    assert both["yaal"].score == pytest.approx((1 + 3 - 4 / 3) / 2)
    characters = score_latency([instance(0, "ab c", [1, 3, 3], " ab c \n")], "char")
    assert characters["al"].score == pytest.approx((1 - 0 + 3 - 1 + 3 - 2) / 3)
    subwords = score_latency([instance(0, "ab", [1, 3], "a\n", prediction_spm=("▁a", "b"))], "subword", subwords=len)
    assert subwords["ap"].score == pytest.approx(4 / (4 * 2)) and "|unit:subword|" in subwords["ap"].signature
    empty = score_latency([instance(0, "a", [1], "\n")])
    assert empty["ap"].score == 1 / 4
