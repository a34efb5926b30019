"""Mechanisms must learn what they are made for, at a size of seconds, and fail at what they cannot do."""

import random
from collections.abc import Callable, Mapping
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor

from mt.data.batches import Batch
from mt.models.attention import ATTENTIONS
from mt.models.attention.global_ import SoftmaxAttention
from mt.models.attention.lookback import MILk
from mt.models.attention.monotonic import Monotonic
from mt.models.attention.none import NoAttention
from mt.models.config import ModelConfig
from mt.models.decoders import DECODERS
from mt.models.encoders.recurrent import BiLSTMConfig, LSTMConfig
from mt.models.encoders.ssru import SSRUConfig
from mt.models.frontends.embedding import EmbeddingConfig
from mt.models.seq2seq import Seq2Seq
from mt.step import BOS, EOS
from tests.marks import chosen, exhaustive
from tests.search.searches import greedy

SYMBOLS = range(4, 16)
COPIED_LENGTHS = (2, 4)
REVERSED_LENGTHS = (7, 9)
"""Longer than what the final state of a causal encoder can hold, so that only attention can do it."""
BATCH = 32
UPDATES = 300
"""At the most: fewer where it has been learnt before."""
LEARNT = 0.1
"""Nats per token of a batch."""
TESTED = 100

Task = Callable[[list[int]], list[int]]


def copied(symbols: list[int]) -> list[int]:
    return symbols


def reversed_(symbols: list[int]) -> list[int]:
    return symbols[::-1]


def sampled(draw, lengths, unseen=frozenset(), symbols=SYMBOLS) -> list[int]:
    """Distinct symbols in any order, none of the `unseen` sequences."""
    while True:
        sequence = draw.sample(symbols, draw.randint(*lengths))
        if tuple(sequence) not in unseen:
            return sequence


def padded(rows: list[list[int]]) -> Tensor:
    return torch.nn.utils.rnn.pad_sequence([torch.tensor(row) for row in rows], batch_first=True)


def learnt(config, task, lengths, updates=UPDATES, symbols=SYMBOLS, until=LEARNT) -> float:
    """The share of unseen sequences that are decoded without a fault, hard where the attention can be. until: nats per
    token of a batch, below which no more updates are taken."""
    torch.manual_seed(1)
    draw = random.Random(1)
    tests = [sampled(draw, lengths, symbols=symbols) for _ in range(TESTED)]
    unseen = frozenset(tuple(test) for test in tests)
    model = Seq2Seq(config, symbols.stop, symbols.stop)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(updates):
        sources = [sampled(draw, lengths, unseen, symbols) for _ in range(BATCH)]
        source = padded([[*s, EOS] for s in sources])
        target = padded([[*task(s), EOS] for s in sources])
        target_in = padded([[BOS, *task(s)] for s in sources])
        loss = model(Batch(source, source > 0, target_in, target, target > 0))
        optimizer.zero_grad()
        ((loss.sum + loss.auxiliary) / loss.tokens).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if loss.sum / loss.tokens < until:
            break
    return decoded_right(model.eval(), tests, task)


@torch.no_grad()
def decoded_right(model: Seq2Seq, tests: list[list[int]], task: Task) -> float:
    hard = model.supports_hard
    verbs = SimpleNamespace(init_state=partial(model.init_state, hard=hard), step=partial(model.step, hard=hard))
    source = padded([[*test, EOS] for test in tests])
    memory = model.encode(source, source > 0)
    result = greedy(verbs, memory, len(tests), max_lengths=torch.full((len(tests),), 12))
    return sum(f.tokens == (*task(t), EOS) for f, t in zip(result, tests, strict=True)) / len(tests)


