"""Exported graphs decode as the run does, in an environment without torch, too."""

import json
import os
import re
import shutil
import sys
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mt
from mt.config import Config
from mt.data.tokenizer import TokenizerConfig, Tokenizers
from mt.decoding.onnx import load_graphs, sha256
from mt.decoding.torch_network import torch_translator
from mt.errors import UserError
from mt.export.graphs import quantize, require_exportable, write_graphs
from mt.models.attention import ATTENTIONS
from mt.models.seq2seq import Seq2Seq
from mt.search.config import BeamConfig, GreedyConfig, OnlineConfig, SampleConfig
from mt.search.policies import AgreeConfig, AlignAttConfig, RedraftOptions, RetranslateConfig
from mt.storage import write_json
from tests.decoding.decoded import random_model
from tests.marks import exhaustive
from tests.refusals.sentences import refusal_of, require_refusal

ROOT = Path(__file__).parents[2]
LIBRARIES = ("onnx", "onnxscript", "onnxruntime")
pytestmark = pytest.mark.skipif(not all(map(find_spec, LIBRARIES)), reason="the extra onnx is not installed")

SEARCHES = [GreedyConfig(), BeamConfig(beam_size=4, n_best=3), BeamConfig(min_length=4, no_repeat_ngram_size=2)]
SEARCHES += [GreedyConfig(max_length=2), BeamConfig(max_length=3, coverage_penalty=0.3, summary_penalty=0.7)]
SEARCHES += [SampleConfig(samples=5, n_best=2, utility="chrf"), BeamConfig(n_best=3, utility="bleu")]
ODD = ["the zzz-birds see 4%x", "", "two"]


@pytest.fixture(scope="module")
def lines(texts: Path) -> list[str]:
    return [*(texts / "test.en").read_text().splitlines(), *ODD]


def require_same(one, other, lines, searches=SEARCHES) -> None:
    for search in searches:
        for wanted, result in zip(one.n_best(lines, search=search), other.n_best(lines, search=search), strict=True):
            assert [t.ids for t in wanted] == [t.ids for t in result]
            for best, own in zip(wanted, result, strict=True):
                assert own.score == pytest.approx(best.score, abs=1e-4)
                if not one.network.parts:  # else the run has aligned the whole translation anew
                    np.testing.assert_allclose(own.alignment, best.alignment, atol=1e-5)
                assert (own.text, own.tokens, own.source_tokens) == (best.text, best.tokens, best.source_tokens)
                assert own.cut == best.cut == (best.tokens[-1:] not in ((), ("</s>",)))
                assert (own.stops is None) == (best.stops is None)
                assert own.stops is None or np.array_equal(own.stops, best.stops)


def test_it_translates_as_the_run(trained: Path, graphs: Path, lines: list[str]) -> None:
    require_same(mt.load(trained, device="cpu"), mt.load(graphs, engine="onnx"), lines)


def test_what_is_asked_of_translations_is_that_of_the_run(trained: Path, graphs: Path, lines: list[str]) -> None:
    asked: dict[str, Any] = {
        "constraints": [["Häuser", "zwei"] if line and i % 2 else None for i, line in enumerate(lines)],
        "avoid": [["Katzen", "die"]] * len(lines),
        "prefix": ["gro" if line and i % 3 == 0 else None for i, line in enumerate(lines)],
    }
    run, exported = mt.load(trained, device="cpu"), mt.load(graphs, engine="onnx")
    beam = BeamConfig(beam_size=4)
    pairs = zip(*(translator.n_best(lines, 2, beam, **asked) for translator in (run, exported)), strict=True)
    for of_run, of_graphs in pairs:
        assert [one.text for one in of_run] == [one.text for one in of_graphs]
    for search in (GreedyConfig(), SampleConfig(), beam):
        pair = [one.translate(lines, search, glossary={"cats": "Hunde Brücken"}) for one in (run, exported)]
        assert [one.text for one in pair[0]] == [one.text for one in pair[1]]
        assert all("Hunde Brücken" in one.text for line, one in zip(lines, pair[1], strict=True) if "cats" in line)


@pytest.mark.parametrize("search", [AlignAttConfig(f=1, beam_size=2), AgreeConfig(), RetranslateConfig(mask_k=1)])
def test_it_streams_as_the_run(trained: Path, graphs: Path, lines: list[str], search: RedraftOptions) -> None:
    translators = mt.load(trained, device="cpu"), mt.load(graphs, engine="onnx")
    for line in lines[:3]:
        sessions = [translator.stream(search, avoid=["Katzen"]) for translator in translators]
        for word in line.split():
            of_run, of_graphs = (session.read(word) for session in sessions)
            assert of_run == of_graphs
        of_run, of_graphs = (session.finish() for session in sessions)
        assert of_run == of_graphs
        assert sessions[0].text
        assert [sessions[0].delays, sessions[0].erased] == [sessions[1].delays, sessions[1].erased]
    of_run, of_graphs = ([one.timing for one in translator.translate(lines, search)] for translator in translators)
    assert of_run == of_graphs


