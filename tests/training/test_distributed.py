"""Several processes: what they learn, what they read, and what they score."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from mt.data.corpus import Corpus
from tests.marks import exhaustive
from tests.processes import Program

WORKER = Path(__file__).with_name("worker.py")
NOISY: dict[str, Any] = {
    "embedding": {"embedding_dim": 32, "dropout": 0.3, "word_dropout": 0.1},
    "optimizer": {"name": "adam", "lr": 0.01, "warmup": 10, "schedule": {"name": "constant"}},
    "training": {"epochs": 9, "batch_tokens": 60, "gradient_accumulation": 4, "max_grad_norm": 0.2},
}
CASES: dict[str, dict[str, Any]] = {
    "general": {"coverage_weight": 0.3, "encoder": {"recurrent_dropout": 0.3}, "decoder": {"recurrent_dropout": 0.2}},
    "monotonic": {
        "attention": {"name": "mocha", "chunk_size": 2, "noise_std": 1.0},
        "training": {"normalization": "sentence"},
    },
    "fp16": {"precision": "fp16"},
    "stochastic": {"attention": {"name": "stochastic"}},
    # What nothing uses has no gradient, and no moment.
    "unused": {"attention": {"name": "none"}, "encoder": {"name": "bigru", "hidden_size": 32}},
    "sampled": {"dataset": {"tokenizer": {"vocab_size": 70}}, "training": {"bpe_dropout": 0.2}},
    "copied": {
        "attention": {"name": "mocha", "chunk_size": 2, "noise_std": 1.0},
        "decoder": {"copy": True, "dropout": 0.2},
        "dataset": {"tokenizer": {"vocab_size": 70}},
        "training": {"bpe_dropout": 0.2},
    },
    "two passes": {"training": {"r_drop": 3.0}},
    "epoch": {"training": {"epochs": 1, "batch_tokens": 40, "gradient_accumulation": 3}},
}


@pytest.fixture(scope="module")
def learnt(configure, corpora, trained_hard, tmp_path_factory, request):
    """What one process and as many as tests are selected for made of every case."""
    selected = [
        item
        for item in request.session.items
        if isinstance(item, pytest.Function) and item.path == request.path and "learnt" in item.fixturenames
    ]
    sizes = sorted({1} | {item.callspec.params["size"] for item in selected})
    folder = tmp_path_factory.mktemp("distributed")
    plain = {}
    for name, changes in CASES.items():
        training = NOISY["training"] | changes.get("training", {})
        plain[name] = configure(NOISY | changes | {"training": training}).model_dump(mode="json")
    (folder / "links").write_text("0-0 1-1\n1-0\n\n" * 80)
    guided = CASES["sampled"]["training"] | {"guided_alignment": str(folder / "links"), "guided_alignment_weight": 2.0}
    changes = {"dataset": {"tokenizer": {"vocab_size": 70}}, "training": NOISY["training"] | guided}
    plain["guided"] = configure(NOISY | changes).model_dump(mode="json")
    (folder / "cases.json").write_text(json.dumps(plain))
    Program(WORKER, [folder / "cases.json", corpora, trained_hard, folder, *sizes], folder).finish()
    return {size: folder / str(size) for size in sizes}


SEVERAL = [2, *exhaustive(4)]


@pytest.mark.parametrize("size", SEVERAL)
def test_an_update_does_not_depend_on_the_number_of_processes(size: int, learnt: dict[int, Path]) -> None:
    for case in (*CASES, "guided"):
        require_like_updates(case, size, learnt)


def require_like_updates(case: str, size: int, learnt: dict[int, Path]) -> None:
    # In float16, a last bit of a weight is soon one of 11 bits.
    near, nearby = (1e-3, 1e-2) if case == "fp16" else (1e-6, 1e-5)
    losses = {size: json.loads((folder / "losses.json").read_text())[case] for size, folder in learnt.items()}
    weights = {size: load_file(folder / f"{case}.safetensors") for size, folder in learnt.items()}
    assert max(norm for *_, norm in losses[1]) > 0.2, "clipping is active"
    assert case not in ("stochastic", "guided") or any(extra for _, _, extra, _ in losses[1])
    np.testing.assert_allclose(losses[size], losses[1], rtol=near, atol=near, err_msg=case)
    assert weights[size].keys() == weights[1].keys()
    for name, tensor in weights[1].items():
        torch.testing.assert_close(
            weights[size][name], tensor, rtol=0, atol=nearby, msg=lambda message: f"{case}: {message}"
        )


@pytest.mark.parametrize("size", SEVERAL)
def test_scores_of_several_are_those_of_one(size: int, learnt: dict[int, Path]) -> None:
    alone, together = ((learnt[count] / "scores.json").read_text() for count in (1, size))
    assert together == alone and "bleu_hard" in alone
    written = [
        {path.name: path.read_bytes() for path in (learnt[count] / "report-0").rglob("*.*")} for count in (1, size)
    ]
    assert written[0].keys() == written[1].keys() >= {"test.txt", "test.pharaoh"}
    assert all(written[0][name] == written[1][name] for name in ("test.txt", "test.pharaoh"))


@pytest.mark.parametrize("size", [1, *SEVERAL])
def test_processes_read_every_example_once_in_an_epoch(size: int, learnt: dict[int, Path], corpus: Corpus) -> None:
    seen = [Counter(json.loads((learnt[size] / f"seen-{rank}.json").read_text())) for rank in range(size)]
    assert sum(seen, Counter()) == {str(i): 1 for i in range(len(corpus.split("train")))}
