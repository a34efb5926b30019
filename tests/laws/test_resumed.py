"""The law of runs: neither stops nor validations change what is learnt, whatever a run draws or keeps. One that ended
or stopped, and goes on, is one that did not stop."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import pytest

from data_prep.prepare import prepare
from mt import checkpoint
from mt.config.optimizer import OptimizerConfig
from mt.data.corpus import Corpus
from mt.models.attention import ATTENTIONS
from mt.training.start import begin, resume
from mt.training.train import train_and_test
from tests.marks import chosen
from tests.training.runs import left

UPDATES = (3, 6)
"""After the first of which the one run ends, and after the second both."""
SMALL = {"max_updates": 6, "validate_every": 3, "average_checkpoints": 1, "batch_tokens": 300}
SMALL |= {"plots": 0, "log_every": 1}
DROPPING = {"embedding_dim": 32, "dropout": 0.2, "word_dropout": 0.1}
MOCHA = {"name": "mocha", "chunk_size": 2, "noise_std": 1.0}
BPE = {"dataset": {"tokenizer": {"vocab_size": 70}}}
UNIGRAMS = {"dataset": {"tokenizer": {"model_type": "unigram", "vocab_size": 70}}}
OPTIMIZERS = get_args(get_args(OptimizerConfig)[0])
COPYING = BPE | {"decoder": {"copy": True, "dropout": 0.2}, "training": {"bpe_dropout": 0.3}}
RUNS: dict[str, dict[str, Any]] = {
    "dropout": {"encoder": {"recurrent_dropout": 0.3}, "decoder": {"recurrent_dropout": 0.2}},
    "a baseline of rewards": {"attention": {"name": "stochastic"}},
    "noise": {"attention": MOCHA},
    "k of wait-k": {
        "encoder": {"name": "lstm", "hidden_size": 32},
        "decoder": {"init_hidden": "zeros"},
        "search": {"name": "wait_k", "k": 2},
        "training": {"wait_k": [1, 2, 3, 4]},
    },
    "a moving average": {"training": {"ema_decay": 0.9}},
    "what is frozen": {"training": {"freeze": ["frontend", "encoder"]}, "optimizer": {"name": "sgd"}},
    "two passes": {"training": {"r_drop": 3.0}, "coverage_weight": 0.5},
    "pieces of BPE": BPE | {"training": {"bpe_dropout": 0.3}},
    "pieces by unigrams": UNIGRAMS | {"training": {"unigram_alpha": 0.02}},
    "copies": COPYING,
    "hard copies": COPYING | {"attention": MOCHA},
    "a scale of float16": {"precision": "fp16"},
    "links that guide": BPE | {"training": {"guided_alignment": "LINKS"}},
    **{f"an optimizer: {kind.__name__}": {"optimizer": kind().model_dump(mode="json")} for kind in OPTIMIZERS},
    "sums of Adagrad, and of what nothing uses": {"optimizer": {"name": "adagrad"}, "attention": {"name": "none"}},
    "the end of an epoch": {"training": {"batch_tokens": 600, "epochs": 2}},
    **{f"attention={name}": {"attention": {"name": name}} for name in ATTENTIONS},
    "bad validations": {"optimizer": {"schedule": {"name": "plateau", "patience": 0}}},
}
SHORT = ("dropout", "a baseline of rewards", "noise", "k of wait-k", "a moving average", "what is frozen")
SHORT += ("pieces of BPE", "a scale of float16", "links that guide", "the end of an epoch", "bad validations")


def learnt(folder: Path) -> tuple[dict[str, Any], str]:
    """What training goes on from: the last weights, the moments beside them, and the random state."""
    tensors = {name: each for name, each in left(folder)["tensors"].items() if name.startswith("last/")}
    return tensors, checkpoint.load_progress(folder / "checkpoints/last")["random"]


@pytest.mark.parametrize("name", chosen(RUNS, *SHORT))
def test_neither_stops_nor_validations_change_what_a_run_learns(name, configure, corpora, tmp_path):
    changes = {"embedding": DROPPING, "search": {"name": "greedy"}, **RUNS[name]}
    (tmp_path / "links").write_text("0-0 1-1\n1-0\n\n" * 80)

    def run(folder: str, updates: int, start: Callable[..., Any], **options: Any) -> Path:
        training = {**SMALL, **changes.get("training", {}), "max_updates": updates, **options}
        if "guided_alignment" in training:
            training["guided_alignment"] = str(tmp_path / "links")
        config = configure({**changes, "training": training})
        corpus = Corpus.open(prepare(config.dataset, corpora, progress=False))
        train_and_test(start(config, corpus, tmp_path / folder))
        return tmp_path / folder

    straight = run("straight", UPDATES[1], begin)
    earlier = left(run("stopped", UPDATES[0], begin))
    expected = left(straight)
    assert expected["progress"]["update"] == UPDATES[1]
    assert expected["tensors"]["last/model.safetensors"] != earlier["tensors"]["last/model.safetensors"]
    assert left(run("stopped", UPDATES[1], resume)) == expected
    if name != "bad validations":  # which lower the rate
        watched = run("watched", UPDATES[1], begin, validate_every=2, validate_limit=3, plots=1, test=False)
        assert learnt(watched) == learnt(straight)
