"""Minimum risk training against the sum over the translations of each source, one at a time, in float64."""

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
import torch
from sacrebleu.metrics import BLEU

from mt.config import Config
from mt.data.batches import Batch, collate
from mt.data.corpus import Corpus
from mt.models.seq2seq import Seq2Seq
from mt.training.objective import MinimumRisk, Tokens, objective_of

RISK: dict[str, Any] = {"samples": 6, "sharpness": 0.5}
MODELS: dict[str, dict[str, Any]] = {
    "general": {"decoder": {"dropout": 0.3}},
    "mocha": {"attention": {"name": "mocha", "chunk_size": 2, "noise_std": 1.0}, "encoder": {"name": "lstm"}},
    "coverage": {"coverage_weight": 0.5, "encoder": {"name": "gru"}, "decoder": {"name": "gnmt", "readout_size": 32}},
    "bahdanau": {"attention": {"name": "bahdanau"}, "decoder": {"name": "bahdanau", "readout_size": 32}},
}


@pytest.fixture
def risky(configure: Callable[..., Config]) -> Callable[..., Config]:
    def made(changes: dict[str, Any] | None = None, **training: Any) -> Config:
        training = {"objective": "minimum_risk", "risk": RISK, "label_smoothing": 0.3, **training}
        small = {"max_length": 5, "name": "greedy"}
        return configure({"init_from": "RUN", "search": small, "training": training} | (changes or {}))

    return made


def objective(config: Config, corpus: Corpus, dtype: torch.dtype = torch.float64) -> MinimumRisk:
    torch.manual_seed(3)
    model = Seq2Seq(config, *corpus.tokenizers.sizes).to(dtype)
    made = objective_of(config, corpus.tokenizers.target)(model, config)
    assert isinstance(made, MinimumRisk)
    return made


def batch_of(corpus: Corpus, indices: Sequence[int] = (0, 1, 2)) -> Batch:
    split = corpus.split("train")
    return collate(split.ids(np.array(indices)), split.source)


def fix(one: MinimumRisk, monkeypatch: pytest.MonkeyPatch) -> list[list[list[Tokens]]]:
    """Has the translations that are drawn first drawn ever after, whatever the weights; returns where they come."""
    drawn: list[list[list[Tokens]]] = []
    draw = one.draw_translations

    def same(*arguments: Any) -> list[list[Tokens]]:
        if not drawn:
            drawn.append(draw(*arguments))
        return drawn[0]

    monkeypatch.setattr(one, "draw_translations", same)
    return drawn


def risk_by_enumeration(one: MinimumRisk, batch: Batch, drawn: list[list[Tokens]], corpus: Corpus) -> torch.Tensor:
    """The risk of a model without dropout, of each translation's steps one after another."""
    model = one.model
    decode = corpus.tokenizers.target.decode
    score = BLEU(effective_order=True)
    total = torch.zeros((), dtype=torch.float64)
    for row, translations in enumerate(drawn):
        memory = model.encode(batch.source[row : row + 1], batch.source_mask[row : row + 1])
        log_probs = []
        for tokens in translations:
            state = model.init_state(memory)
            log_prob = torch.zeros((), dtype=torch.float64)
            for before, token in itertools.pairwise((2, *tokens)):
                prediction = model.step(torch.tensor([before]), memory, state)
                state = prediction.state
                log_prob = log_prob + prediction.logits.log_softmax(-1)[0, token]
            log_probs.append(RISK["sharpness"] * log_prob)
        shares = torch.stack(log_probs).softmax(0)
        costs = [1 - score.sentence_score(decode(one), [decode(translations[0])]).score / 100 for one in translations]
        total = total + sum(share * cost for share, cost in zip(shares, costs, strict=True))
    return total


