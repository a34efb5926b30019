"""Policies: the searches that write while a source arrives, and which tokens each may write. Needs no torch.

A search decodes what has come of a source to a `Draft`, and its `writes(draft)` says how many tokens of it may be
written. What is written stays. There are two ways to make drafts (`mt.decoding.streaming`):

    extend   an encoder that reads from left to right keeps its state, and one hypothesis goes on token by token
    redraft  all that has come is encoded again, what is written is forced, and the search goes on from there: any
             encoder, any beam

`OnlineConfig` and `WaitKConfig` extend where the model can, and redraft elsewhere. All others redraft.
"""

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

import numpy as np
from pydantic import Field

from mt.common.options import as_written
from mt.errors import UserError
from mt.search.beam import search
from mt.search.hypothesis import Hypothesis
from mt.search.options import MAX_LENGTH, BeamConfig, BeamOptions, GreedyConfig, SearchOptions
from mt.search.processor import Processor
from mt.search.stepper import Stepper
from mt.step import EOS


class Draft(NamedTuple):
    """A hypothesis for what has come of a source: T tokens, and S source positions, EOS not counted."""

    tokens: Sequence[int]
    """EOS included, if it ends."""
    weights: np.ndarray
    """[T, S]: the attention of each token."""
    log_probs: Sequence[float]
    """[T]: the log-probability of each token."""
    stops: np.ndarray | None
    """[T]: where a hard attention stopped, negative where it selected nothing; None where it is soft."""
    written: int
    """How many of the tokens were written before, so that the draft had to begin with them."""
    read: int
    """How many source positions will not change: S, or fewer beside words that a recogniser may still correct."""
    complete: bool
    """Whether the source has ended."""
    earlier: Sequence[Sequence[int]] = ()
    """The tokens of the drafts before, the last one last."""
    words: Sequence[int] | None = None
    """How many positions each source word has; None: one each."""
    closing: Collection[int] = ()
    """The tokens that close a sentence, such as a full stop."""

    @property
    def end(self) -> int:
        """How many tokens stand before EOS. A full stop in front of it is part of the end: while the source goes on,
        neither is certain."""
        end = self.tokens.index(EOS) if EOS in self.tokens else len(self.tokens)
        # Without EOS nothing says that the sentence ends behind the full stop.
        while 0 < end < len(self.tokens) and self.tokens[end - 1] in self.closing:
            end -= 1
        return end

    def until(self, position: int) -> int:
        """Returns how many tokens come before the first new one that attends most to this source position, or behind
        it."""
        return first(self.weights.argmax(1) >= position, self.written)

    def before(self, words: int) -> int:
        """Returns how many source positions come before the last `words` words that will not change."""
        if self.words is None:
            return max(0, self.read - words)
        # Where each word ends; words without pieces are no words of the model.
        ends = np.cumsum([0, *(count for count in self.words if count)])
        # The words whose last piece will not change either.
        whole = int(np.searchsorted(ends, self.read, side="right")) - 1
        return int(ends[max(0, whole - words)])


def first(held: np.ndarray, begin: int) -> int:
    """Returns the number of the first token from `begin` on that is held back, else how many tokens there are.

    held: [T] bool.
    """
    found = np.flatnonzero(held[begin:])
    return begin + int(found[0]) if len(found) else len(held)


def common_beginning(drafts: Sequence[Sequence[int]]) -> int:
    """Returns how many tokens all drafts have in common from the beginning."""
    # `zip` ends with the shortest draft, behind which nothing is in common.
    return first(np.array([len({*tokens}) > 1 for tokens in zip(*drafts, strict=False)], bool), 0)


# Searches that extend a hypothesis. Which source positions a token needs is known before the token is.


