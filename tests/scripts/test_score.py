import gzip
import json
import os
import subprocess
import sys
from functools import partial
from importlib.metadata import version
from pathlib import Path

import pyarrow as pa
import pytest

from mt.__main__ import call as call_verb
from mt.metrics import METRICS, score_names

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "scripts" / "score.py"
main = partial(call_verb, "score")


@pytest.fixture
def write(tmp_path):
    def write_file(name, content):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return str(path)

    return write_file


def test_translation(write, capsys):
    hypotheses = write("hyp", "Es regnet heute sehr stark.\nGrün ist die Heide.\n")
    main(["--task", "translation", hypotheses, hypotheses])
    lines = capsys.readouterr().out.splitlines()
    assert lines == [
        f"bleu      100.00  nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:{version('sacrebleu')}",
        f"chrf      100.00  nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no|version:{version('sacrebleu')}",
    ]


def test_summarization_with_two_references_as_json(write, capsys):
    files = [write("hyp", "a b\nc d\n"), write("ref0", "a b\ne f\n"), write("ref1", "x y\nd c\n")]
    main(["--task", "summarization", "--json", *files])
    scores = json.loads(capsys.readouterr().out)
    assert {name: entry["score"] for name, entry in scores.items()} == pytest.approx(
        {"rouge1": 100, "rouge2": 50, "rougeL": 75, "rougeLsum": 75}
    )
    assert scores["rouge1"]["signature"].startswith("nrefs:2|measure:f1|multi:max|")


def test_protocols_of_rouge(write, capsys):
    long = "a" * 74 + " b"
    files = [
        write("hyp", f"{long}\n<unk> 5 walked\n"),
        write("ref0", f"{long}\nunk # walks\n"),
        write("ref1", "b\nc\n"),
    ]

    def scored(*options):
        main(["--task", "summarization", "--json", *options, *files])
        result = json.loads(capsys.readouterr().out)["rouge1"]
        return result["score"], result["signature"]

    # The second: 3 words in the hypothesis, of which "5" is none of the reference's 2.
    assert scored()[0] == pytest.approx((100 + 100 * 2 * 2 / 5) / 2)
    assert scored("--rouge-protocol", "gigaword")[0] == pytest.approx(100)
    score, signature = scored("--rouge-protocol", "gigaword", "--drop-unk", "--no-stem")
    assert score == pytest.approx(50) and "|stem:no|" in signature and "|digits:#|unk:removed|" in signature
    score, signature = scored("--rouge-protocol", "duc")
    assert score == pytest.approx((50 + 100) / 2) and "|measure:recall|" in signature and "|bytes:75|" in signature
    score, signature = scored("--rouge-protocol", "duc", "--multi", "mean")
    assert score == pytest.approx((50 / 2 + 100 / 2) / 2) and "|multi:mean|" in signature


def test_the_lead_is_cut_by_the_tokenizer_of_rouge_whatever_the_metric(write, capsys):
    files = [write("src", "今天从早上开始下雨\n"), write("ref", "今天从\n")]
    arguments = ["--lead", "3", "--rouge-tokenizer", "zh", "--metrics", "cer"]
    main(["--task", "summarization", *arguments, "--json", *files])
    assert json.loads(capsys.readouterr().out)["cer"]["score"] == 0


def test_lead(write, capsys):
    files = [write("src", "a b c d e f\ng\n"), write("ref", "a b x\ng\n")]
    main(["--task", "summarization", "--lead", "3", "--json", *files])
    assert json.loads(capsys.readouterr().out)["rouge1"]["score"] == pytest.approx((200 / 3 + 100) / 2)


def test_tokenizer(write, capsys):
    files = [write("hyp", "今日は朝から雨が降る。\n"), write("ref", "今日は夜から雨が降る。\n")]
    main(["--task", "translation", "--bleu-tokenizer", "char", "--json", *files])
    assert json.loads(capsys.readouterr().out)["bleu"]["score"] > 50