@pytest.mark.parametrize("name", ["general", "mocha", "bahdanau"])
def test_risk_and_gradient_are_those_of_an_enumeration(
    name: str, risky: Callable[..., Config], corpus: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    changes = {group: dict(options) for group, options in MODELS[name].items()}
    if name == "mocha":
        changes["attention"]["noise_std"] = 0.0
    one = objective(risky({**changes, "decoder": {**changes.get("decoder", {}), "dropout": 0.0}}), corpus)
    drawn = fix(one, monkeypatch)
    batch = batch_of(corpus)
    total, sums = one(batch, 5)
    total.backward()
    expected = risk_by_enumeration(one, batch, drawn[0], corpus)
    for actual in (sums[1], total.detach()):
        torch.testing.assert_close(actual, expected.detach(), rtol=1e-7, atol=0)
    torch.testing.assert_close(sums[0], one.model(batch).token_losses.sum())
    named = [(key, part) for key, part in one.model.named_parameters() if part.grad is not None]
    gradients = torch.autograd.grad(expected, [part for _, part in named], allow_unused=True)
    for (key, part), gradient in zip(named, gradients, strict=True):
        actual = torch.zeros_like(part) if gradient is None else gradient
        torch.testing.assert_close(part.grad, actual, rtol=1e-4, atol=1e-7, msg=lambda text, key=key: f"{key}: {text}")
    assert all(len(set(of_source)) == len(of_source) > 2 for of_source in drawn[0])
    assert [of_source[0] for of_source in drawn[0]] == [
        tuple(target) for _, target in corpus.split("train").ids(range(3))
    ]


@pytest.mark.parametrize("name", ["general", "mocha", "coverage"])
def test_gradient_is_that_of_finite_differences_with_dropout_and_noise(
    name: str, risky: Callable[..., Config], corpus: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = objective(risky(MODELS[name]), corpus)
    one.model.train()
    fix(one, monkeypatch)
    batch = batch_of(corpus)
    one(batch, 5)[0].backward()
    draw = torch.Generator().manual_seed(1)
    parameters = [part for part in one.model.parameters() if part.grad is not None]
    directions = [torch.randn(part.shape, generator=draw, dtype=torch.float64) for part in parameters]
    step = 3e-4  # what attention adds is in float32

    def moved(by: float) -> float:
        with torch.no_grad():
            for part, direction in zip(parameters, directions, strict=True):
                part.add_(by * direction)
        return float(one(batch, 5)[0].detach())

    difference = (moved(step) - moved(-2 * step)) / (2 * step)
    slope = sum(float((part.grad * direction).sum()) for part, direction in zip(parameters, directions, strict=True))
    assert difference == pytest.approx(slope, rel=1e-2 if name == "coverage" else 1e-3)
    assert abs(slope) > 1e-2


def test_what_is_drawn_is_a_function_of_the_seed(risky: Callable[..., Config], corpus: Corpus) -> None:
    one = objective(risky(MODELS["general"]), corpus, torch.float32)
    one.model.train()
    batch = batch_of(corpus)

    def drawn(seed: int | None) -> list[float]:
        total, _ = one(batch, seed)
        return [float(total.detach()), *torch.autograd.grad(total, [one.model.decoder.output.bias])[0].tolist()]

    assert drawn(5) == drawn(5) != drawn(6)
    torch.manual_seed(5)
    assert drawn(None) == drawn(5) and one.model.training
    targets = [tuple(ids[real].tolist()) for ids, real in zip(batch.target_out, batch.target_mask, strict=True)]
    translations = one.draw_translations(batch, targets, 7, None)
    shorter = batch_of(corpus, [0, 1])
    assert one.draw_translations(shorter, targets[:2], 7, None) == translations[:2]
    # Nearly always the most probable token: equal ones, of which each source has one beside its target.
    cold = objective(risky(MODELS["general"], risk={**RISK, "temperature": 1e-5}), corpus, torch.float32)
    assert {len(of_source) for of_source in cold.draw_translations(batch, targets, 7, None)} == {2}


def test_a_stochastic_attention_that_draws_nothing_is_an_expectation(risky: Callable[..., Config]) -> None:
    assert risky({"attention": {"name": "stochastic", "sample_ratio": 0.0}}).training.objective == "minimum_risk"
