"""How long a hypothesis may become, and whether it was cut there. Needs no torch."""

from collections.abc import Sequence
from typing import Annotated, Self

import numpy as np
from pydantic import Field, model_validator

from mt.common.options import Options, as_written
from mt.errors import UserError
from mt.step import EOS

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


class LengthOptions(Options):
    """The options of how long hypotheses may become."""

    max_ratio: Annotated[float, "tokens per token"] | None = Field(None, ge=0, le=MAX_RATIO, allow_inf_nan=False)
    """A hypothesis has at most max_ratio * (source tokens) + max_extra tokens, EOS included. null: only max_length
    counts; where that is null, too, a run chooses both from its training pairs when it begins."""
    max_extra: Annotated[int, "tokens"] | None = Field(None, ge=1, le=MAX_LENGTH)
    """See max_ratio; null: 10 beside a max_ratio that is set."""
    max_length: Annotated[int, "tokens"] | None = Field(None, ge=1, le=MAX_LENGTH)
    """Most tokens of a hypothesis, EOS included, whatever the source; beside a max_ratio the lower of both counts."""
    min_length: Annotated[int, "tokens"] = Field(0, ge=0, lt=MAX_LENGTH)
    """Fewest tokens before EOS; fewer only where no_repeat_ngram_size forbids every other token."""

    @model_validator(mode="after")
    def _leaves_room_for_eos(self) -> Self:
        if self.max_length is not None and self.min_length >= self.max_length:
            raise UserError(
                f"{as_written('search.min_length', self.min_length)} leaves no room for EOS within "
                f"{as_written('search.max_length', self.max_length)}: lower the one or raise the other"
            )
        return self

    @model_validator(mode="after")
    def _extra_is_added_to_something(self) -> Self:
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
        ratio, extra = self._line
        line = f"{ratio:g} x source length + {extra:,} tokens"
        return line if self.max_length is None else f"{line}, and {self.max_length:,}"

    @property
    def _line(self) -> tuple[float, int]:
        ratio = RATIO if self.max_ratio is None else self.max_ratio
        return ratio, EXTRA if self.max_extra is None else self.max_extra

    def at_most(self, length: int) -> Self:
        """Returns these options with hypotheses of at most so many tokens, if they are not shorter."""
        changes: dict[str, float | int] = {"max_length": min(self.max_length or length, length)}
        if self.max_ratio is not None or self.max_length is None:
            changes["max_ratio"], changes["max_extra"] = self._line
        return self.model_copy(update=changes)

    def longest(self, source_length: int) -> int:
        """Returns the most target tokens for a source of this length, in tokens; EOS counts in both."""
        if self.max_ratio is None and self.max_length is not None:
            return self.max_length
        ratio, extra = self._line
        length = int(np.float32(source_length) * np.float32(ratio)) + extra
        # A hypothesis that must be longer than its source would allow may be.
        return min(max(length, self.min_length + 1), self.max_length or MAX_LENGTH)


def fit_length_limits(sources: np.ndarray, targets: np.ndarray) -> tuple[float, int]:
    """Returns the `max_ratio` and `max_extra` that fit training pairs of these lengths ([N], EOS included).

    The limit of a source of length S is MARGIN * r * (S + M), where M is the mean of S. The factor r covers all targets
    but one in UNCOVERED. The slope is at least MARGIN times the median ratio of target to source: a longer source has a
    limit as much longer. S may count tokens, positions of a sound, or the cells of a picture's grid, whose number is
    the same for all. A short source, whose ratio says little, counts little.
    """
    mean = max(float(sources.mean()), 1.0)
    ratios = targets / (sources + mean)
    rank = len(ratios) - 1 - len(ratios) // UNCOVERED
    covering = float(np.partition(ratios, rank)[rank])
    ratio = min(MARGIN * max(covering, float(np.median(targets / sources))), MAX_RATIO)
    extra = min(max(int(np.ceil(MARGIN * covering * mean)), EXTRA), MAX_LENGTH)
    return float(f"{ratio:.3g}"), extra


def is_cut(tokens: Sequence[int]) -> bool:
    """Returns whether a hypothesis was ended by its limit: EOS is not its last token then."""
    return tokens[-1] != EOS


CUT_REMEDY = "decode with a larger --max-length or --max-ratio"


def cut_note(count: int, limit: str, remedy: str) -> str:
    """Returns a sentence on hypotheses that were cut. limit: see `LengthOptions.limit`."""
    many = "hypothesis was" if count == 1 else "hypotheses were"
    return f"{count:,} {many} cut at the longest that is allowed, {limit}; unless they repeat themselves, {remedy}"
