"""Mechanisms must learn what they are made for, at a size of seconds, and fail at what they cannot do."""

import random
from collections.abc import Callable
from functools import partial
from types import SimpleNamespace

import pytest
import torch
from torch import Tensor

from mt.models.attention import ATTENTIONS
from mt.models.decoders.luong import LuongConfig
from mt.models.embedding import EmbeddingConfig
from mt.models.encoders.recurrent import BiLSTMConfig, LSTMConfig
from mt.models.seq2seq import ModelConfig, Seq2Seq
from mt.search.greedy import greedy
from mt.training.loss import token_loss

BOS, EOS = 2, 3
SYMBOLS = range(4, 16)
COPIED_LENGTHS = (3, 6)
REVERSED_LENGTHS = (7, 9)
"""Longer than what the last state of a one-way encoder can carry, so that only attention can do it."""
BATCH, UPDATES, TESTED = 32, 300, 200
GLOBAL = [name for name, attention in ATTENTIONS.items() if not attention.can_be_hard]

Task = Callable[[list[int]], list[int]]
Sequences = frozenset[tuple[int, ...]]


def copied(symbols: list[int]) -> list[int]:
    return symbols


def reversed_(symbols: list[int]) -> list[int]:
    return symbols[::-1]


def drawn(draw: random.Random, lengths: tuple[int, int], unseen: Sequences = frozenset()) -> list[int]:
    """Distinct symbols in any order, none of the `unseen` sequences."""
    while True:
        symbols = draw.sample(SYMBOLS, draw.randint(*lengths))
        if tuple(symbols) not in unseen:
            return symbols


def padded(rows: list[list[int]]) -> Tensor:
    return torch.nn.utils.rnn.pad_sequence([torch.tensor(row) for row in rows], batch_first=True)


def learnt(config: ModelConfig, task: Task, lengths: tuple[int, int]) -> float:
    """The share of unseen sequences that are decoded without a fault, hard where the attention can be."""
    torch.manual_seed(1)
    draw = random.Random(1)
    tests = [drawn(draw, lengths) for _ in range(TESTED)]
    unseen = frozenset(tuple(test) for test in tests)
    model = Seq2Seq(config, 16, 16)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(UPDATES):
        sources = [drawn(draw, lengths, unseen) for _ in range(BATCH)]
        source, target = padded([[*s, EOS] for s in sources]), padded([[*task(s), EOS] for s in sources])
        features, _ = model(source, source > 0, padded([[BOS, *task(s)] for s in sources]))
        loss = token_loss(model.decoder.output, features, target, target > 0) / (target > 0).sum()
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    return decoded_right(model.eval(), tests, task)


@torch.no_grad()
def decoded_right(model: Seq2Seq, tests: list[list[int]], task: Task) -> float:
    verbs = SimpleNamespace(start=model.start, step=partial(model.step, hard=model.attention.can_be_hard))
    source = padded([[*test, EOS] for test in tests])
    memory = model.remember(source, source > 0)
    found = greedy(verbs, memory, len(tests), max_lengths=torch.full((len(tests),), 12))
    return sum(f.tokens == (*task(t), EOS) for f, t in zip(found, tests, strict=True)) / len(tests)


def small(attention: str, *, one_way: bool = False, input_feeding: bool = False) -> ModelConfig:
    return ModelConfig(
        embedding=EmbeddingConfig(size=16),
        encoder=LSTMConfig(hidden=32) if one_way else BiLSTMConfig(hidden=16),
        # From zeros: what is known of the source has gone through the attention.
        decoder=LuongConfig(hidden=32, features=16, start="zeros", input_feeding=input_feeding),
        attention=ATTENTIONS[attention].Config(),
        init=0.3,
    )


@pytest.mark.parametrize("attention", ATTENTIONS)
def test_every_attention_learns_to_copy(attention: str):
    assert learnt(small(attention), copied, COPIED_LENGTHS) >= 0.85


def test_with_input_feeding_too():
    assert learnt(small("global", input_feeding=True), copied, COPIED_LENGTHS) >= 0.85


@pytest.mark.parametrize("attention", GLOBAL)
def test_global_attention_learns_to_reverse(attention: str):
    assert learnt(small(attention, one_way=True), reversed_, REVERSED_LENGTHS) >= 0.85


def test_monotonic_attention_behind_a_one_way_encoder_cannot_reverse():
    assert learnt(small("monotonic", one_way=True), reversed_, REVERSED_LENGTHS) <= 0.3
