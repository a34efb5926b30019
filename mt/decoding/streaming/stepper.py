"""Sources that grow while they arrive, and hypotheses that grow with them.

`StreamState` is the state of a source and its hypothesis. After each reading, `advance_streams` runs a greedy search
with a `StreamStepper`, from where the hypotheses are to where they need more of their sources."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from mt.data.fields import TEXT, Field, Row
from mt.decoding.modes import as_searched, evaluation_mode
from mt.decoding.terms import Entry, TermStream
from mt.models.attention.arriving import positions, trim, with_positions
from mt.models.attention.base import AttentionStep, Memory
from mt.models.decoders import DecoderQuery
from mt.models.seq2seq import Seq2Seq
from mt.search.beam import search
from mt.search.config import SearchConfig
from mt.search.hypothesis import on_host
from mt.search.options import MAX_LENGTH
from mt.search.processor import Processor
from mt.search.stepper import READ, Scores, Step
from mt.step import BOS, EOS, NEEDS_MORE_SOURCE
from mt.trees import concatenate_rows, select_some, stored_numbers

# The state of one stream.

TRIMMED_EVERY = 16
"""After so many new vectors, the part of a source that no later step can use is dropped."""


class StreamState:
    """The state of one source and its hypothesis. Hypotheses are counted in tokens, and sources in vectors of the
    front-end: those of text are tokens, too.

    A stream is in one of these states:

        state               source  query   complete  ended
        nothing is encoded  None    None    False     False
        waits for source    there   there   False     False
        stuck               there   stale   either    False
        is searched         there   stale   either    False
        ended by EOS        None    None    either    True
        finished            None    None    True      True

    While it is searched, the stepper has the present query. After EOS more of the source may come, of which nothing is
    computed. A finished stream is `cut` where it had tokens and no EOS.
    """

    def __init__(self, model: Seq2Seq, search: SearchConfig, field: Field = TEXT) -> None:
        """field: of the source."""
        self.model: Any = as_searched(model, search)
        self.search = search
        self.field = field
        self.processors: list[Processor] = search.rules(1)
        """The processors of the hypothesis, which decide which tokens may follow."""
        # What watches the hypothesis, and how it is searched.
        self.terms: TermStream | None = None
        """Writes terms into the hypothesis; None without a glossary."""
        self.reads: list[int] = []
        """The terms that the last step read; see `TermStream.reads`."""
        self.hard = search.sees(0) is None
        """Whether a hard attention decides when to write."""
        # How far the source has come.
        self.complete = False
        """Whether the source has ended."""
        self.ended = False
        """Whether the hypothesis has ended."""
        self.stuck = False
        """Whether what is asked of the hypothesis forbids every next token."""
        self.cut = False
        """Whether the limit of length ended the hypothesis; known when the source has ended."""
        self.read = 0
        """How many vectors of the source were read."""
        self.looked_at = 0
        """How many positions a monotonic attention looked at."""
        self.trimmed = 0
        """How many vectors were read when the source was last trimmed."""
        # The hypothesis so far, and where the model is.
        self.tokens: list[int] = []
        """The hypothesis."""
        self.written: list[Entry] = []
        """The translation as far as it is certain: the hypothesis with its terms."""
        self.entropies: list[float] = []
        """The entropy of the attention of each of its tokens, in nats."""
        self.source: tuple[Memory, Any] | None = None
        """A memory of one row, and the state of front-end and encoder; None before the first position."""
        self.query: DecoderQuery | None = None
        """The query of the next step, which waits for more of the source; None where no step waits."""

    def may_go_on(self) -> bool:
        """Returns whether the hypothesis may have one more token. The limit of length grows with the source, so a
        hypothesis at its limit waits."""
        if self.ended or self.stuck or len(self.tokens) >= self.search.longest(self.read):
            return False
        needed = self.search.sees(len(self.tokens))
        return needed is None or self.complete or needed <= self.read

    def certain(self, stop: int) -> bool:
        """Returns whether it is certain to which term of the glossary a position belongs."""
        return self.terms is None or self.complete or stop < self.terms.known

    def add_token(self, token: int, log_prob: float) -> None:
        """Adds the next token to the hypothesis."""
        own = [Entry(token, len(self.tokens), log_prob)]
        self.written += own if self.terms is None else self.terms.add(token, log_prob, self.reads)
        self.tokens.append(token)
        if token == EOS:
            self.end()

    def wait_with(self, query: DecoderQuery) -> None:
        """Stores a query until more of the source has come. From time to time it also drops the part of the source that
        no later step can use."""
        assert self.source is not None
        self.query = query
        if self.read - self.trimmed >= TRIMMED_EVERY:
            memory, encoder = self.source
            self.source = trim(self.model.decoder.attention, memory, query.attention_state), encoder
            self.trimmed = self.read

    @property
    def stored_numbers(self) -> int:
        """How many numbers are stored for the source and the next step."""
        return stored_numbers((self.source, self.query))

    def finish(self) -> None:
        """Ends the hypothesis after the last step: one that has not ended was cut by its limit."""
        self.cut = len(self.tokens) > 0 and not self.ended
        if self.terms is not None:
            self.written += self.terms.end()
        self.end()

    def end(self) -> None:
        """Ends the hypothesis, and drops what was stored for it."""
        self.ended = True
        self.source = None
        self.query = None


# Several streams advance in one batch.
#
# There is no loop over target tokens here. After each reading a greedy search of `mt.search.beam` begins where the
# hypotheses are, and ends where the stepper answers READ.


def advance_streams(read_rows: Sequence[tuple[StreamState, Row]]) -> None:
    """Reads the next positions of each source, and goes on with its hypothesis. At the end of a source there may be no
    positions, if it has some vector in all.

    All streams have one model, one search and one field.
    """
    if not read_rows:
        return
    with evaluation_mode(read_rows[0][0].model), torch.no_grad():
        # Sources that begin are encoded in one batch, and sources that go on in another.
        new = [(stream, row) for stream, row in read_rows if stream.source is None]
        begun = [(stream, row) for stream, row in read_rows if stream.source is not None]
        for grown in filter(None, (new, begun)):
            _grow(grown)
        # Then the hypotheses go on. The stepper ends them, since their limits of length rise with the source.
        active = [stream for stream, _ in read_rows if stream.may_go_on()]
        if not active:
            return
        limits = [MAX_LENGTH] * len(active)
        hypotheses = search(StreamStepper(active), limits, processors=[StreamProcessor(active)])
    for stream, found in zip(active, hypotheses, strict=True):
        stream.stuck = not found
        for hypothesis in found:
            if READ not in hypothesis.tokens:  # it ended with EOS, which the stepper has not seen
                stream.add_token(hypothesis.tokens[-1], hypothesis.log_probs[-1])


def _grow(grown: Sequence[tuple[StreamState, Row]]) -> None:
    """Encodes the next positions of sources, of which all have begun, or none has."""
    model = grown[0][0].model
    count = len(grown)
    device = next(model.parameters()).device
    # The new positions, padded, go behind the memories of the streams.
    source, mask = grown[0][0].field.collate([np.asarray(row) for _, row in grown])
    complete = torch.tensor([stream.complete for stream, _ in grown], device=device)
    source_before = concatenate_rows([stream.source for stream, _ in grown])
    memory, state = model.extend(source.to(device), mask.to(device), complete, source_before)
    if source_before is None:
        # Memories that were trimmed have a first position, so these have one, too: rows must be alike to be joined.
        first_tokens = torch.zeros(count, dtype=torch.int64, device=device)
        memory = memory._replace(first=first_tokens)
        begin = model.init_state(memory, hard=grown[0][0].hard)
        query = model.decoder.make_query(torch.full_like(first_tokens, BOS), begin)
    # Each stream keeps its own row, so that the next batch may be of others.
    for index, ((stream, _), vectors) in enumerate(zip(grown, state.vectors.tolist(), strict=True)):
        stream.read = vectors
        stream.source = _memory_row(memory, index), select_some(state, [index], count, device)
        if source_before is None:
            stream.query = select_some(query, [index], count, device)


class StreamStepper:
    """Steps of hypotheses whose sources are still arriving, one of each; see `mt.search.stepper.Stepper`.

    It answers READ where the attention or wait-k needs more of the source, and where the limit of length needs it. Such
    a hypothesis leaves its query in its `StreamState`, and the first step of a later search goes on with it.
    """

    def __init__(self, streams: Sequence[StreamState]) -> None:
        """streams: at least one, of one model and one search; all have begun, and may go on."""
        # Rows and hypotheses are the streams until one of them waits.
        self._streams = [*streams]
        """[R]: the stream of each row of the tensors. Streams that wait have no row."""
        self._hypotheses = [*range(len(streams))]
        """[R]: the hypothesis of each row in the last step, rising."""
        self._model = streams[0].model
        self._hard = streams[0].hard
        # The memories of all streams, padded to the longest; wait-k masks what was not read yet.
        memory = concatenate_rows([stream.source[0] for stream in streams if stream.source])
        self._device = memory.mask.device
        if not self._hard:
            memory = self._model.wait(memory, streams[0].search.sees(0))
        self._memory = memory
        # The first step goes on with the queries that the last search left.
        self._query: Any = concatenate_rows([stream.query for stream in streams])
        self._scores: Scores
        """The scores of the last step."""
        self._state: Any = None
        """The state after the last step; None before the first step, which takes the queries of the streams."""

    def step(self, tokens: list[int], parents: list[int]) -> Step:
        # The hypotheses attend, and those that need more of their sources drop out.
        if self._state is not None:
            self._continue(tokens, parents)
        self._hypotheses = [*range(len(tokens))]
        attention = self._attend()
        rows = np.full(len(tokens), READ)
        if attention is None:
            self._scores = Scores(np.zeros((0, 0), np.float32), rows)
            return Step(self._scores, None)
        # The others predict the next token.
        prediction = self._model.decoder.read_out(self._query, attention, self._memory)
        self._state = prediction.state
        self._note(attention)
        log_probs = prediction.log_probs()
        rows[self._hypotheses] = np.arange(len(self._hypotheses))
        self._scores = Scores(log_probs.numpy() if log_probs.is_cpu else log_probs, rows)
        return Step(self._scores, None)

    def _note(self, attention: AttentionStep) -> None:
        """Notes in the streams what the step attended to."""
        entropies = torch.special.entr(attention.attended.weights).sum(1).tolist()
        for row, stream in enumerate(self._streams):
            stream.entropies.append(entropies[row])
            if stream.terms is not None:
                stops = attention.attended.stops
                stop = None if stops is None else int(stops[row])
                # The weights of a soft attention are over the whole source, since nothing of it was dropped.
                weights = on_host(attention.attended.weights[row])
                stream.reads = stream.terms.reads(weights, stop, stream.search.sees(len(stream.tokens)))

    def _continue(self, tokens: list[int], parents: list[int]) -> None:
        """Makes the queries of the next step. parents: the hypothesis of the last step that each token continues."""
        state = self._state
        # Nothing is copied where each hypothesis goes on by itself.
        if parents != self._hypotheses:
            rows = [self._hypotheses.index(parent) for parent in parents]
            self._memory, state = select_some((self._memory, state), rows, len(self._streams), self._device)
            self._streams = [self._streams[row] for row in rows]
        log_probs = self._scores.at(np.array(parents), np.array(tokens)).tolist()
        for stream, token, log_prob in zip(self._streams, tokens, log_probs, strict=True):
            stream.add_token(token, log_prob)
        self._query = self._model.decoder.make_query(torch.tensor(tokens, device=self._device), state)

    def _attend(self) -> AttentionStep | None:
        """Returns the attention of the hypotheses that do not wait; None where all wait."""
        # Hypotheses leave at the limit of length or by wait-k.
        self._leave([stream.may_go_on() for stream in self._streams])
        if not self._streams:
            return None
        attention = self._model.decoder.attend(self._query, self._memory, hard=self._hard)
        if attention.attended.stops is not None:
            # They leave where their stop may yet become part of a term: the step is taken again when more has come.
            stops = attention.attended.stops.tolist()
            rows = self._leave([stream.certain(stop) for stream, stop in zip(self._streams, stops, strict=True)])
            if not rows:
                return None
            attention = select_some(attention, rows, len(stops), self._device)
        # They leave where the attention needs more of the source: the next search goes on from this state.
        self._query = self._query._replace(attention_state=attention.state)
        _, stops, _, looked_at = attention.attended
        if stops is None or looked_at is None:
            return attention
        for stream, count in zip(self._streams, looked_at.tolist(), strict=True):
            stream.looked_at += count
        rows = self._leave([stop != NEEDS_MORE_SOURCE for stop in stops.tolist()])
        return select_some(attention, rows, len(stops), self._device) if rows else None

    def _leave(self, goes_on: Sequence[bool]) -> list[int]:
        """Drops the rows of hypotheses that wait, and stores their queries. Returns the rows that stay."""
        count = len(self._streams)
        rows = [row for row, stays in enumerate(goes_on) if stays]
        if len(rows) == count:
            return rows
        # Queries are stored first, since the batch has no such rows afterwards.
        for row, stream in enumerate(self._streams):
            if not goes_on[row]:
                stream.wait_with(select_some(self._query, [row], count, self._device))
        if rows:
            self._memory, self._query = select_some((self._memory, self._query), rows, count, self._device)
        self._streams = [self._streams[row] for row in rows]
        self._hypotheses = [self._hypotheses[row] for row in rows]
        return rows


class StreamProcessor(Processor):
    """Runs the processors of each stream. They have followed its hypothesis from the beginning."""

    def __init__(self, streams: Sequence[StreamState]) -> None:
        self._streams = streams

    def mask(self, scores: Scores) -> None:
        for hypothesis, stream in enumerate(self._streams):
            if stream.processors and scores.rows[hypothesis] != READ:
                own = scores.of(hypothesis)
                for processor in stream.processors:
                    processor.mask(own)
                scores.masked |= own.masked

    def follow(self, parents: Sequence[int], tokens: Sequence[int]) -> None:
        self._streams = [self._streams[parent] for parent in parents]
        for stream, token in zip(self._streams, tokens, strict=True):
            for processor in stream.processors:
                processor.follow([0], [token])


def _memory_row(memory: Memory, index: int) -> Memory:
    """Returns one row of a memory without padding, but with at least one column."""
    count = memory.mask.shape[0]
    if count == 1:  # there is no padding
        return memory
    row_memory = select_some(memory, [index], count, memory.mask.device)
    length = max(1, int(row_memory.mask.sum()))
    if length == row_memory.mask.shape[1]:
        return row_memory
    # Copies, since views would keep the columns of the whole batch in memory.
    *parts, mask = (tensor[:, :length].clone() for tensor in (*positions(row_memory), row_memory.mask))
    return with_positions(row_memory, parts, mask)
