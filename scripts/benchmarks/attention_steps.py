"""Sentences as `benchmark.py online` times them, step by step or all steps in one call.

They go through the attention of a model, alone or within its decoder, and through softmax attention as fast as it gets.
"""

import math
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain
from typing import Any, NamedTuple

import torch
from benchmarks.softmax import BARE, Softmax
from torch import Tensor

from mt.models.attention import build_attention
from mt.models.attention.energy import ConcatConfig, GeneralConfig
from mt.models.attention.global_ import BahdanauAttentionConfig, GeneralAttentionConfig
from mt.models.attention.mocha import MoChAConfig
from mt.models.attention.monotonic import MonotonicConfig
from mt.models.decoders import Decoder, DecoderMemory, DecoderParts
from mt.models.decoders.luong import Luong, LuongConfig
from mt.models.encoders import Encoded
from mt.models.frontends.embedding import Embedding, EmbeddingConfig

STEPS = 200
"""How many steps are timed at once: short sentences are taken several times, and long ones in parts."""
STEPS_AT_ONCE = 2000
"""How many, likewise, of sentences whose steps are taken in one call."""
CHUNKS = {"monotonic": 1, "mocha_2": 2, "mocha_4": 4, "mocha_8": 8}
"""Hard attentions, and how many positions a step of each attends to at most."""


class Measured(NamedTuple):
    """One sentence of one length."""

    parts: list[float]
    """Seconds of its parts, in order."""
    energies: int

    @property
    def seconds(self) -> float:
        return sum(self.parts)


class Contender:
    """A decoder with an attention, soft or hard, or a bare step of its softmax. name: one of `TimedPart.names`."""

    def __init__(self, name: str, energy: str, size: int, vocabulary: int) -> None:
        self.size = size
        self.hard = name in CHUNKS
        self.bare = BARE.get(name)
        attention: Any = build_attention(_configured(name, energy, size), size, size)
        parts = DecoderParts(Embedding(EmbeddingConfig(), vocabulary), attention, size, size, tied=False)
        self.decoder: Decoder = Luong(LuongConfig(hidden_size=size, init_hidden="zeros"), parts).eval()
        attention.energy.gain.fill_(1.0)
        if self.hard:
            attention.energy.bias.zero_()
        # The first unit of a query and the first two of a value decide where the pointer stops.
        scores = attention.energy.energy
        if energy == "general":
            scores.project.weight.copy_(torch.eye(size))
            return
        for part, sign in ((scores.project_query.weight, -1), (scores.project_value.weight, 1)):
            part[0] = 0.0
            part[0, 0 if sign > 0 else 1] = float(sign)
        scores.project_value.bias[0] = 0.0
        scores.direction.copy_(torch.eye(size)[0])

    def memory(self, length: int) -> DecoderMemory:
        values = torch.randn(1, length, self.size, generator=torch.Generator().manual_seed(length))
        values[0, :, 0] = torch.arange(length) + 0.5
        values[0, :, 1] = -1.0
        mask = torch.ones(1, length, dtype=torch.bool)
        return self.decoder.init_memory(Encoded(values, values, mask, torch.zeros(1, self.size)))

    def queries(self, length: int) -> Sequence[Tensor]:
        """Returns queries of which each has its first energy that is not negative at the position of its step."""
        queries = torch.zeros(length, 1, self.size)
        queries[:, 0, 0] = 1.0
        queries[:, 0, 1] = torch.arange(length)
        return queries.unbind(0)

    def run(self, whole: bool, length: int) -> Measured:
        """Takes the steps of a sentence. whole: whether they are the decoder's."""
        memory = self.memory(length)
        queries = self.queries(length)
        sentences = math.ceil(STEPS / length)
        steps = self._decoder if whole else self._attention
        if self.bare is not None:
            steps = partial(_bare, self.bare.step(self.decoder.attention.energy, memory.attention))
        parts = []
        computed = []
        start = time.thread_time()
        for number, energies in enumerate(chain.from_iterable(steps(memory, queries) for _ in range(sentences)), 1):
            computed.append(energies)
            if number % STEPS == 0 or number == sentences * length:
                now = time.thread_time()
                parts.append((now - start) / sentences)
                start = now
        return Measured(parts, sum(length if each is None else int(each) for each in computed) // sentences)

    def run_at_once(self, length: int) -> Measured:
        """Takes the attention of all steps of a sentence in one call."""
        attention = self.decoder.attention
        memory = self.memory(length).attention
        queries = torch.stack([*self.queries(length)], 1)
        if self.bare is not None:
            attend: Callable[[Tensor], Any] = self.bare.all_steps(attention.energy, memory)
        else:
            attend = partial(attention, memory=memory, hard=self.hard)
        sentences = math.ceil(STEPS_AT_ONCE / length)
        start = time.thread_time()
        for _ in range(sentences):
            output = attend(queries)
        seconds = (time.thread_time() - start) / sentences
        # A step looks at the last stop and at what is between that and its own.
        energies = length + int(output.alpha[0, -1].argmax()) if self.hard else length**2
        return Measured([seconds], energies)

    def _attention(self, memory: DecoderMemory, queries: Sequence[Tensor]) -> Iterator[Tensor | None]:
        """Yields how many energies each step computes, None where it compares with all positions."""
        attention = self.decoder.attention
        state = attention.init_state(memory.attention, hard=self.hard)
        for query in queries:
            step = attention.step(query, memory.attention, state, hard=self.hard)
            state = step.state
            yield step.attended.looked_at

    def _decoder(self, memory: DecoderMemory, queries: Sequence[Tensor]) -> Iterator[Tensor | None]:
        attention = self.decoder.attention
        state = self.decoder.init_state(memory, hard=self.hard)
        token = torch.tensor([2])
        for vector in queries:
            query = self.decoder.make_query(token, state)
            step = attention.step(vector, memory.attention, query.attention_state, hard=self.hard)
            prediction = self.decoder.read_out(query, step, memory)
            state = prediction.state
            token = prediction.logits.argmax(-1)
            yield step.attended.looked_at


def _configured(name: str, energy: str, size: int) -> Any:
    """Returns the options of a contender's attention."""
    if name not in CHUNKS:
        soft = {"general": GeneralAttentionConfig(), "concat": BahdanauAttentionConfig(scaled=True, attention_dim=size)}
        return soft[energy]
    scores: Any = {"general": GeneralConfig(), "concat": ConcatConfig(attention_dim=size)}[energy]
    return MoChAConfig(energy=scores, chunk_size=CHUNKS[name]) if CHUNKS[name] > 1 else MonotonicConfig(energy=scores)


def _bare(step: Softmax, memory: DecoderMemory, queries: Sequence[Tensor]) -> Iterator[None]:
    for query in queries:
        step(query)
        yield None
