"""What training refuses: a configuration, and what the sentence names. Nothing is made."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from data_prep.prepare import prepare
from mt.cli.run_folders import new_folder
from mt.config import Config
from mt.data.corpus import Corpus
from mt.training.start import begin
from tests.refusals.sentences import content, require_refusal

# Configurations that no run can have. Beside each: what the sentence says, in this order.
CONFIGURATIONS: list[tuple[dict[str, Any], str]] = [
    ({"seed": -1}, "seed=-1 is not possible"),
    ({"seed": 1 << 63}, "seed=9223372036854775808 is not possible"),
    ({"optimizer": {"name": "sgd", "betas": [0.9, 0.98]}}, "unknown option optimizer.betas here: .* of optimizer.name"),
    (
        {"optimizer": {"name": "adam", "warmup": 4000, "schedule": {"name": "inverse_sqrt", "hold": 1000}}},
        "schedule.hold=1000 ends before optimizer.warmup=4000 .* set optimizer.schedule.hold=4000 or more, or null",
    ),
    *(
        ({"training": {"wait_k": k}}, r"training\.wait_k.* is not possible")
        for k in ([], [0], [3, -1], 3, [2.5], ["3"])
    ),
    ({"training": {"wait_k": [1 << 40]}}, r"training\.wait_k.* is not possible"),
    (
        {"embedding": {"share": True, "pretrained_source": "x"}},
        "share=true makes one table of two.*embedding.pretrained",
    ),
    (
        {"training": {"r_drop": 2.0}, "attention": {"name": "marginal"}},
        "training.r_drop=2 compares all tokens of two .* attention=marginal makes one for each .*: set training.r_drop",
    ),
    (
        {"decoder": {"copy": True}, "dataset": {"tokenizer": {"joint": False}}},
        "dataset.tokenizer.joint=true, or set dec",
    ),
]
# The same, which the data, the model or this machine contradict.
STARTS: list[tuple[dict[str, Any], str]] = [
    ({"training": {"metric": "belu"}}, "training.metric=belu is not measured: did you mean bleu.*bleu, chrf, loss"),
    ({"search": {"mode": "hard"}}, "search.mode=hard needs an attention that can choose one position"),
    ({"search": {"name": "online"}}, "search=online writes while it reads"),
    ({"search": {"name": "wait_k"}}, "search=wait_k shows the model only the source tokens read so far: it needs"),
    ({"training": {"wait_k": [3]}}, "training.wait_k shows the model only the source tokens read so far: it needs"),
    (
        {"attention": {"name": "location", "max_source_length": 2}},
        "source 1 of train has . tokens.* reads at most 2: raise max_source_length .* lower dataset.cleaning.max_len",
    ),
    ({"device": "cuda:77"}, "device=cuda:77 is not on this machine"),
    ({"training": {"freeze": ["encodr"]}}, "training.freeze=encodr is no module of this model: did you mean encoder"),
    ({"training": {"freeze": ["frontend", "encoder", "decoder"]}}, "leaves nothing to train: name fewer modules"),
    (
        {"optimizer": {"lr": 0.01, "schedule": {"name": "decay", "floor": 0.02}}},
        "optimizer.schedule.floor=0.02 is above optimizer.lr=0.01, so that the rate",
    ),
    ({"embedding": {"pretrained": "none.txt"}}, r"none.txt cannot be read \(No such file.*\): give an existing text"),
    ({"init_from": "."}, r"init_from=\.: .* is not a run folder: it holds no checkpoints/best"),
    ({"training": {"unigram_alpha": 0.1}}, "unigram vocabulary.* cut by word: prepare with .*model_type=unigram"),
]
# The same of a run that starts from another.
FROM_A_RUN: list[tuple[dict[str, Any], str]] = [
    ({"encoder": {"hidden_size": 16}}, "encoder.hidden_size=32, and this run encoder.hidden_size=16"),
    ({"encoder": {"name": "lstm", "hidden_size": 16}}, "encoder=bilstm, and this run encoder=lstm; leave that out"),
    (
        {"decoder": {"dropout": 0.5, "input_feeding": True}},
        "decoder.input_feeding=false, and this run .*=true; leave that out",
    ),
    (
        {"embedding": {"embedding_dim": 16}, "decoder": {"readout_size": 16}},
        "embedding.embedding_dim=32, and this run embedding.embedding_dim=16; leave that out, or set .*_dim=32",
    ),
    (
        {"embedding": {"share": True}},
        "embedding.share=true makes one table of two, which init_from=.* has learnt apart",
    ),
]
# Pieces that are sampled, of a vocabulary that has none to choose from.
VOCABULARIES = [
    ("char", {"bpe_dropout": 0.1}, "training.bpe_dropout samples pieces of a bpe vocabulary, .* is cut by char"),
    ("unigram", {"bpe_dropout": 0.1}, "cut by unigram: set training.unigram_alpha or prepare with .*model_type=bpe"),
    ("bpe", {"unigram_alpha": 0.1}, "cut by bpe: set training.bpe_dropout or prepare with .*model_type=unigram"),
]


@pytest.mark.parametrize(("changes", "facts"), CONFIGURATIONS, ids=str)
def test_a_configuration(changes: dict[str, Any], facts: str, configure: Callable[..., Config]) -> None:
    require_refusal(lambda: configure(changes), f"^{facts}" if facts.startswith("training.") else facts)


@pytest.mark.parametrize(
    ("changes", "facts"), [*STARTS, *((row[0] | {"init_from": "RUN"}, row[1]) for row in FROM_A_RUN)]
)
def test_a_start(changes, facts, configure, corpus, trained, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    changes = {key: str(trained) if value == "RUN" else value for key, value in changes.items()}
    require_refusal(lambda: begin(configure(changes), corpus, tmp_path / "run"), facts)
    assert content(tmp_path) == {}


@pytest.mark.parametrize(("kind", "options", "facts"), VOCABULARIES)
def test_a_vocabulary_without_pieces_to_sample(kind, options, facts, configure, corpora, tmp_path):
    tokenizer = {"model_type": kind, "vocab_size": 70}
    config = configure({"dataset": {"tokenizer": tokenizer}, "training": options, "search": {"name": "greedy"}})
    corpus = Corpus.open(prepare(config.dataset, corpora, progress=False))
    require_refusal(lambda: begin(config, corpus, tmp_path / "run"), facts)


@pytest.mark.parametrize("name", ["", ".", "/", "a/..", "a\0b"])
def test_a_name_of_no_folder(name: str) -> None:
    require_refusal(lambda: new_folder(Path(name)), "names no folder to make: write the path of a new one")