USUAL = min(2, os.cpu_count() or 1)


@pytest.mark.parametrize(("value", "threads"), [(None, USUAL), ("1", 1), ("3", 3), ("3,1", 3), ("many", USUAL)])
def test_threads(graphs: Path, monkeypatch: pytest.MonkeyPatch, value: str | None, threads: int) -> None:
    """Two, unless the environment says otherwise; what OpenMP cannot read is ignored. One for the encoder."""
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    if value:
        monkeypatch.setenv("OMP_NUM_THREADS", value)
    network = mt.load(graphs, engine="onnx").network
    sessions = (network._encoder, network._step)
    assert [session.get_session_options().intra_op_num_threads for session in sessions] == [1, threads]


# Each attention that has no loop, decoder and encoder, and what an option adds to their operations.
COPYING = {"name": "luong", "copy": True}
PLAIN = ({"name": "bilstm"}, {"name": "luong"}, {})
MODELS = {name: PLAIN for name, kind in ATTENTIONS.items() if not kind.monotonic} | {
    "none": ({"name": "lstm"}, {"name": "bahdanau", "cell": "lstm"}, {"context": "last"}),
    "dot": ({"name": "bigru"}, {"name": "gnmt", "copy": True}, {}),
    "general": ({"name": "bissru"}, {"name": "ssru", "init_hidden": "final_state"}, {}),
    "location": ({"name": "none"}, {"name": "gnmt", "num_layers": 3, "cell": "gru"}, {}),
    "bahdanau": ({"name": "gru", "num_layers": 2}, {"name": "bahdanau"}, {"scaled": True}),
    "location_aware": ({"name": "bilstm"}, {"name": "bahdanau", "gate": True, "num_layers": 2}, {}),
    "coverage": ({"name": "bilstm", "num_layers": 2}, {"name": "luong", "num_layers": 2}, {}),
    "local_m": ({"name": "lstm"}, {"name": "luong"}, {"window": 1}),
    "local_p": ({"name": "none"}, COPYING | {"input_feeding": True}, {"energy": {"name": "concat"}}),
    "stochastic": ({"name": "ssru"}, COPYING | {"init_hidden": "zeros"}, {"energy": {"name": "location"}}),
}


@pytest.fixture(scope="module")
def pieces(texts: Path) -> Tokenizers:
    """Of subwords: graphs have no copies of words that a vocabulary lacks."""
    sides = ((texts / f"train.{side}").read_text().splitlines() for side in ("en", "de"))
    return Tokenizers.train(TokenizerConfig(model_type="bpe", vocab_size=60), [*zip(*sides, strict=True)])


def written(folder: Path, model: Seq2Seq, tokenizers: Tokenizers, config: Config, dtype: Any = "float32") -> Any:
    tokenizers.save(folder)
    write_json(folder / "config.json", config.model_dump(mode="json"))
    write_graphs(folder, model, config, {"name": "best", "update": 1}, dtype)
    return load_graphs([folder])


@pytest.mark.parametrize("name", exhaustive(*MODELS))
def test_attentions_and_decoders(name, configure, pieces, lines, tmp_path):
    encoder, decoder, attention = MODELS[name]
    sizes = {"hidden_size": 16, "readout_size": 16}
    changes = {"encoder": encoder | {"hidden_size": 16}, "decoder": decoder | sizes, "attention": {"name": name}}
    changes["attention"] |= attention
    changes["dataset"] = {"tokenizer": {"model_type": "bpe", "vocab_size": 60}}
    config = configure({**changes, "embedding": {"embedding_dim": 16}})
    model = random_model(config, pieces)
    if model.mixes_predictions:  # learnt energies differ by hundreds, so that all but one share underflows
        model.decoder.attention.energy.gain.data *= 300
    exported = written(tmp_path, model, pieces, config)
    require_same(torch_translator(model, pieces, config), exported, lines[-5:], SEARCHES[:3])
    # By which policy it streams, which depends on whether it attends.
    assert exported.streaming_search().name == ("agree" if name == "none" else "alignatt")
    if name == "none":
        require_refusal(lambda: exported.stream(AlignAttConfig()), "attention, and this model learns none")


@pytest.mark.slow
def test_int8_of_a_model_whose_first_state_is_the_same_for_all_sources(configure, corpus, tmp_path):
    decoder = {"name": "ssru", "hidden_size": 16, "readout_size": 16, "init_hidden": "zeros"}
    parts = {"encoder": {"name": "bissru", "hidden_size": 16}, "embedding": {"embedding_dim": 16}}
    config = configure(parts | {"decoder": decoder})
    exported = written(tmp_path, Seq2Seq(config, *corpus.tokenizers.sizes), corpus.tokenizers, config, "int8")
    assert len(exported.translate(["two cats", "the green birds find streets"])) == 2