def test_the_tokenizer_follows_the_target_language_or_the_ending_of_the_references(write, capsys):
    text = "今天从早上开始下雨。\n"
    other = "今天从晚上开始下雨。\n"
    hypotheses = write("hyp.txt", text)
    plain = write("ref", other)
    ending = write("test.zh_CN", other)
    packed = write("test.zh.gz", gzip.compress(other.encode()))
    zstd = write("test.jp.zst", pa.compress(other.encode(), codec="zstd", asbytes=True))

    def scored(*arguments):
        main(["--metrics", "bleu", hypotheses, *arguments])
        return capsys.readouterr()

    out, err = scored(plain)
    assert "|tok:13a|" in out
    assert err.startswith("note: BLEU's tokenizer 13a looks for words between blanks, and most references have none:")
    for arguments in ([ending], [packed], [plain, "--target-language", "zho"], [plain, "--target-language", "cn"]):
        out, err = scored(*arguments)
        assert "|tok:zh|" in out and err == ""
    assert "|tok:13a|" not in scored(zstd).out
    assert "|tok:char|" in scored(ending, "--bleu-tokenizer", "char").out


def test_metrics_are_chosen(write, capsys):
    files = [write("hyp", "a b c d\nx\n"), write("ref", "a b c e\nx\n")]
    main(["--metrics", "accuracy,wer,rouge,cer", *files])
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert [line[0] for line in lines] == ["accuracy", "wer", "rouge1", "rouge2", "rougeL", "rougeLsum", "cer"]
    assert [float(line[1]) for line in lines] == [50, 20, 87.5, 33.33, 87.5, 87.5, 12.5]
    main(["--metrics", ",".join(METRICS), "--json", *files])
    assert list(json.loads(capsys.readouterr().out)) == score_names([*METRICS])


def shell(command):
    """Runs a line of bash, in which $score stands for the script."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "score": f"{sys.executable} {SCRIPT}"}
    return subprocess.run(["bash", "-c", command], env=environment, capture_output=True, text=True, check=False)


def test_pipes_of_the_shell_and_standard_input(write):
    good = write("hyp", "a b c d\n")
    for command in (f"$score --metrics wer <(cat {good}) {good}", f"$score --metrics wer /dev/stdin {good} < {good}"):
        done = shell(command)
        assert (done.returncode, done.stderr) == (0, "") and done.stdout.startswith("wer         0.00  nrefs:1|")


@pytest.mark.parametrize("command", ["$score /dev/stdin {good} <&-", "$score {good} {good} > /dev/full"])
def test_closed_and_full_streams_are_one_sentence(command, write):
    done = shell(command.format(good=write("hyp", "a b c d\n")))
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr.startswith("error: ") and done.stderr.count("\n") == 1


# `scripts/score.py --task terms`: the terms of a glossary that are met.


TEXTS = {
    "source": "Areas: the area of responsibility .\nno term\n",
    "hypotheses": "Bereiche : die Zuständigkeit.\nnichts\n",
    "references": "Bereiche: der Zuständigkeitsbereich.\nnichts\n",
    "glossary": "area\tBereich\nareas\tBereiche\narea of responsibility\tZuständigkeit|Zuständigkeitsbereich\n",
}


def test_terms_of_a_glossary_are_counted(call, tmp_path: Path) -> None:
    for name, text in TEXTS.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    files = [tmp_path / "hypotheses", tmp_path / "references"]
    options = ["--task", "terms", "--source", tmp_path / "source", "--glossary", tmp_path / "glossary"]
    done = call("score", *options, "--json", *files)
    scores = {name: score["score"] for name, score in json.loads(done.out).items()}
    assert scores.keys() == {"term_exact", "term_inside", "term_window2", "term_window3"}
    assert scores["term_exact"] == scores["term_inside"] == 100
    assert "term_exact   100.00  terms:2|" in call("score", *options, *files).out
    for arguments, sentence in (
        ([*options, files[0]], "--task terms takes a glossary and three texts: write --glossary FILE"),
        ([*options, "--lowercase", *files], "--lowercase is not for --task terms"),
        ([*options, "--log", "x", *files], "--log is an option of --task simultaneous"),
        ([*options, "--run", "x", *files], "--run is an option of --task likelihood"),
        (["--glossary", tmp_path / "glossary", *files], "--glossary is an option of --task terms"),
        (["--shift", *files], "--shift is an option of --task markup"),
    ):
        done = call("score", *arguments)
        assert done.status and sentence in done.err
    (tmp_path / "glossary").write_text("area\n")
    assert "glossary, line 1 has 0 TAB characters" in call("score", *options, *files).err
