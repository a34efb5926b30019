"""`mt score`: files, logs, terms, links and pairs as a user scores them; tests/refusals has what it refuses."""

import gzip
import json
import os
import re
import subprocess
import sys
import unicodedata
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import mt
from mt.metrics import METRICS, score_names

ROOT = Path(__file__).parents[2]
Scored = Callable[..., dict[str, Any]]


@pytest.fixture
def scored(call) -> Scored:
    """The scores by their names."""

    def scores(*arguments: object) -> dict[str, Any]:
        done = call("score", "--json", *arguments)
        assert done.status == 0, done.err
        return {name: entry["score"] for name, entry in json.loads(done.out).items()}

    return scores


def test_translation(write, call, scored: Scored):
    hypotheses = write("hyp", "Es regnet heute sehr stark.\nGrün ist die Heide.\n")
    assert call("score", hypotheses, hypotheses).out.splitlines() == [
        f"bleu      100.00  nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:{version('sacrebleu')}",
        f"chrf      100.00  nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no|version:{version('sacrebleu')}",
    ]
    files = [write("hyp", "a b c d\nx\n"), write("ref", "a b c e\nx\n")]
    assert [*scored("--metrics", "accuracy,wer,rouge,cer", *files).items()] == [
        ("accuracy", 50), ("wer", 20), ("rouge1", 87.5), ("rouge2", pytest.approx(100 / 3)), ("rougeL", 87.5),
        ("rougeLsum", 87.5), ("cer", 12.5),
    ]  # fmt: skip
    assert [*scored("--metrics", ",".join(METRICS), *files)] == score_names([*METRICS])


def test_summarization(write, call, scored: Scored):
    task = ["--task", "summarization"]
    files = [write("hyp", "a b\nc d\n"), write("ref0", "a b\ne f\n"), write("ref1", "x y\nd c\n")]
    assert scored(*task, *files) == pytest.approx({"rouge1": 100, "rouge2": 50, "rougeL": 75, "rougeLsum": 75})
    assert "  nrefs:2|measure:f1|multi:max|" in call("score", *task, *files).out
    # The beginning of each source, cut by blanks or by ROUGE's tokenizer, whatever the metric.
    files = [write("src", "a b c d e f\ng\n"), write("ref", "a b x\ng\n")]
    assert scored(*task, "--lead", "3", *files)["rouge1"] == pytest.approx((200 / 3 + 100) / 2)
    files = [write("src", "今天从早上开始下雨\n"), write("ref", "今天从\n")]
    assert scored(*task, "--lead", "3", "--rouge-tokenizer", "zh", "--metrics", "cer", *files) == {"cer": 0}


def test_the_tokenizer_follows_the_target_language_or_the_ending_of_the_references(write, call):
    text = "今天从早上开始下雨。\n"
    other = "今天从晚上开始下雨。\n"
    hypotheses = ["--metrics", "bleu", write("hyp.txt", text)]
    plain = write("ref", other)
    ending = write("test.zh_CN", other)
    packed = write("test.zh.gz", gzip.compress(other.encode()))
    zstd = write("test.jp.zst", pa.compress(other.encode(), codec="zstd", asbytes=True))
    out, err, _ = call("score", *hypotheses, plain)
    assert "|tok:13a|" in out
    assert err.startswith("note: BLEU's tokenizer 13a looks for words between blanks, and most references have none:")
    for arguments in ([ending], [packed], [plain, "--target-language", "zho"], [plain, "--target-language", "cn"]):
        out, err, _ = call("score", *hypotheses, *arguments)
        assert "|tok:zh|" in out and err == ""
    assert "|tok:13a|" not in call("score", *hypotheses, zstd).out
    assert "|tok:char|" in call("score", *hypotheses, ending, "--bleu-tokenizer", "char").out


def test_what_a_tokenizer_cut_on_one_side_alone_is_told(write, call):
    plain = "Well, it's a well-known one.\nThe other, Mr. X, is not.\n" * 5
    note = (
        "note: most {} are cut by a tokenizer (blanks before full stops and commas, @-@, &apos;, @@ or ▁), and the {} "
        "are not, so that BLEU is too low: give {} as they are written (docs/results.md has commands)\n"
    )
    french = plain.replace(".", " !").replace(",", " ;")
    for cut in (
        "Well , it &apos;s a well @-@ known one .\nThe other , Mr. X , is not .\n" * 5,
        "We@@ ll, it's a we@@ ll-@@ known one.\nThe o@@ ther, Mr. X, is no@@ t@@ .\n" * 5,
        "▁Well, ▁it's ▁a ▁well - known ▁one.\n▁The ▁other, ▁Mr. ▁X, ▁is ▁not.\n" * 5,
    ):
        files = write("cut", cut), write("plain", plain)
        assert call("score", *files).err == note.format("hypotheses", "references", "hypotheses")
        assert call("score", *files[::-1]).err == note.format("references", "hypotheses", "references")
        short = write("short", cut[: cut.find("\n") + 1]), write("one", plain[: plain.find("\n") + 1])
        quiet = ([*files, "--metrics", "rouge"], [files[0], files[0]], short, [write("french", french), files[1]])
        assert [call("score", *arguments).err for arguments in quiet] == [""] * 4


