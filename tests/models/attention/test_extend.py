"""Sources that are still arriving: a memory that grows, and hard steps that say "not yet"."""

import random

import pytest
import torch
from torch import Tensor

from mt.models.attention import arriving, build_attention
from mt.models.attention.base import Attention, Memory
from mt.models.encoders import Encoded
from mt.step import NEEDS_MORE_SOURCE, SELECTED_NONE
from tests.marks import exhaustive
from tests.models.small import arrivals, encoded, piece

SIZE = 6
STEPS = 7


class Reader:
    """Takes the hard steps of each source of a batch as far as has arrived of it."""

    def __init__(self, attention: Attention, queries: Tensor) -> None:
        self.attention = attention
        self.queries = queries
        self.stops: list[list[int]] = [[] for _ in queries]
        self.contexts: list[list[Tensor]] = [[] for _ in queries]
        self.waited = 0
        self.looked_at = torch.zeros(len(queries), dtype=torch.int64)

    def read(self, memory: Memory, state: tuple[Tensor, ...] | None) -> tuple[Tensor, ...]:
        """Until every source has all its steps or needs more; returns the state."""
        assert memory.complete is not None
        state = self.attention.init_state(memory, hard=True) if state is None else state
        rows = torch.arange(len(self.queries))
        while True:
            done = torch.tensor([len(stops) for stops in self.stops])
            step = self.attention.step(self.queries[rows, done.clamp(max=STEPS - 1)], memory, state, hard=True)
            waiting = step.attended.stops == NEEDS_MORE_SOURCE
            assert not (waiting & memory.complete).any(), "a complete source has an answer"
            assert memory.complete[step.attended.stops == SELECTED_NONE].all(), "what goes on may still be selected"
            assert not step.attended.weights[waiting].any() and not step.context[waiting].any()
            last_stops, scanned = step.state
            assert torch.equal(last_stops[waiting], state[0][waiting])
            come = memory.mask.sum(1) + (0 if memory.first is None else memory.first)
            assert torch.equal(scanned[waiting], come[waiting]), "it has looked at all that has come"
            self.waited += int((waiting & (done < STEPS)).sum())
            if (waiting | (done >= STEPS)).all():
                return step.state
            state = step.state
            for row in (~waiting & (done < STEPS)).nonzero().flatten().tolist():
                self.stops[row].append(int(step.attended.stops[row]))
                self.contexts[row].append(step.context[row])
            self.looked_at += torch.where(done < STEPS, step.attended.looked_at, 0)


@pytest.mark.usefixtures("hard_steps")
@pytest.mark.parametrize("trimmed", [True, *exhaustive(False)])
def test_steps_of_a_source_that_arrives_are_those_of_the_whole_source(monotonic, trimmed: bool, batch, shake):
    waited = 0
    stopped = 0
    lost = 0
    lengths = batch.mask.sum(1)
    for seed in range(1, 4):  # With some parameters, pointers stop at once or never.
        attention = shake(build_attention(monotonic.config, SIZE, SIZE), seed)
        reader = Reader(attention, batch.queries)
        state = None
        memory = None
        for before, arrived in (*arrivals(lengths.tolist(), random.Random(seed)), [lengths.tolist()] * 2):
            # In some, a source is known to have ended when nothing has come any more.
            complete = torch.tensor(before if seed == 1 else arrived) == lengths
            new = encoded(*piece(batch.values, before, arrived, 1e4))
            memory = arriving.extend(attention.init_memory, memory, new, complete)
            state = reader.read(memory, state)
            memory = arriving.trim(attention, memory, state) if trimmed else memory
        memory = attention.init_memory(batch.encoded)
        state = attention.init_state(memory, hard=True)
        for i, query in enumerate(batch.queries.unbind(1)):
            step = attention.step(query, memory, state, hard=True)
            state = step.state
            assert step.attended.stops.tolist() == [stops[i] for stops in reader.stops]
            contexts = torch.stack([contexts[i] for contexts in reader.contexts])
            torch.testing.assert_close(contexts, step.context, atol=3e-6, rtol=1e-5)
            stopped += int((step.attended.stops >= 0).sum())
            lost += int((step.attended.stops == SELECTED_NONE).sum())
        assert (reader.looked_at <= lengths + STEPS).all()
        waited += reader.waited
    assert waited > 10 and stopped > 10
    assert (lost > 0) != monotonic.config.mass_preservation


@pytest.mark.usefixtures("hard_steps")
def test_before_anything_is_encoded_nothing_is_attended_to(monotonic, shake):
    """Neither at the first step nor after words of which nothing is encoded, nor where the source ends so."""
    attention = shake(build_attention(monotonic.config, 6, 6))
    values = torch.zeros(2, 0, 6)
    nothing = Encoded(values, torch.zeros(2, 0, dtype=torch.bool), torch.zeros(2, 6))
    memory = None
    for ends in (False, False, True):
        memory = arriving.extend(attention.init_memory, memory, nothing, torch.tensor([ends, ends]))
        for hard in (False, True):
            step = attention.step(torch.ones(2, 6), memory, attention.init_state(memory, hard=hard), hard=hard)
            assert not step.context.any() and not step.attended.weights.any()
