"""scripts/score.py compares like with like, and says where a metric cannot judge."""

import json
import unicodedata
from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str, str], str]:
    def write_file(name: str, content: str) -> str:
        (tmp_path / name).write_text(content, encoding="utf-8")
        return str(tmp_path / name)

    return write_file


def refusal(call, *arguments: str) -> str:
    outcome = call("score", *arguments)
    assert outcome.status == 2 and outcome.out == ""
    return outcome.err


def test_a_blank_line_of_further_references_is_none(write, call):
    hypotheses = write("hyp", "the cat sat on the mat\n\nit rains today I think\n")
    first = write("ref0", "the cat sat on a mat\nnobody wrote anything here\nit snows today I think\n")
    more = write("ref1", "\nnobody has written this\n \u00a0\u3000\n")
    third = write("ref2", "the cat sat on the mat\n\u200b\n\n")

    def scored(*files):
        return json.loads(
            call("score", "--metrics", "bleu,chrf,ter,wer,accuracy,rouge", "--json", hypotheses, *files).out
        )

    one = scored(first)
    two = scored(first, more)
    three = scored(more, first, third)
    assert two["bleu"]["score"] == one["bleu"]["score"] < 100 and two["bleu"]["signature"].startswith("nrefs:var|")
    assert two["accuracy"]["score"] == 0 and three["accuracy"]["score"] == pytest.approx(100 / 3)
    message = refusal(call, hypotheses, third)
    assert message == (
        f"error: {third}, line 2 is blank, and a hypothesis cannot be scored against nothing: remove that line from "
        "every file\n"
    )
    message = refusal(call, hypotheses, more, third)
    assert message.startswith("error: line 3 is blank in all references, and a hypothesis cannot be scored ")


def test_files_are_compared_in_one_form_and_without_case_where_that_is_asked(write, call):
    text = "Žluťoučký kůň úpěl ďábelské ódy\n"
    hypotheses = write("hyp", text)
    spaced = write("ref", unicodedata.normalize("NFD", text).replace(" ", "\u00a0"))
    upper = write("upper", text.upper())

    def scored(*arguments):
        result = json.loads(call("score", "--metrics", "bleu,wer,cer,accuracy", "--json", hypotheses, *arguments).out)
        return [entry["score"] for entry in result.values()], [entry["signature"] for entry in result.values()]

    values, signatures = scored(spaced)
    assert values == pytest.approx([100, 0, 0, 100]) and all("|unicode:nfc" in signature for signature in signatures)
    assert scored(upper)[0][:2] == pytest.approx([0, 100])
    note = "note: no hypothesis has a capital letter, and most references have: add --lowercase if the system writes "
    small = write("small", text.lower())
    assert note in call("score", small, hypotheses).err
    for arguments in ([small, small], [hypotheses, hypotheses], ["--lowercase", small, hypotheses]):
        assert call("score", *arguments).err == ""
    assert call("score", "--metrics", "rouge,ter", "--rouge-tokenizer", "intl", small, hypotheses).err == ""
    values, signatures = scored(upper, "--lowercase")
    assert values == pytest.approx([100, 0, 0, 100]) and all("|case:lc|" in signature for signature in signatures)


def test_a_metric_that_sees_little_says_so_whatever_its_score(write, call):
    hypotheses = write("hyp", "他们昨天卖了3本书\n")
    references = write("ref", "今天从早上开始下雨3度\n")
    summarize = ["--task", "summarization", hypotheses, references]
    out, err, _ = call("score", *summarize)
    assert out.startswith("rouge1    100.00  ") and err.startswith("note: ROUGE's tokenizer a-z0-9 sees 9% of the ")
    out, err, _ = call("score", *summarize, "--rouge-tokenizer", "zh")
    assert "|tok:zh|" in out and not out.startswith("rouge1    100") and err == ""
    errors = call("score", *summarize, "--lead", "3").err
    assert "note: --lead takes words between blanks, and most sources have none: " in errors
    message = refusal(call, *summarize, "--target-language", "chines")
    assert message.startswith("error: --target-language=chines is no language: did you mean chinese?")


def log(write, *lines: tuple[str, str]) -> str:
    """An instances.log of (prediction, reference)."""
    instances = [
        {
            "index": index,
            "prediction": prediction,
            "delays": [2] * len(prediction.split()),
            "reference": f"{reference}\n",
            "source": "a b",
            "source_length": 2,
        }
        for index, (prediction, reference) in enumerate(lines)
    ]
    return write("instances.log", "".join(f"{json.dumps(instance)}\n" for instance in instances))


def test_a_log_is_compared_as_files_are(write, call):
    text = "Žluťoučký kůň úpěl ďábelské ódy"
    path = log(write, (text, unicodedata.normalize("NFD", text.upper()).replace(" ", "\u3000")))
    scoring = ["--task", "simultaneous", "--metrics", "bleu,wer", "--json", "--log", path]
    result = json.loads(call("score", *scoring, "--lowercase").out)
    assert (result["bleu"]["score"], result["wer"]["score"]) == (pytest.approx(100), 0)
    assert "|case:lc|" in result["wer"]["signature"] and "|unicode:nfc|" in result["wer"]["signature"]
    assert json.loads(call("score", *scoring).out)["wer"]["score"] == 100


def test_a_log_without_words_or_without_a_reference(write, call):
    outcome = call("score", "--task", "simultaneous", "--log", log(write, ("今天从早上开始下雨", "今天从早上开始下雨")))
    assert (
        "note: latency counts words between blanks, and most references have none: choose the unit char" in outcome.err
    )
    path = log(write, ("a b", "a b"), ("c", " \u00a0"))
    assert refusal(call, "--task", "simultaneous", "--log", path) == (
        f"error: {path}, line 2 has a blank reference: remove that line\n"
    )
