"""Sentences as `benchmark.py online` times them: through the attention of a model, all steps in one call, through its
decoder step by step, and through softmax attention as fast as it gets, which comes last.

That in plain PyTorch has nothing but its arithmetic: neither masks nor states. The compiled one is made of the same
loops as hard steps, and called likewise.
"""

import math
import time
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from typing import Any, NamedTuple, no_type_check

import numpy as np
import torch
from torch import Tensor

from mt.kernels.compiled import ANY_ORDER, Loop, compiled, rational_tanh
from mt.kernels.hard_step import ENERGY, MATRIX, attend, energy_of, energy_terms, matrix_terms, scale_of
from mt.models.attention import build_attention
from mt.models.attention.base import Memory
from mt.models.attention.energy import ConcatConfig, DotProduct, GeneralConfig
from mt.models.attention.global_ import BahdanauAttentionConfig, GeneralAttentionConfig
from mt.models.attention.mocha import MoChAConfig
from mt.models.attention.monotonic import MonotonicConfig
from mt.models.decoders import Decoder, DecoderParts
from mt.models.decoders.luong import Luong, LuongConfig
from mt.models.encoders import Encoded
from mt.models.frontends.embedding import Embedding, EmbeddingConfig

STEPS = 200
"""Short sentences are taken several times, for so many steps."""
STEPS_AT_ONCE = 2000
"""For so many, where all steps of a sentence are taken in one call."""
CHUNKS = {"monotonic": 1, "mocha_2": 2, "mocha_4": 4, "mocha_8": 8}
"""Hard attentions, and how many positions a step of each attends to at most."""


class Measured(NamedTuple):
    """One sentence of one length."""

    seconds: float
    energies: int


class Contender:
    """A decoder with an attention, soft or hard, or bare softmax attention. name: one of `TimedPart.names`."""

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

    def memory(self, length: int) -> Memory:
        values = torch.randn(1, length, self.size, generator=torch.Generator().manual_seed(length))
        values[0, :, 0] = torch.arange(length) + 0.5
        values[0, :, 1] = -1.0
        mask = torch.ones(1, length, dtype=torch.bool)
        return self.decoder.init_memory(Encoded(values, mask, torch.zeros(1, self.size)))

    def queries(self, length: int) -> Sequence[Tensor]:
        """Returns queries of which each has its first energy that is not negative at the position of its step."""
        queries = torch.zeros(length, 1, self.size)
        queries[:, 0, 0] = 1.0
        queries[:, 0, 1] = torch.arange(length)
        return queries.unbind(0)

    def run(self, length: int) -> Measured:
        """Takes the decoder's steps of a sentence, one after another."""
        memory = self.memory(length)
        queries = self.queries(length)
        sentences = math.ceil(STEPS / length)
        start = time.thread_time()
        computed = [energies for _ in range(sentences) for energies in self._steps(memory, queries)]
        seconds = (time.thread_time() - start) / sentences
        return Measured(seconds, sum(length if each is None else int(each) for each in computed) // sentences)

    def run_at_once(self, length: int) -> Measured:
        """Takes the attention of all steps of a sentence in one call."""
        attention = self.decoder.attention
        memory = self.memory(length)
        queries = torch.stack([*self.queries(length)], 1)
        if self.bare is not None:
            attend: Callable[[Tensor], Any] = self.bare(attention.energy, memory)
        else:
            attend = partial(attention, memory=memory, hard=self.hard)
        sentences = math.ceil(STEPS_AT_ONCE / length)
        start = time.thread_time()
        for _ in range(sentences):
            output = attend(queries)
        seconds = (time.thread_time() - start) / sentences
        # A step looks at the last stop and at what is between that and its own.
        energies = length + int(output.alpha[0, -1].argmax()) if self.hard else length**2
        return Measured(seconds, energies)

    def _steps(self, memory: Memory, queries: Sequence[Tensor]) -> Iterator[Tensor | None]:
        """Yields how many energies each step computes, None where it compares with all positions."""
        attention = self.decoder.attention
        state = self.decoder.init_state(memory, hard=self.hard)
        token = torch.tensor([2])
        for vector in queries:
            query = self.decoder.make_query(token, state)
            step = attention.step(vector, memory, query.attention_state, hard=self.hard)
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


Softmax = Callable[[Tensor], tuple[Tensor, Tensor]]
"""From queries [1, T, Q] to contexts and weights."""


def softmax_in_torch(energy: Any, memory: Memory) -> Softmax:
    """Returns softmax attention in plain PyTorch. Of additive energies the hidden units of one query at a time are
    computed, which stay in the processor's cache."""
    (keys,) = memory.keys
    if isinstance(energy.energy, DotProduct):
        return lambda queries: softmax((queries @ keys.transpose(1, 2)) * energy.gain, memory.values)
    additive = energy.energy
    direction = energy.gain * additive.direction / (additive.direction.norm() if additive.normalized else 1)

    def attend(queries: Tensor) -> tuple[Tensor, Tensor]:
        projected = energy.energy.project_query(queries)[0]
        energies = torch.stack([torch.tanh(keys[0] + query) @ direction for query in projected])
        return softmax(energies[None], memory.values)

    return attend


def softmax(energies: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
    weights = torch.softmax(energies, -1)
    return weights @ values, weights


def compiled_softmax(energy: Any, memory: Memory) -> Softmax:
    loop = soft_loop()
    (keys,) = memory.keys

    def steps(queries: Tensor) -> tuple[Tensor, Tensor]:
        plain = energy.as_plain(queries, keys)
        contexts, weights = loop(matrix_terms(memory.values), energy_terms(plain), queries.shape[1])
        return torch.from_numpy(contexts), torch.from_numpy(weights)

    return steps


@cache
def soft_loop() -> Loop:
    signature = f"UniTuple(float32[:, :, ::1], 2)({MATRIX}, {ENERGY}, int64)"
    helpers = [rational_tanh, energy_of, scale_of, attend]
    loops = compiled([(signature, _soft_steps)], helpers=helpers, fastmath=ANY_ORDER)
    assert loops is not None, "numba cannot compile here"
    return loops[0]


@no_type_check
def _soft_steps(values, terms, count):
    rows, columns, size, _ = values
    context = np.zeros((rows, count, size), np.float32)
    weights = np.zeros((rows, count, columns), np.float32)
    for row in range(rows):
        for step in range(count):
            attend(row, row * count + step, 0, columns, values, terms, weights[row, step], context[row, step])
    return context, weights


BARE = {"torch": softmax_in_torch, "compiled": compiled_softmax}
"""Softmax attention that is no model's, made of a `Scaled` energy and a memory."""
