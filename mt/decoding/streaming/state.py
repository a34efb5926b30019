"""How far sources and their hypotheses have come, and how they go on, several in one batch."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from mt.data.fields import TEXT, Field, Row
from mt.data.tokenizer import BOS, EOS
from mt.models.attention import NEEDS_MORE_SOURCE
from mt.models.decoders import DecoderMemory, DecoderQuery
from mt.models.seq2seq import Seq2Seq
from mt.search.config import SearchConfig, waits
from mt.search.torch_stepper import top_k
from mt.trees import concatenated, kept_rows, stored_numbers


class StreamState:
    """How far one source and its hypothesis have come, in tokens and in vectors of the front-end, which of text are
    tokens, too."""

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
        return stored_numbers((self.source, self.query))

    def finish(self) -> None:
        """After the last step: a hypothesis that goes on here was stopped by its limit."""
        self.cut = self.length > 0 and not self.ended
        self.end()

    def end(self) -> None:
        """Nothing is kept for a hypothesis that has ended."""
        self.ended, self.source, self.query = True, None, None


@torch.no_grad()
def advance_streams(parts: Sequence[tuple[StreamState, Row]]) -> list[list[int]]:
    """Reads the next positions of each source, which may be none at its end, and gives at least one vector in all;
    returns the tokens that each hypothesis goes on with.

    All are of one model, one search and one field.
    """
    rows: list[list[int]] = [[] for _ in parts]
    new = [(one, row) for one, row in parts if one.source is None]
    begun = [(one, row) for one, row in parts if one.source is not None]
    for grown in filter(None, (new, begun)):
        _grow(grown)
    _advance([(one, row) for (one, _), row in zip(parts, rows, strict=True) if one.may_go_on()])
    return rows


def _grow(grown: Sequence[tuple[StreamState, Row]]) -> None:
    """Encodes the next positions of sources that have all begun, or that all begin with them."""
    model, wait, count = grown[0][0].model, grown[0][0].wait, len(grown)
    device = next(model.parameters()).device
    source, mask = grown[0][0].field.collate([np.asarray(row) for _, row in grown])
    complete = torch.tensor([one.complete for one, _ in grown], device=device)
    before = concatenated([one.source for one, _ in grown])
    memory, state = model.extend(source.to(device), mask.to(device), complete, before)
    if before is None:
        # As it is when something has been dropped, so that rows can be joined.
        first = torch.zeros(count, dtype=torch.int64, device=device)
        memory = memory._replace(attention=memory.attention._replace(first=first))
        begin = model.init_state(memory, hard=wait is None)
        query = model.decoder.make_query(torch.full_like(first, BOS), begin)
    for index, ((one, _), vectors) in enumerate(zip(grown, state.vectors.tolist(), strict=True)):
        one.read = vectors
        one.source = _memory_row(memory, index), kept_rows(state, [index], count, device)
        if before is None:
            one.query = kept_rows(query, [index], count, device)


def _advance(active: list[tuple[StreamState, list[int]]]) -> None:
    """Takes all the steps that what was read decides, and puts their tokens into the lists."""
    if not active:
        return
    model, wait = active[0][0].model, active[0][0].wait
    memory = concatenated([one.source[0] for one, _ in active if one.source])
    memory = memory if wait is None else model.wait(memory, wait)
    query: Any = concatenated([one.query for one, _ in active])
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
        tokens = top_k(prediction.logits, 1, _forbidden(active, prediction.logits.shape[1]))[1][:, 0]
        for (one, row), token in zip(active, tokens.tolist(), strict=True):
            one.take(token)
            row.append(token)
        query = model.decoder.make_query(tokens, prediction.state)
        free = [one.may_go_on() for one, _ in active]
        active, (memory, query) = _staying(active, free, (memory, query))


def _staying(
    active: Sequence[tuple[StreamState, list[int]]], stays: Sequence[bool], trees: Any
) -> tuple[list[tuple[StreamState, list[int]]], Any]:
    """Those that go on, and their rows of (memory, query, ...). The others keep their query."""
    memory, query = trees[:2]
    count, device = len(active), memory.final_state.device
    for index, ((one, _), stay) in enumerate(zip(active, stays, strict=True)):
        if not (stay or one.ended):
            one.keep(kept_rows(query, [index], count, device))
    kept = [index for index, stay in enumerate(stays) if stay]
    return [active[index] for index in kept], kept_rows(trees, kept, count, device)


def _forbidden(
    active: Sequence[tuple[StreamState, list[int]]], vocabulary: int
) -> tuple[np.ndarray, np.ndarray] | None:
    """Rows and the tokens that may not follow them; see `Constraints.forbidden`."""
    constraints, rows, tokens = active[0][0].search.constraints, list[np.ndarray](), list[np.ndarray]()
    for number, (one, _) in enumerate(active):
        forbidden = constraints.forbidden(np.array([one.prefix], np.int64), one.length)
        if forbidden is not None:
            tokens.append(forbidden.pairs(vocabulary)[1])
            rows.append(np.full(len(tokens[-1]), number))
    return (np.concatenate(rows), np.concatenate(tokens)) if rows else None


def _memory_row(memory: DecoderMemory, index: int) -> DecoderMemory:
    """One row of a memory, without padding, but for one column where nothing is encoded yet."""
    one = kept_rows(memory, [index], len(memory.final_state), memory.final_state.device)
    attention = one.attention
    length = max(1, int(attention.mask.sum()))
    if length == attention.mask.shape[1]:
        return one
    keys = tuple(key[:, :length].clone() for key in attention.keys)
    values, mask = attention.values[:, :length].clone(), attention.mask[:, :length].clone()
    return one._replace(attention=attention._replace(keys=keys, values=values, mask=mask))
