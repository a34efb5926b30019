"""The options that all searches have, and those of greedy and beam search. Needs no torch.

First the options, last how limits of length are chosen, and how hypotheses that were cut there are reported.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from mt.common.options import Options, as_written
from mt.errors import UserError
from mt.search.coverage import Penalties
from mt.search.processor import Processor, Rules

if TYPE_CHECKING:
    from mt.search.policies import Draft

MAX_LENGTH = 100_000
"""Most tokens of a hypothesis, whatever the options say; it bounds how long a search can take."""
MAX_RATIO = 100.0
RATIO = 2.0
EXTRA = 10
"""The limit RATIO * (source tokens) + EXTRA is the default where no training pairs choose another; EXTRA is also the
default of `max_extra` beside a `max_ratio`."""
MARGIN = 1.5
UNCOVERED = 1000
"""Hypotheses may be MARGIN times as long as the training targets, of which one in UNCOVERED is left out."""
MAX_BEAM_SIZE = 1000
Utility = Literal["chrf", "bleu", "rougeL"]
"""The scores of sentences by which hypotheses are compared with one another; see `mt.metrics.sentence`."""


class SearchOptions(Options):
    """The options of every search: how long hypotheses may become, blocked repetitions, and how many sources are
    decoded at once."""

    max_ratio: Annotated[float, "tokens per token"] | None = Field(None, ge=0, le=MAX_RATIO, allow_inf_nan=False)
    """A hypothesis has at most max_ratio * (source tokens) + max_extra tokens, EOS included. null: only max_length
    counts; where that is null, too, a run chooses both from its training pairs when it begins."""
    max_extra: Annotated[int, "tokens"] | None = Field(None, ge=1, le=MAX_LENGTH)
    """See max_ratio; null: 10 beside a max_ratio that is set."""
    max_length: Annotated[int, "tokens"] | None = Field(None, ge=1, le=MAX_LENGTH)
    """Most tokens of a hypothesis, EOS included, whatever the source; beside a max_ratio the lower of both counts."""
    min_length: Annotated[int, "tokens"] = Field(0, ge=0, lt=MAX_LENGTH)
    """Fewest tokens before EOS; fewer only where no_repeat_ngram_size forbids every other token."""
    no_repeat_ngram_size: Annotated[int, "tokens"] = Field(0, ge=0, le=1000)
    """n: no n tokens in a row occur twice in a hypothesis (Paulus et al. 2018, section 2.5: 3); 0 blocks nothing."""
    batch_tokens: Annotated[int, "tokens"] = Field(4096, ge=1, le=1 << 20)
    """Source tokens decoded at once, padding included."""
    timed: ClassVar[bool] = False
    """Whether it writes, or shows, a translation while the source arrives, so that latency is scored."""
    extends: ClassVar[bool] = False
    """Whether one hypothesis goes on while an encoder reads on. It is computed in float32: decisions that are close to
    a threshold must not depend on the batch."""
    looks_ahead: ClassVar[bool] = False
    """Whether the token after those that may be written shows that a word ends with them. Else the word waits until
    that token may be written, too."""

    @model_validator(mode="after")
    def _limits_fit_together(self) -> Self:
        if self.max_length is not None and self.min_length >= self.max_length:
            raise UserError(
                f"{as_written('search.min_length', self.min_length)} leaves no room for EOS within "
                f"{as_written('search.max_length', self.max_length)}: lower the one or raise the other"
            )
        if self.max_extra is not None and self.max_ratio is None and self.max_length is not None:
            raise UserError(
                f"{as_written('search.max_extra', self.max_extra)} is added to max_ratio * (source tokens), and "
                f"here {as_written('search.max_length', self.max_length)} alone is the limit: set max_ratio, too, or "
                "leave it out"
            )
        return self

    @property
    def limited(self) -> bool:
        """Whether it says itself how long a hypothesis may become."""
        return self.max_ratio is not None or self.max_length is not None

    @property
    def limit(self) -> str:
        """The limit in words, such as `2 x source length + 10 tokens`."""
        if self.max_ratio is None and self.max_length is not None:
            return f"{self.max_length:,} tokens"
        ratio, extra = self._ratio_and_extra
        limit = f"{ratio:g} x source length + {extra:,} tokens"
        return limit if self.max_length is None else f"{limit}, and {self.max_length:,}"

    @property
    def _ratio_and_extra(self) -> tuple[float, int]:
        """The limit that rises with the source: the options, or their defaults."""
        ratio = RATIO if self.max_ratio is None else self.max_ratio
        return ratio, EXTRA if self.max_extra is None else self.max_extra

    def at_most(self, length: int) -> Self:
        """Returns these options, under which no hypothesis has more than `length` tokens."""
        changes: dict[str, float | int] = {"max_length": min(self.max_length or length, length)}
        # A max_length alone would be the only limit, so that the one that rises with the source is set, too.
        if self.max_ratio is not None or self.max_length is None:
            changes["max_ratio"], changes["max_extra"] = self._ratio_and_extra
        return self.model_copy(update=changes)

    def longest(self, source_length: int) -> int:
        """Returns the most target tokens for a source of this length, in tokens; EOS counts in both."""
        if self.max_ratio is None and self.max_length is not None:
            return self.max_length
        ratio, extra = self._ratio_and_extra
        # In float32, as the first releases did in torch: 50 * 2.3 is 115 there, and just below it in float64.
        length = int(np.float32(source_length) * np.float32(ratio)) + extra
        # A hypothesis that must be longer than its source would allow may be.
        return min(max(length, self.min_length + 1), self.max_length or MAX_LENGTH)

    def sees(self, place: Any) -> Any:
        """Returns how many source tokens target tokens see by their places, from 0; None: all."""
        return None

    @property
    def pace(self) -> int:
        """How many source words come between two drafts."""
        return 1 if self.timed else MAX_LENGTH

    @property
    def drafting(self) -> Any:
        """The search of a draft, or of a source that is there as a whole."""
        return self

    def writes(self, draft: "Draft") -> int:
        """Returns how many tokens of a draft may be written: not fewer than were written before, all where the source
        has ended, and else no end. See `mt.search.policies`."""
        if draft.complete:
            return len(draft.tokens)
        if not draft.weights.shape[1]:  # no piece of the source has come
            return draft.written
        # Never the end, and never more than would be allowed if the source ended here.
        certain = min(self.certain(draft), draft.end, self.longest(draft.read))
        if draft.read < draft.weights.shape[1]:  # no token depends on what may change
            certain = min(certain, draft.until(draft.read))
        return max(draft.written, certain)

    def certain(self, draft: "Draft") -> int:
        """Returns how many tokens of a draft of a part of the source its policy would write; by default it waits for
        the whole source."""
        return draft.written

    def shown(self, written: Sequence[str], draft: Sequence[str]) -> Sequence[str]:
        """Returns the words that a reader sees while the source goes on. draft: all words, those that were written
        first."""
        return written

    def rules(self, sentences: int) -> list[Processor]:
        """Returns the processors of these options for a batch of sentences."""
        if not self.min_length and not self.no_repeat_ngram_size:
            return []
        return [Rules(sentences, self.min_length, self.no_repeat_ngram_size)]


class GreedyConfig(SearchOptions):
    """The most probable token at each step."""

    name: Literal["greedy"] = "greedy"
    mode: Literal["auto", "soft", "hard"] = "auto"
    """How a monotonic attention reads. hard: it stops at one position; soft: as in training; auto: hard if it can."""


class BeamOptions(SearchOptions):
    """How wide a beam is, and what ranks its hypotheses."""

    beam_size: Annotated[int, "hypotheses"] = Field(5, ge=1, le=MAX_BEAM_SIZE)
    """Hypotheses kept per sentence."""
    length_penalty: float = Field(0.6, ge=0, le=100, allow_inf_nan=False)
    """Exponent a of ((5 + |Y|) / 6)^a, which divides the log-probability; 0: none (Wu et al. 2016, equation 14; 0.6:
    Vaswani et al. 2017)."""
    coverage_penalty: float = Field(0.0, ge=0, le=1e3, allow_inf_nan=False)
    """beta: above 0, attention to a source position of less than 1 in all costs, by its logarithm, with soft attentions
    (Wu et al. 2016, equation 14: 0.2); see `mt.search.coverage`."""
    summary_penalty: float = Field(0.0, ge=0, le=1e3, allow_inf_nan=False)
    """Above 0, attention to a source position of more than 1 in all costs (OpenNMT's `summary`, of every step: 5): 0.5
    to 5 against repetition."""
    mode: Literal["auto", "soft", "hard"] = "auto"
    """How a monotonic attention reads. hard: it stops at one position; soft: as in training; auto: hard if it can."""

    @property
    def penalties(self) -> Penalties | None:
        """The weights of what hypotheses pay for their attention; None where they pay nothing."""
        weights = Penalties(self.coverage_penalty, self.summary_penalty)
        return weights if any(weights) else None


class BeamConfig(BeamOptions):
    """The best of several hypotheses that are extended side by side."""

    name: Literal["beam"] = "beam"
    n_best: Annotated[int, "hypotheses"] = Field(1, ge=1, le=MAX_BEAM_SIZE)
    """Hypotheses reported per sentence, at most `beam_size`."""
    utility: Utility | None = None
    """The score of a hypothesis against another. Of the whole beam the one is chosen that is expected to have the most,
    where others are as likely as the model says (minimum Bayes risk; Kumar & Byrne 2004); null: none."""

    @model_validator(mode="after")
    def _keeps_what_it_reports(self) -> Self:
        if self.n_best > self.beam_size:
            raise UserError(
                f"{as_written('search.n_best', self.n_best)} asks for more hypotheses than the beam keeps "
                f"({self.beam_size}): set {as_written('search.beam_size', self.n_best)} or more"
            )
        return self


# Limits of length that are chosen, and hypotheses that were cut there.


def fit_length_limits(sources: np.ndarray, targets: np.ndarray) -> tuple[float, int]:
    """Returns the `max_ratio` and `max_extra` that fit training pairs of these lengths ([N], EOS included).

    The limit of a source of length S is MARGIN * r * (S + M), where M is the mean of S. The factor r covers all targets
    but one in UNCOVERED. The slope is at least MARGIN times the median ratio of target to source: a longer source has a
    limit as much longer. S may count tokens, positions of a sound, or the cells of a picture's grid, whose number is
    the same for all. A short source, whose ratio says little, counts little.
    """
    mean = max(float(sources.mean()), 1.0)
    ratios = targets / (sources + mean)
    # The smallest factor that covers all targets but one in UNCOVERED.
    rank = len(ratios) - 1 - len(ratios) // UNCOVERED
    covering = float(np.partition(ratios, rank)[rank])
    ratio = min(MARGIN * max(covering, float(np.median(targets / sources))), MAX_RATIO)
    extra = min(max(int(np.ceil(MARGIN * covering * mean)), EXTRA), MAX_LENGTH)
    # Three digits, since the option is written into files that people read.
    return float(f"{ratio:.3g}"), extra


CUT_REMEDY = "decode with a larger --max-length or --max-ratio"


def cut_note(count: int, limit: str, remedy: str) -> str:
    """Returns a sentence on hypotheses that were cut. limit: see `SearchOptions.limit`."""
    many = "hypothesis was" if count == 1 else "hypotheses were"
    return f"{count:,} {many} cut at the longest that is allowed, {limit}; unless they repeat themselves, {remedy}"