def small(attention: str, *, causal: bool = False, options: Mapping[str, Any] = {}, **decoder: Any) -> ModelConfig:
    # From zeros: what is known of the source has gone through the attention.
    init_hidden = "final_state" if ATTENTIONS[attention] is NoAttention else "zeros"
    sizes = {"hidden_size": 32, "readout_size": 16, "dropout": 0.0}
    parts = {"name": "luong", "init_hidden": init_hidden} | sizes | decoder
    return ModelConfig(
        embedding=EmbeddingConfig(embedding_dim=16, dropout=0.0),
        encoder=(LSTMConfig if causal else BiLSTMConfig)(hidden_size=32),
        decoder=DECODERS[parts["name"]].Config(**parts),
        attention=ATTENTIONS[attention].Config(**options),
        init_range=0.3,
    )


def those(*kinds: type, but: tuple[type, ...] = ()) -> list[str]:
    """The attentions of the table that are of these classes."""
    return [name for name, kind in ATTENTIONS.items() if issubclass(kind, kinds) and not issubclass(kind, but)]


COPYING = [name for name, kind in ATTENTIONS.items() if kind is not NoAttention]


@pytest.mark.parametrize("attention", chosen(COPYING, "general", "monotonic", "mocha", "stochastic", "marginal"))
def test_every_attention_learns_to_copy(attention: str):
    assert learnt(small(attention), copied, COPIED_LENGTHS) >= 0.75


def test_without_attention_short_sequences_are_learnt_and_more_slowly():
    assert learnt(small("none"), copied, (2, 3), updates=600) >= 0.75


@pytest.mark.parametrize("attention", ["general", *exhaustive("mocha")])
def test_with_linear_recurrences_too(attention: str):
    blocks = {"num_layers": 1, "feed_forward_size": 64}
    encoder = SSRUConfig(hidden_size=32, dropout=0.0, **blocks)
    config = small(attention, name="ssru", **blocks).model_copy(update={"encoder": encoder, "init_range": 0.15})
    assert learnt(config, copied, COPIED_LENGTHS) >= 0.75


def test_with_input_feeding_too():
    assert learnt(small("general", input_feeding=True), copied, COPIED_LENGTHS) >= 0.75


@pytest.mark.parametrize(
    ("attention", "lengths", "until"), [("general", COPIED_LENGTHS, LEARNT), *exhaustive(("monotonic", (3, 6), 0.05))]
)
def test_with_the_other_decoder_too(attention: str, lengths: tuple[int, int], until: float):
    """Monotonic attention stops where it should only when its expectation is nearly one-hot."""
    assert learnt(small(attention, name="bahdanau"), copied, lengths, updates=600, until=until) >= 0.75


@pytest.mark.parametrize(
    "attention", chosen(those(SoftmaxAttention, MILk, but=(ATTENTIONS["location"],)), "general", "milk")
)
def test_what_can_attend_to_any_position_before_its_last_learns_to_reverse(attention: str):
    assert learnt(small(attention, causal=True), reversed_, REVERSED_LENGTHS) >= 0.75


@pytest.mark.slow
def test_location_attention_learns_to_reverse_what_has_one_length():
    """Its query is the decoder's state alone, which does not know where the source ends."""
    assert learnt(small("location", causal=True, options={"max_source_length": 9}), reversed_, (8, 8)) >= 0.75


@pytest.mark.slow
def test_the_other_decoder_learns_to_reverse():
    assert learnt(small("general", causal=True, name="bahdanau"), reversed_, REVERSED_LENGTHS, updates=600) >= 0.75


@pytest.mark.parametrize("attention", chosen(those(Monotonic, but=(MILk,)), "monotonic"))
def test_monotonic_attention_behind_a_causal_encoder_cannot_reverse(attention: str):
    assert learnt(small(attention, causal=True), reversed_, REVERSED_LENGTHS, updates=200) <= 0.3


@pytest.mark.parametrize("attention", ["general", *exhaustive("mocha")])
def test_rare_symbols_are_copied_after_updates_that_do_not_suffice_to_learn_them(attention: str):
    """Each of 500 symbols is seen some thirty times."""
    many = range(4, 504)
    copying = learnt(small(attention, copy=True), copied, COPIED_LENGTHS, symbols=many, updates=150)
    generating = learnt(small(attention), copied, COPIED_LENGTHS, symbols=many, updates=150)
    assert copying >= 0.75 and generating <= 0.3