class ExtendingOptions(SearchOptions):
    """A greedy search of which each token needs a certain beginning of the source, whatever comes behind it.

    With a hard monotonic attention behind a one-way encoder, a target token depends on the source only up to where the
    attention stopped (Raffel et al. 2017, section 2.2). It can be written while the rest is still being spoken. Wait-k
    reads k source tokens, then writes and reads one in turn (Ma et al. 2019, section 3.1): g(t) = min(k + t - 1, |x|).
    """

    timed: ClassVar[bool] = True
    extends: ClassVar[bool] = True

    def needed(self, places: np.ndarray, stops: np.ndarray | None, length: int) -> np.ndarray:
        """Returns [T] int64, how many source positions must have come for each token.

        places: [T], the numbers of the tokens, from 0. stops: as in `Draft`. length: of the source, EOS included.
        """
        raise NotImplementedError

    def simulated(
        self, stepper: Stepper, source_lengths: Sequence[int], processors: Sequence[Processor] = ()
    ) -> list[list[Hypothesis]]:
        """Returns the hypothesis of each sentence, with the delays that it would have if its source arrived token by
        token; none where processors allow none. A token is written when what it needs has come, and not before the
        tokens in front of it. While the source goes on, a hypothesis is no longer than what was read allows.

        stepper: for wait-k, one that hides from each step what has not been read by then. source_lengths: in tokens,
        EOS included.
        """
        # The longest hypothesis after each number of source tokens, from none on. It rises, so that it can be searched.
        limits = [self.longest(length) for length in range(max(source_lengths) + 1)]
        found = search(stepper, [limits[length] for length in source_lengths], processors=processors)

        def delayed(one: Hypothesis, length: int) -> Hypothesis:
            places = np.arange(len(one.tokens))
            needed = self.needed(places, one.windows.stops, length)
            # The fewest source tokens with which so many tokens may be written.
            allowed = np.searchsorted(limits, places + 1)
            # A token also waits for the tokens in front of it, so that delays never fall.
            return replace(one, delays=np.maximum.accumulate(np.maximum(needed, allowed)))

        pairs = zip(found, source_lengths, strict=True)
        return [[delayed(one, length) for one in of_sentence] for of_sentence, length in pairs]

    def certain(self, draft: Draft) -> int:
        # The length counts EOS, for which the weights of a draft have no column.
        needed = self.needed(np.arange(len(draft.tokens)), draft.stops, draft.weights.shape[1] + 1)
        return first(needed > draft.read, draft.written)


class StoppingConfig(GreedyConfig):
    """The search of a draft of `OnlineConfig`."""

    threshold: float | None = None


class OnlineConfig(ExtendingOptions):
    """Greedy search that reports how much of the source had been read at each token; the attention reads hard."""

    name: Literal["online"] = "online"
    threshold: float | None = Field(None, gt=0, lt=1, allow_inf_nan=False)
    """The attention stops where it would with at least this probability: lower writes sooner, higher later, without
    another training. null: 0.5 (Raffel et al. 2017)."""

    @property
    def drafting(self) -> StoppingConfig:
        return StoppingConfig(**self.model_dump(exclude={"name"}), mode="hard")

    def needed(self, places: np.ndarray, stops: np.ndarray | None, length: int) -> np.ndarray:
        assert stops is not None  # no other attention is searched so
        # To have selected nothing, a step must have read the whole source.
        return np.where(stops < 0, length, stops + 1)


class WaitKConfig(ExtendingOptions):
    """Greedy search that writes target token t, counted from 1, when k + t - 1 source tokens have come (Ma et al. 2019,
    section 3.1). Where the model can, each token sees these source tokens alone; else all that have come."""

    name: Literal["wait_k"] = "wait_k"
    k: Annotated[int, "tokens"] = Field(3, ge=1, le=MAX_LENGTH)
    """Source tokens read before the first target token; from then on one for each."""

    @property
    def drafting(self) -> GreedyConfig:
        return GreedyConfig(**self.model_dump(exclude={"name", "k"}), mode="soft")

    def sees(self, place: Any) -> Any:
        return self.k + place

    def needed(self, places: np.ndarray, stops: np.ndarray | None, length: int) -> np.ndarray:
        return np.minimum(self.sees(places), length)


# Searches that draft anew, by a beam.