def test_pipes_of_the_shell_and_closed_streams(write):
    """As a process, since the shell makes the streams."""
    good = write("hyp", "a b c d\n")
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "score": f"{sys.executable} {ROOT}/scripts/score.py"}
    for command, status, out, err in (
        (f"$score --metrics wer <(cat {good}) /dev/stdin < {good}", 0, "wer         0.00  nrefs:1|", ""),
        (f"$score /dev/stdin {good} <&-", 2, "", "error: "),
    ):
        done = subprocess.run(["bash", "-c", command], env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == status and done.stdout.startswith(out) and done.stderr.startswith(err)
        assert done.stderr.count("\n") == bool(err)


def test_pairs_where_torch_is_absent(write) -> None:
    """What can be done there, decoding of an export, is no remedy."""
    two = write("two", "a b\n")
    script = "import sys; sys.modules['torch'] = None; from mt.__main__ import call; call('score', sys.argv[1:])"
    for task in ("likelihood", "markup"):
        words = ["--task", task, "--run", write("run", ""), "--source", two, "--target", two]
        done = subprocess.run(
            [sys.executable, "-c", script, *words], cwd=ROOT, capture_output=True, text=True, check=False
        )
        sentence = "error: mt score needs torch, which is not installed: pip install 'attentive-mt[train]'\n"
        assert (done.returncode, done.stderr) == (2, sentence)


# Terms of a glossary, and word links.


def test_terms(write, call, scored: Scored):
    source = write("source", "Areas: the area of responsibility .\nno term\n")
    references = write("references", "Bereiche: der Zuständigkeitsbereich.\nnichts\n")
    files = [write("hypotheses", "Bereiche : die Zuständigkeit.\nnichts\n"), references]
    terms = "area\tBereich\nareas\tBereiche\narea of responsibility\tZuständigkeit|Zuständigkeitsbereich\n"
    task = ["--task", "terms", "--source", source, "--glossary", write("glossary", terms)]
    scores = scored(*task, *files)
    assert scores.keys() == {"term_exact", "term_inside", "term_context2", "term_context3"}
    assert scores["term_exact"] == scores["term_inside"] == 100
    assert "term_exact    100.00  terms:2|" in call("score", *task, *files).out
    # Beside the model's own word, to which its links join the term, a term is doubled.
    own = ["--free", write("free", "Zonen: der Raum.\nnichts\n"), "--links", write("links", "0-0 3-2 4-3\n\n")]
    files[0] = write("doubled", "Bereiche Zonen: die Zuständigkeit.\nnichts\n")
    assert scored(*task, *own, *files)["term_doubled"] == 50


def test_links(write, call, scored: Scored):
    links = write("links", "0-0 1-1\n0-0 2-2\n")
    task = ["--task", "alignment"]
    golds = {
        "gold": ("0-0 1p1 2-2\n0-0 1-1\n", []),
        "one": ("1-1 2p2 3-3\n1-1 2-2\n", ["--one-based"]),
        "naacl": ("1 1 1 S\n1 2 2 P\n1 3 3 S\n2 1 1 S\n2 2 2 S\n", []),
    }
    # Of 4 links 2 are sure, and one more possible; 4 are sure in all.
    for name, (text, flags) in golds.items():
        scores = scored(*task, *flags, links, write(name, text))
        assert scores == {"aer": 37.5, "precision": 75, "recall": 50}
    gold = write("gold", golds["gold"][0])
    assert "recall     50.00  n:2|sure:4|possible:5|average:corpus" in call("score", *task, links, gold).out
    # Links of either: 0-0 1-1, and 0-0 1-2 2-2, of which the last is none of the gold.
    gold = write("gold", "0-0 1-1\n0-0 1-2\n")
    for text, flags in (("0-0 1-1\n0-0 1-2\n", []), ("0-0 1-1\n0-0 2-1\n", ["--second-reversed"])):
        either = [*task, *flags, "--symmetrise", "union", links, write("second", text), gold]
        assert scored(*either)["precision"] == 80


def test_gold_links_that_seem_to_count_from_one_are_told(write, call):
    links = write("links", "0-0 1-1\n0-0 2-2\n")
    task = ["--task", "alignment", links]
    note = "note: no link in .*gold joins word 0, the first one: give --one-based if its words count from 1\n"
    one = "1-1 2p2 3-3\n1-1 2-2\n"
    assert re.fullmatch(note, call("score", *task, write("gold", one)).err)
    silent = [("1-1 0p1\n1-1\n", []), ("1 2 2 S\n2 2 2 S\n", [])]
    silent += [(one, ["--one-based"]), ("2-2 2p3\n2-2\n", ["--one-based"])]
    for text, flags in silent:
        assert call("score", *task, *flags, write("gold", text)).err == ""


# Logs of simultaneous translation.

LINES: list[dict[str, Any]] = [
    {"prediction": "aa b c d", "delays": [3, 4, 4, 4], "reference": "aa b c d\n", "source_length": 4},
    {"prediction": "a b c d e f", "delays": [3, 4, 5, 6, 6, 6], "reference": "a b c d e\n", "source_length": 6},
    {"prediction": "a b", "delays": [2, 2], "reference": "a b c\n", "source_length": 2},
    {"prediction": "", "delays": [], "reference": "a\n", "source_length": 3},
]


@pytest.fixture
def log(write) -> Callable[..., list[str]]:
    """The arguments that score a log of these lines."""

    def arguments(*lines: dict[str, Any]) -> list[str]:
        whole = [{"index": i, "elapsed": [], "source": ""} | line for i, line in enumerate(lines)]
        text = "".join(f"{json.dumps(line)}\n" for line in whole)
        return ["--task", "simultaneous", "--log", write("instances.log", text)]

    return arguments


def test_a_log(log, call, scored: Scored):
    scores = scored(*log(*LINES))
    assert [*scores] == ["bleu", "chrf", "ap", "al", "laal", "dal", "yaal", "erasure", "swf", "efsw"]
    actual = [scores[name] for name in ("ap", "al", "laal", "dal", "yaal", "swf", "efsw")]
    expected = [(0.9375 + 1 + 2 / 3) / 3, (3 + 2.7 + 2) / 3, 8 / 3, 8 / 3, 3, 100 / 3, 40]
    assert actual == pytest.approx(expected, abs=1e-9)
    assert "|length:hypothesis|" in call("score", *log(*LINES), "--no-use-ref-len").out.splitlines()[3]


def test_a_log_without_references_and_a_degenerate_one(log, call, scored: Scored):
    lines = [{"prediction": "a b", "delays": [d, 20], "reference": None, "source_length": 20} for d in (1, 20, 20, 20)]
    assert [*scored(*log(*lines))] == ["ap", "al", "laal", "dal", "yaal", "erasure", "swf", "efsw"]
    note = "note: SWF and EFSW are more than 20 apart: likely a degenerate policy, by OmniSTEval\n"
    assert call("score", *log(*lines)).err == note


def test_a_log_is_compared_as_files_are(log, call, scored: Scored):
    text = "Žluťoučký kůň úpěl ďábelské ódy"
    reference = unicodedata.normalize("NFD", text.upper()).replace(" ", "\u3000")
    line = {"prediction": text, "delays": [2] * 5, "source_length": 2}
    path = log(line | {"reference": f"{reference}\n"})
    scores = scored(*path, "--lowercase", "--metrics", "bleu,wer")
    assert (scores["bleu"], scores["wer"]) == (pytest.approx(100), 0)
    assert scored(*path, "--metrics", "wer")["wer"] == 100
    wordless = "今天从早上开始下雨"
    done = call("score", *log(line | {"prediction": wordless, "delays": [2], "reference": f"{wordless}\n"}))
    note = "note: latency counts words between blanks, and most references have none: choose the unit char"
    assert note in done.err


# Pairs, by the probability that a run gives them.


def test_the_likelihood_of_what_a_beam_made_is_its_score(write, call, trained: Path) -> None:
    sources = ["the big cats see two green houses", "two dogs find bridges"]
    result = mt.load(trained, device="cpu").translate(sources)
    source, target = ("".join(f"{line}\n" for line in lines) for lines in (sources, [one.text for one in result]))
    pairs = ["--source", write("source", source), "--target", write("target", target)]
    done = call("score", "--task", "likelihood", "--device", "cpu", "--run", trained, *pairs)
    rows = [line.split(" ||| ") for line in done.out.splitlines()]
    for (score, log_prob, pieces, each), one in zip(rows, result, strict=True):
        assert float(score) == pytest.approx(one.score, abs=1e-5) and tuple(pieces.split()) == one.tokens
        assert float(log_prob) == pytest.approx(sum(map(float, each.split())), abs=1e-5)
        assert float(score) == pytest.approx(float(log_prob) / ((5 + len(one.tokens)) / 6) ** 0.6, abs=1e-5)
    assert done.err.startswith(f"2 pairs, {sum(len(one.tokens) for one in result)} pieces: -")
    options = ["--length-penalty", 0, "--json", "--run", trained, trained]
    plain = call("score", "--task", "likelihood", *options, *pairs)
    for line, (_, log_prob, _, each) in zip(map(json.loads, plain.out.splitlines()), rows, strict=True):
        assert line["score"] == line["log_prob"] == pytest.approx(float(log_prob), abs=1e-5)
        assert line["token_log_probs"] == pytest.approx([float(one) for one in each.split()], abs=1e-5)