@pytest.mark.parametrize(
    ("attention", "dtype", "sentence"),
    [
        ({"name": "mocha"}, "float32", "without a loop over positions, and attention=mocha has one: it exports"),
        ({"name": "location", "max_source_length": 6}, "float32", "7 tokens or more, and this one's have at most"),
        ({"name": "general"}, "bfloat16", "has no bfloat16 on CPUs: export with --precision fp32 or int8$"),
    ],
)
def test_what_graphs_cannot_hold_is_refused(attention, dtype, sentence, configure, corpus):
    config = configure({"attention": attention})
    model = Seq2Seq(config, *corpus.tokenizers.sizes)
    require_refusal(lambda: require_exportable(model, config, dtype), sentence)


def test_int8(graphs: Path, lines: list[str], tmp_path: Path) -> None:
    folder = Path(shutil.copytree(graphs, tmp_path / "copy"))
    manifest = json.loads((folder / "onnx.json").read_text())
    for name in ("encoder.onnx", "step.onnx"):
        before = (folder / name).stat().st_size
        quantize(folder / name)
        manifest["sha256"][name] = sha256(folder / name)
        assert (folder / name).stat().st_size < before
    write_json(folder / "onnx.json", manifest)
    wanted, result = (mt.load(each, engine="onnx").translate(lines) for each in (graphs, folder))
    assert sum(one.ids == other.ids for one, other in zip(wanted, result, strict=True)) > len(lines) / 2


def test_refusals(trained: Path, graphs: Path, tmp_path: Path) -> None:
    ours = mt.load(graphs, engine="onnx")
    load: Any = partial(mt.load, graphs, engine="onnx")
    refused: list[tuple[Callable[[], object], str]] = [
        (lambda: ours.translate("two", OnlineConfig()), "search=online keeps the state of an encoder while it writes"),
        (lambda: ours.stream(AgreeConfig(mode="hard")), "search.mode=hard is not what was exported, an attention"),
        (lambda: ours.translate("two", GreedyConfig(mode="hard")), "search.mode=hard is not what was exported, an "),
        (lambda: load(engine="tensorrt"), "engine=tensorrt is an invalid choice: choices: onnx, torch"),
        (lambda: load(device="cuda"), "device=cuda is not for engine=onnx, since what was exported computes"),
        (lambda: load(precision="int8"), "precision=int8 is not for engine=onnx, since what was exported has"),
        (lambda: mt.load(trained, engine="onnx"), "holds no graphs for engine=onnx: make them with mt export"),
        (lambda: mt.load(graphs), "streams and evaluates: choose that for these, and give a run for anything"),
        (lambda: ours.align("two", "zwei"), "what was exported translates, streams and evaluates, and this needs"),
        (lambda: ours.translate("word " * 10_001), "text 1 has 10001 words, and at most 10000 are read at once"),
    ]
    for call, sentence in refused:
        with pytest.raises(UserError, match=re.escape(sentence)):
            call()


def test_alignment_and_likelihoods_are_refused_where_torch_is_absent(
    graphs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = mt.load(graphs, engine="onnx")
    monkeypatch.setitem(sys.modules, "mt.decoding.forced", None)  # its import fails, as without torch
    sentence = "^what was exported translates, streams and evaluates, and this"
    require_refusal(lambda: ours.align("two", "zwei"), sentence)
    require_refusal(lambda: mt.likelihoods(ours, ["two"], ["zwei"]), sentence)


def test_damage(graphs: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(graphs, tmp_path / "copy"))

    def fault() -> str:
        return refusal_of(lambda: mt.load(folder, engine="onnx"))

    step = (folder / "step.onnx").read_bytes()
    (folder / "step.onnx").write_bytes(step[:-1])
    assert fault().startswith(
        f"{folder}/step.onnx is not the file that was exported (its SHA-256 differs): copy the folder again"
    )
    (folder / "step.onnx").unlink()
    assert fault() == f"{folder}/step.onnx is missing: copy the folder again"
    (folder / "step.onnx").write_bytes(step)
    manifest = json.loads((folder / "onnx.json").read_text())
    for changes, sentence in (
        ({"format": 9}, "was exported in format 9, and this version reads 1: export the run again"),
        ({"sha256": {}}, "lists no SHA-256 of config.json: copy the folder again"),
        ({"hard": 3}, "hard=3 is not possible"),
        ({"chunk_size": -1}, "chunk_size=-1 is not possible"),
        ({"max_source_length": 10**9}, "max_source_length=1000000000 is not possible"),
        ({"dtype": "float"}, "dtype=float is an invalid choice"),
        ({"sha256": {"../x": "0"}}, "x is missing: copy the folder again"),
    ):
        write_json(folder / "onnx.json", manifest | changes)
        assert sentence in fault()