class RedraftOptions(BeamOptions):
    """A beam that drafts what has come of a source again and again, and how often."""

    step: Annotated[int, "words"] = Field(1, ge=1, le=MAX_LENGTH)
    """Source words that come between two drafts; of sound steps of the front-end. More words for each draft cost less
    and give better texts, later."""
    timed: ClassVar[bool] = True
    looks_ahead: ClassVar[bool] = True

    @property
    def pace(self) -> int:
        return self.step

    @property
    def drafting(self) -> BeamConfig:
        return BeamConfig(**{name: value for name, value in self if name in BeamOptions.model_fields})


class AlignAttConfig(RedraftOptions):
    """A beam whose drafts are written up to the first token that attends to the last source words (AlignAtt, Papi et
    al. 2023). For any model with attention; nothing is trained for it."""

    name: Literal["alignatt"] = "alignatt"
    f: Annotated[int, "words"] = Field(2, ge=0, le=MAX_LENGTH)
    """The last source words: a token that attends most to one of them, or to what may still change, is held back."""
    share: float | None = Field(None, gt=0, le=1e3, allow_inf_nan=False)
    """A token is held back where the last words have at least this much of its attention, of which the squares sum to 1
    (EDAtt, Papi et al. 2022: 0.03 to 0.6); null: where they have the largest weight."""
    sure: float | None = Field(None, gt=0, lt=1, allow_inf_nan=False)
    """As far as all new tokens have at least this probability, they wait for f - 1 words alone; null: they wait for f
    whatever their probability. On Multi30k 0.7 writes almost half a word sooner, for 0.0 to 0.7 BLEU."""

    def certain(self, draft: Draft) -> int:
        behind = self._behind(draft, self.f)
        if self.sure is None:
            return behind
        sure = first(np.less(draft.log_probs, np.log(self.sure)), draft.written)
        # Sure tokens wait for one word less, and no token waits longer than without `sure`.
        return max(behind, min(sure, self._behind(draft, max(0, self.f - 1))))

    def _behind(self, draft: Draft, words: int) -> int:
        """Returns how many tokens come before the first new one that attends to the last `words` words."""
        before = draft.before(words)
        if self.share is None:
            return draft.until(before)
        # EDAtt's threshold is for weights whose squares sum to 1. Weights of 0 stay 0.
        norms = np.linalg.norm(draft.weights, axis=1, keepdims=True).clip(1e-12)
        return first((draft.weights / norms)[:, before:].sum(1) >= self.share, draft.written)


def require_attention(search: SearchOptions, attends: bool) -> None:
    """Raises UserError where a search looks at the attention of a model that learns none."""
    if isinstance(search, AlignAttConfig) and not attends:
        raise UserError(
            f"{as_written('search', 'alignatt')} looks at the attention, and this model learns none: choose "
            f"{as_written('search', 'agree')}"
        )


class AgreeConfig(RedraftOptions):
    """A beam whose drafts are written as far as several in a row agree (local agreement, Liu et al. 2020). For any
    model; it asks for no attention."""

    name: Literal["agree"] = "agree"
    n: Annotated[int, "drafts"] = Field(2, ge=1, le=100)
    """The drafts in a row that have to begin alike; 1: each draft is believed."""
    hold: Annotated[int, "tokens"] = Field(0, ge=0, le=MAX_LENGTH)
    """Tokens at the end of what they have in common that are held back (hold-n of Polák et al. 2022 with n=1)."""

    def certain(self, draft: Draft) -> int:
        # This draft with the n - 1 before it; while there are fewer, nothing is certain.
        drafts = [*draft.earlier[len(draft.earlier) + 1 - self.n :], draft.tokens]
        return min(common_beginning(drafts), draft.end) - self.hold if len(drafts) >= self.n else draft.written


class RetranslateConfig(RedraftOptions):
    """A beam that translates all that has come anew with each word of a text (Arivazhagan et al. 2020). Nothing is
    written before the source ends, and what was shown may change: it is scored by its erasure, and by when each word
    was final."""

    name: Literal["retranslate"] = "retranslate"
    mask_k: Annotated[int, "words"] = Field(0, ge=0, le=MAX_LENGTH)
    """The last words of a translation that are not shown while the source goes on; characters where latency counts
    these."""

    def shown(self, written: Sequence[str], draft: Sequence[str]) -> Sequence[str]:
        return draft[: max(0, len(draft) - self.mask_k)]
