"""The limit of a run's hypotheses is chosen from its training pairs and stays with it; what it cuts is counted."""

import json
from pathlib import Path

import pytest

import mt
from mt.checkpoint import load_config
from mt.cli.start import continued_config, resumed_config
from mt.data.corpus import Corpus
from mt.evaluation.report import Changes, report, table
from mt.search.config import BeamConfig, GreedyConfig, OnlineConfig, revised_search
from mt.training.start import begin, resume
from tests.data_prep.small import write_texts
from tests.tiny import finished

LINES = ["two cats see houses", "", "the green birds find streets"]


@pytest.fixture(scope="session")
def expanding(configure, corpora: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of one update on abbreviations and what they stand for, in up to 30 words."""
    folder = tmp_path_factory.mktemp("abbreviations")
    pairs = [(f"a{n}", " ".join(["all", "of", "its", "long", "words"] * (1 + n % 6))) for n in range(60)]
    write_texts(folder, train=pairs, dev=pairs[:6], test=pairs[:6])
    dataset = {"folder": str(folder), "cleaning": {"max_ratio": 100.0}}
    config = configure({"dataset": dataset, "training": {"max_updates": 1, "average_checkpoints": 1}})
    return finished(config, corpora, tmp_path_factory.mktemp("runs") / "expanding")


def test_the_run_keeps_a_limit_above_its_training_targets(expanding: Path, corpora: Path) -> None:
    search = load_config(expanding).search
    assert search.longest(2) >= 1.4 * 31
    assert json.loads((expanding / "results.json").read_text())["search"]["max_extra"] == search.max_extra
    limits = {"max_ratio": search.max_ratio, "max_extra": search.max_extra}
    assert mt.load(expanding).search_for(GreedyConfig()) == GreedyConfig(**limits)


def test_a_limit_that_was_set_stays(configure, corpus: Corpus, tmp_path: Path) -> None:
    for limits in ({"max_ratio": 0.2}, {"max_length": 60}, {"max_ratio": 2.0, "max_extra": 10}):
        run = begin(configure({"search": {"name": "greedy", **limits}}), corpus, tmp_path / "run")
        assert run.config.search == GreedyConfig(**limits)
        run.close()


def test_resuming_keeps_the_limit(run: Path, corpus: Corpus, configure) -> None:
    trained = load_config(run)
    assert trained.search.max_ratio is not None
    assert continued_config(configure(), trained, run).search == trained.search  # resume=auto
    assert resumed_config(trained, ["search.beam_size=7"]).search == trained.search.model_copy(update={"beam_size": 7})
    assert resumed_config(trained, ["search.max_length=9"]).search == BeamConfig(beam_size=3, max_length=9)
    chosen = resumed_config(trained, ["search.max_ratio=null", "search.max_extra=null"])
    assert chosen.search == BeamConfig(beam_size=3)
    again = resume(chosen, corpus, run)
    assert again.config.search == trained.search
    again.close()


def test_translate_tells_how_many_were_cut(call, trained: Path) -> None:
    text = "".join(f"{line}\n" for line in LINES)
    translator = mt.load(trained)
    for options, changes in ((["--search", "greedy"], {"name": "greedy"}), (["--n-best", 2], {"n_best": 2})):
        search = revised_search(translator.config.search, changes | {"max_length": 2})
        count = sum(best.cut for result in translator.n_best(LINES, search=search) for best in result)
        done = call("translate", trained, *options, "--max-length", 2, stdin=text)
        note = f"note: {count} hypotheses were cut at the longest that is allowed, 2 tokens; unless they repeat "
        assert count > 1 and done.err == f"{note}themselves, decode with a larger --max-length or --max-ratio\n"
        assert call("translate", trained, *options, stdin=text).err == ""
    by_ratio = call("translate", trained, "--max-ratio", 0.1, "--max-extra", 1, stdin=text)
    assert "allowed, 0.1 x source length + 1 tokens; unless" in by_ratio.err


def test_evaluations_count_what_was_cut(call, trained: Path, corpus: Corpus, corpora: Path, tmp_path: Path) -> None:
    translator = mt.load(trained)
    split = corpus.split("test")
    results = report(translator, split, "test", tmp_path, Changes(GreedyConfig(max_length=2)))
    assert results["cut"] == len(split)
    assert table(results).endswith("unless they repeat themselves, decode with a larger --max-length or --max-ratio")
    assert report(translator, split, "test", tmp_path)["cut"] == 0
    lines = [json.loads(line) for line in (trained / "metrics.jsonl").read_text().splitlines()]
    assert all(line["cut"] >= 0 for line in lines if line["kind"] == "dev")


def test_a_stream_knows_that_it_was_cut(call, trained_hard: Path) -> None:
    translator = mt.load(trained_hard)
    for length in (2, 50):
        search = OnlineConfig(max_length=length)
        offline = translator.translate(LINES[0], search)
        session = translator.stream(search)
        session.read(LINES[0])
        assert not session.cut
        session.finish()
        assert (session.cut, session.text) == (offline.cut, offline.text)
    done = call("stream", trained_hard, "--max-length", "2", stdin=f"{LINES[0]}\n")
    assert done.err.startswith("note: 1 hypothesis was cut at the longest that is allowed, 2 tokens; ")
