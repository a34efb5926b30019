"""How far sources and their hypotheses have come, and how they go on, several in one batch."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from mt.data.fields import TEXT, Field, Row
from mt.data.tokenizer import BOS, EOS
from mt.models.attention import NEEDS_MORE_SOURCE
from mt.models.decoders import DecoderMemory, DecoderQuery
from mt.models.seq2seq import Seq2Seq
from mt.search.config import SearchConfig, waits
from mt.search.hypothesis import top_k
from mt.streaming.rows import elements, joined, memory_row, picked


class Progress:
    """Of one source and its hypothesis, in tokens and in vectors of the front-end, which of text are tokens, too."""

    def __init__(self, model: Seq2Seq, search: SearchConfig, field: Field = TEXT) -> None:
        """field: of the source."""
        self.model, self.search, self.field = model, search, field
        self.wait = waits(search)
        """k of wait-k; None where a hard attention decides when to write."""
        self.complete = False
        """Whether the source has ended."""
        self.ended = False
        """Whether the hypothesis has."""
        self.cut = False
        """Whether its limit ended it; known when the source has ended."""
        self.read = self.length = self.energies = 0
        """Vectors of the source, tokens of the hypothesis, and monotonic energies computed."""
        self.prefix: list[int] = []
        """The hypothesis, where n-grams of it are looked up."""
        self.source: tuple[DecoderMemory, Any] | None = None
        """A memory of one row, and the state of front-end and encoder; None before the first position."""
        self.query: DecoderQuery | None = None
        """Of the next step."""

    def may_go_on(self) -> bool:
        """Whether what was read allows a longer hypothesis: a runaway one waits for the source, and ends with it."""
        if self.ended or self.length >= int(self.search.max_lengths(torch.tensor(self.read))):
            return False
        return self.wait is None or self.complete or self.read >= self.wait + self.length

    def take(self, token: int) -> None:
        """The next token of the hypothesis."""
        self.length += 1
        if self.search.no_repeat_ngram_size:
            self.prefix.append(token)
        if token == EOS:
            self.end()

    def keep(self, query: DecoderQuery) -> None:
        """Waits with a query until more of the source has come; keeps of the source what steps can still use."""
        assert self.source is not None
        memory, encoder = self.source
        self.query = query
        self.source = self.model.decoder.trim(memory, query.attention_state), encoder

    @property
    def kept(self) -> int:
        """Numbers that are kept of the source, and for the next step."""
        return elements((self.source, self.query))

    def finish(self) -> None:
        """After the last step: a hypothesis that goes on here was stopped by its limit."""
        self.cut = self.length > 0 and not self.ended
        self.end()

    def end(self) -> None:
        """Nothing is kept for a hypothesis that has ended."""
        self.ended, self.source, self.query = True, None, None


@torch.no_grad()
def go_on(heard: Sequence[tuple[Progress, Row]]) -> list[list[int]]:
    """Reads the next positions of each source, which may be none at its end, and gives at least one vector in all;
    returns the tokens that each hypothesis goes on with.

    All are of one model, one search and one field.
    """
    rows: list[list[int]] = [[] for _ in heard]
    new = [(one, row) for one, row in heard if one.source is None]
    begun = [(one, row) for one, row in heard if one.source is not None]
    for grown in filter(None, (new, begun)):
        _grow(grown)
    _advance([(one, row) for (one, _), row in zip(heard, rows, strict=True) if one.may_go_on()])
    return rows


def _grow(grown: Sequence[tuple[Progress, Row]]) -> None:
    """Encodes the next positions of sources that have all begun, or that all begin with them."""
    model, wait, count = grown[0][0].model, grown[0][0].wait, len(grown)
    device = next(model.parameters()).device
    source, mask = grown[0][0].field.collate([np.asarray(row) for _, row in grown])
    complete = torch.tensor([one.complete for one, _ in grown], device=device)
    before = joined([one.source for one, _ in grown])
    memory, state = model.extend(source.to(device), mask.to(device), complete, before)
    if before is None:
        # As it is when something has been dropped, so that rows can be joined.
        first = torch.zeros(count, dtype=torch.int64, device=device)
        memory = memory._replace(attention=memory.attention._replace(first=first))
        begin = model.init_state(memory, hard=wait is None)
        query = model.decoder.make_query(torch.full_like(first, BOS), begin)
    for index, ((one, _), vectors) in enumerate(zip(grown, state.vectors.tolist(), strict=True)):
        one.read = vectors
        one.source = memory_row(memory, index), picked(state, [index], count, device)
        if before is None:
            one.query = picked(query, [index], count, device)


def _advance(active: list[tuple[Progress, list[int]]]) -> None:
    """Takes all the steps that what was read decides, and puts their tokens into the lists."""
    if not active:
        return
    model, wait = active[0][0].model, active[0][0].wait
    memory = joined([one.source[0] for one, _ in active if one.source])
    memory = memory if wait is None else model.wait(memory, wait)
    query: Any = joined([one.query for one, _ in active])
    while active:
        attended = model.decoder.attend(query, memory, hard=wait is None)
        query = query._replace(attention_state=attended.state)
        if attended.stops is not None and attended.energies is not None:
            for (one, _), energies in zip(active, attended.energies.tolist(), strict=True):
                one.energies += energies
            decided = (attended.stops != NEEDS_MORE_SOURCE).tolist()
            active, (memory, query, attended) = _staying(active, decided, (memory, query, attended))
        if not active:
            break
        prediction = model.decoder.read_out(query, attended)
        tokens = top_k(prediction.logits, 1, _forbidden(active, prediction.logits))[1][:, 0]
        for (one, row), token in zip(active, tokens.tolist(), strict=True):
            one.take(token)
            row.append(token)
        query = model.decoder.make_query(tokens, prediction.state)
        free = [one.may_go_on() for one, _ in active]
        active, (memory, query) = _staying(active, free, (memory, query))


def _staying(
    active: Sequence[tuple[Progress, list[int]]], stays: Sequence[bool], trees: Any
) -> tuple[list[tuple[Progress, list[int]]], Any]:
    """Those that go on, and their rows of (memory, query, ...). The others keep their query."""
    memory, query = trees[:2]
    count, device = len(active), memory.final_state.device
    for index, ((one, _), stay) in enumerate(zip(active, stays, strict=True)):
        if not (stay or one.ended):
            one.keep(picked(query, [index], count, device))
    kept = [index for index, stay in enumerate(stays) if stay]
    return [active[index] for index in kept], picked(trees, kept, count, device)


def _forbidden(active: Sequence[tuple[Progress, list[int]]], logits: Tensor) -> Tensor | None:
    """[N, V] bool: the tokens that may not follow; see `Constraints.forbidden`."""
    constraints = active[0][0].search.constraints
    masks = [
        constraints.forbidden(logit[None], torch.tensor([one.prefix], device=logit.device), one.length)
        for (one, _), logit in zip(active, logits, strict=True)
    ]
    if all(mask is None for mask in masks):
        return None
    anything = torch.zeros_like(logits[:1], dtype=torch.bool)
    return torch.cat([anything if mask is None else mask for mask in masks])
