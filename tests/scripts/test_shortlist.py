"""Learning a shortlist, and decoding with it."""

import json
import re
import shutil
from pathlib import Path

import pytest
import torch

import mt
from mt.search.config import OnlineConfig
from mt.search.shortlist import SHORTLIST

TEXT = "the big cats see houses\n\ntwo dogs find bridges\n"


@pytest.fixture
def learnt(call, run: Path, corpora: Path) -> Path:
    assert call("shortlist", run, "--corpora", corpora, "--first", 2, "--best", 1).status == 0
    return run


def test_it_is_learnt_and_says_how_far_it_reaches(call, run: Path, corpora: Path) -> None:
    before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    done = call("shortlist", run, "--corpora", corpora, "--best", 30)
    assert (done.status, done.err) == (0, "")
    assert re.fullmatch(
        rf"links    IBM Model 1, 5 iterations\nrecall   100\.00 % of dev's target tokens\n"
        rf"pieces   23 of 32 for a sentence of dev, in the mean\nseconds  \d+\.\d\n\n{run}/{SHORTLIST}\n",
        done.out,
    )
    assert {path for path in run.rglob("*") if path.is_file()} - set(before) == {run / SHORTLIST}
    assert all(path.read_bytes() == content for path, content in before.items())
    short = call("shortlist", run, "--corpora", corpora, "--first", 1, "--best", 1)
    recall, pieces = (float(re.search(rf"{name} +([\d.]+)", short.out)[1]) for name in ("recall", "pieces"))
    assert 90 < recall <= 100 and 9 < pieces < 23


def test_a_list_is_what_translations_are_made_of(call, learnt: Path) -> None:
    plain, short = (call("translate", learnt, *options, stdin=TEXT) for options in ([], ["--shortlist"]))
    assert plain.out == short.out == "die großen Katzen sehen Häuser\n\nzwei Hunde finden Brücken\n"
    with torch.no_grad():
        whole, listed = (mt.load(learnt, device="cpu", shortlist=shortlist) for shortlist in (False, True))
        one, other = (translator.translate("two dogs find bridges") for translator in (whole, listed))
    assert one.ids == other.ids and other.score > one.score
    assert listed.shortlist is not None and whole.shortlist is None
    twice = mt.load([learnt, learnt], device="cpu", shortlist=True).translate("two dogs find bridges")
    assert twice.ids == other.ids and twice.score == pytest.approx(other.score, abs=1e-5)


def test_a_split_is_scored_with_it(call, learnt: Path, corpora: Path) -> None:
    done = call("evaluate", learnt, "--corpora", corpora, "--shortlist", "--precision", "int8")
    assert done.status == 0 and done.out.endswith("/evaluations/test-best-beam-int8-shortlist\n")
    results = json.loads((learnt / "evaluations/test-best-beam-int8-shortlist/results.json").read_text())
    assert results["shortlist"] is True and results["bleu"]["score"] > 50
    # Losses are of the whole model.
    assert results["loss"] == pytest.approx(json.loads((learnt / "results.json").read_text())["loss"])
    call("evaluate", learnt, "--corpora", corpora)
    assert "shortlist" not in json.loads((learnt / "evaluations/test-best-beam/results.json").read_text())


def test_an_exported_folder_has_one_as_a_run_has(call, learnt: Path, corpora: Path, tmp_path: Path) -> None:
    assert call("export", learnt, tmp_path / "small", "--dtype", "int8").status == 0
    assert "is missing" in call("translate", tmp_path / "small", "--shortlist", stdin=TEXT).err
    assert call("shortlist", tmp_path / "small", "--corpora", corpora).status == 0
    assert call("translate", tmp_path / "small", "--shortlist", stdin=TEXT).status == 0


def test_what_cannot_be_is_one_sentence(call, learnt: Path, trained_hard: Path, tmp_path: Path) -> None:
    hard = Path(shutil.copytree(trained_hard, tmp_path / "hard", symlinks=True))
    missing = call("translate", hard, "--shortlist", stdin=TEXT)
    assert (
        missing.err
        == f"error: {hard}/{SHORTLIST} is missing: learn it with scripts/shortlist.py and the folder of the run\n"
    )
    shutil.copy(learnt / SHORTLIST, hard / SHORTLIST)
    online = call("translate", hard, "--shortlist", "--search", "online", stdin=TEXT)
    assert online.err == (
        "error: a shortlist is made of the whole source, and this search writes while it reads: leave the shortlist "
        "out, or choose --search greedy or --search beam\n"
    )
    assert mt.load(hard, device="cpu").translate("two dogs", OnlineConfig()).delays is not None
    graphs = call("translate", learnt, "--shortlist", "--engine", "onnx", stdin=TEXT)
    assert graphs.err.startswith("error: a shortlist is not for --engine onnx, whose graphs")
    (hard / SHORTLIST).write_bytes((learnt / SHORTLIST).read_bytes()[:-3])
    damaged = call("translate", hard, "--shortlist", stdin=TEXT)
    assert damaged.err.startswith(f"error: {hard}/{SHORTLIST} is no shortlist (") and damaged.err.count("\n") == 1
    for refused in (missing, online, graphs, damaged):
        assert refused.status == 2 and not refused.out


def test_sources_that_are_no_texts_have_none(call, tmp_path: Path, run: Path, corpora: Path) -> None:
    assert call("shortlist", tmp_path, "--corpora", corpora).err.startswith(f"error: {tmp_path} is not a run folder")
    config = json.loads((run / "checkpoints/best/config.json").read_text())
    config["dataset"]["field"] = {"name": "audio"}
    config["frontend"] = {"name": "logmel"}
    (run / "checkpoints/best/config.json").write_text(json.dumps(config))
    refused = call("shortlist", run, "--corpora", corpora)
    assert refused.err == f"error: {run} reads no text, and a shortlist is of source pieces: decode it without one\n"
