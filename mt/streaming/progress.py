"""How far sources and their hypotheses have come, and how they go on, several in one batch."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from mt.data.fields import TEXT
from mt.data.tokenizer import BOS, EOS, Tokenizers, Unit
from mt.models.attention import NOT_YET
from mt.models.decoders import DecoderMemory, Question
from mt.models.seq2seq import Seq2Seq
from mt.search.config import SearchConfig, waits
from mt.search.hypothesis import top_k
from mt.streaming.rows import joined, memory_row, picked


class Setting(NamedTuple):
    """What the sessions of a batch have in common."""

    model: Seq2Seq
    tokenizers: Tokenizers
    search: SearchConfig
    unit: Unit
    """What is read and written: words (what stands between blanks), or characters."""

    @property
    def wait(self) -> int | None:
        """k of wait-k; None where a hard attention decides when to write."""
        return waits(self.search)

    @property
    def hard(self) -> bool:
        return self.wait is None


class Progress:
    """Of one source and its hypothesis, in tokens."""

    def __init__(self, setting: Setting) -> None:
        self.setting = setting
        self.complete = False
        """Whether the source has ended."""
        self.ended = False
        """Whether the hypothesis has."""
        self.read = self.length = self.energies = 0
        """Tokens of the source, of the hypothesis, and monotonic energies computed."""
        self.prefix: list[int] = []
        """The hypothesis, where n-grams of it are looked up."""
        self.source: tuple[DecoderMemory, Any] | None = None
        """A memory of one row, and the encoder's state; None before the first token."""
        self.question: Question | None = None
        """Of the next step."""

    def may_go_on(self) -> bool:
        """Whether what was read allows a longer hypothesis: a runaway one waits for the source, and ends with it."""
        search, wait = self.setting.search, self.setting.wait
        if self.ended or self.length >= int(search.max_lengths(torch.tensor(self.read))):
            return False
        return wait is None or self.complete or self.read >= wait + self.length

    def take(self, token: int) -> None:
        """The next token of the hypothesis."""
        self.length += 1
        if self.setting.search.no_repeat_ngram_size:
            self.prefix.append(token)
        if token == EOS:
            self.end()

    def keep(self, question: Question) -> None:
        """Waits with a question until more of the source has come; keeps of the source what steps can still use."""
        assert self.source is not None
        memory, encoder = self.source
        self.question = question
        self.source = self.setting.model.decoder.trim(memory, question.attention_state), encoder

    def end(self) -> None:
        """Nothing is kept for a hypothesis that has ended."""
        self.ended, self.source, self.question = True, None, None


@torch.no_grad()
def go_on(heard: Sequence[tuple[Progress, Sequence[int]]]) -> list[list[int]]:
    """Reads tokens, at least one of each source; returns the tokens that each hypothesis goes on with."""
    rows: list[list[int]] = [[] for _ in heard]
    new = [(one, ids) for one, ids in heard if one.source is None]
    begun = [(one, ids) for one, ids in heard if one.source is not None]
    for grown in filter(None, (new, begun)):
        _grow(grown)
    _advance([(one, row) for (one, _), row in zip(heard, rows, strict=True) if one.may_go_on()])
    return rows


def _grow(grown: Sequence[tuple[Progress, Sequence[int]]]) -> None:
    """Encodes the next tokens of sources that have all begun, or that all begin with them."""
    setting, count = grown[0][0].setting, len(grown)
    model, device = setting.model, next(setting.model.parameters()).device
    source, mask = TEXT.collate([np.array(ids) for _, ids in grown])
    complete = torch.tensor([one.complete for one, _ in grown], device=device)
    before = joined([one.source for one, _ in grown])
    memory, encoder = model.extend(source.to(device), mask.to(device), complete, before)
    if before is None:
        # As it is when something has been dropped, so that rows can be joined.
        first = torch.zeros(count, dtype=torch.int64, device=device)
        memory = memory._replace(attention=memory.attention._replace(first=first))
        state = model.init_state(memory, hard=setting.hard)
        question = model.decoder.ask(torch.full_like(first, BOS), state)
    for index, (one, ids) in enumerate(grown):
        one.read += len(ids)
        one.source = memory_row(memory, index), picked(encoder, [index], count, device)
        if before is None:
            one.question = picked(question, [index], count, device)


def _advance(active: list[tuple[Progress, list[int]]]) -> None:
    """Takes all the steps that what was read decides, and puts their tokens into the lists."""
    if not active:
        return
    setting = active[0][0].setting
    model = setting.model
    memory = joined([one.source[0] for one, _ in active if one.source])
    memory = memory if setting.wait is None else model.wait(memory, setting.wait)
    question: Any = joined([one.question for one, _ in active])
    while active:
        attended = model.decoder.attention.step(
            question.query, memory.attention, question.attention_state, hard=setting.hard
        )
        question = question._replace(attention_state=attended.state)
        if attended.stops is not None and attended.energies is not None:
            for (one, _), energies in zip(active, attended.energies.tolist(), strict=True):
                one.energies += energies
            decided = (attended.stops != NOT_YET).tolist()
            active, (memory, question, attended) = _staying(active, decided, (memory, question, attended))
        if not active:
            break
        prediction = model.decoder.answer(question, attended)
        tokens = top_k(prediction.logits, 1, _forbidden(active, prediction.logits))[1][:, 0]
        for (one, row), token in zip(active, tokens.tolist(), strict=True):
            one.take(token)
            row.append(token)
        question = model.decoder.ask(tokens, prediction.state)
        free = [one.may_go_on() for one, _ in active]
        active, (memory, question) = _staying(active, free, (memory, question))


def _staying(
    active: Sequence[tuple[Progress, list[int]]], stays: Sequence[bool], trees: Any
) -> tuple[list[tuple[Progress, list[int]]], Any]:
    """Those that go on, and their rows of (memory, question, ...). The others keep their question."""
    memory, question = trees[:2]
    count, device = len(active), memory.final_state.device
    for index, ((one, _), stay) in enumerate(zip(active, stays, strict=True)):
        if not (stay or one.ended):
            one.keep(picked(question, [index], count, device))
    kept = [index for index, stay in enumerate(stays) if stay]
    return [active[index] for index in kept], picked(trees, kept, count, device)


def _forbidden(active: Sequence[tuple[Progress, list[int]]], logits: Tensor) -> Tensor | None:
    """[N, V] bool: the tokens that may not follow; see `Constraints.forbidden`."""
    constraints = active[0][0].setting.search.constraints
    masks = [
        constraints.forbidden(logit[None], torch.tensor([one.prefix], device=logit.device), one.length)
        for (one, _), logit in zip(active, logits, strict=True)
    ]
    if all(mask is None for mask in masks):
        return None
    anything = torch.zeros_like(logits[:1], dtype=torch.bool)
    return torch.cat([anything if mask is None else mask for mask in masks])
