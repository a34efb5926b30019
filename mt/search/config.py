"""The options of search, and the one door through which a batch is decoded."""

from collections.abc import Sequence
from typing import Any, Literal

from pydantic import Field, model_validator
from torch import Tensor

from mt.errors import UserError
from mt.parsing import Options
from mt.search.beam import beam
from mt.search.constraints import Constraints
from mt.search.greedy import greedy
from mt.search.hypothesis import Decoder, Hypothesis
from mt.search.online import online


class SearchConfig(Options):
    """How a trained model is decoded."""

    name: Literal["greedy", "beam", "online"] = "beam"
    """greedy: the likeliest token at each step; beam: the best of several hypotheses; online: greedy with delays."""
    beam_size: int = Field(5, ge=1)
    """Hypotheses kept per sentence (name=beam only)."""
    length_penalty: float = Field(0.6, ge=0, allow_inf_nan=False)
    """Exponent of the length penalty, 0 for none (name=beam only; Wu et al. 2016, eq. 14; 0.6: Vaswani et al. 2017)."""
    n_best: int = Field(1, ge=1)
    """Hypotheses reported per sentence, at most `beam_size`."""
    max_ratio: float = Field(2.0, ge=0, allow_inf_nan=False)
    """A hypothesis has at most max_ratio * (source tokens) + max_extra tokens."""
    max_extra: int = Field(10, ge=1)
    """See max_ratio."""
    max_length: int | None = Field(None, ge=1)
    """Most tokens of a hypothesis, EOS included, whatever the source; null leaves it to max_ratio."""
    min_length: int = Field(0, ge=0)
    """Fewest tokens before EOS."""
    no_repeat_ngram_size: int = Field(0, ge=0)
    """n: no n tokens in a row occur twice in a hypothesis (Paulus et al. 2018, section 2.5: 3); 0 blocks nothing."""
    batch_tokens: int = Field(4096, ge=1)
    """Source tokens decoded at once, padding included."""
    mode: Literal["auto", "soft", "hard"] = "auto"
    """How a monotonic attention reads. hard: it stops at one position; soft: as in training; auto: hard if it can."""

    @model_validator(mode="after")
    def _possible(self) -> "SearchConfig":
        width = self.beam_size if self.name == "beam" else 1
        if self.n_best > width:
            raise UserError(
                f"search.n_best={self.n_best} asks for more hypotheses than search={self.name} keeps ({width}); "
                f"choose search=beam with search.beam_size={self.n_best} or more"
            )
        if self.max_length is not None and self.min_length >= self.max_length:
            raise UserError(
                f"search.min_length={self.min_length} leaves no room for EOS within search.max_length="
                f"{self.max_length}: lower the one or raise the other"
            )
        if self.name == "online" and self.mode == "soft":
            raise UserError(
                "online decoding reads the source only as far as a hard attention stops; use search.mode=hard"
            )
        return self

    def max_lengths(self, source_lengths: Tensor) -> Tensor:
        """The most target tokens for sources of these lengths ([B] int64, tokens; EOS included in both)."""
        # A hypothesis that must be longer than its source would allow may be.
        lengths = ((source_lengths * self.max_ratio).long() + self.max_extra).clamp(min=self.min_length + 1)
        return lengths if self.max_length is None else lengths.clamp(max=self.max_length)

    @property
    def constraints(self) -> Constraints:
        return Constraints(self.min_length, self.no_repeat_ngram_size)


def decode(
    config: SearchConfig, decoder: Decoder, memory: Any, source_lengths: Tensor
) -> Sequence[Sequence[Hypothesis]]:
    """For each sentence of a batch its hypotheses, best first: `n_best` of a beam, one otherwise.

    source_lengths: [B] int64, tokens, EOS included; on the model's device.
    Raises UserError as the three searches do.
    """
    count, limits = len(source_lengths), config.max_lengths(source_lengths)
    if config.name == "greedy":
        best = greedy(decoder, memory, count, max_lengths=limits, constraints=config.constraints)
        return [[hypothesis] for hypothesis in best]
    if config.name == "online":
        hypotheses = online(
            decoder,
            memory,
            count,
            source_lengths=source_lengths,
            max_lengths=limits,
            constraints=config.constraints,
        )
        return [[best] for best in hypotheses]
    return beam(
        decoder,
        memory,
        count,
        beam_size=config.beam_size,
        max_lengths=limits,
        length_penalty=config.length_penalty,
        n_best=config.n_best,
        constraints=config.constraints,
    )
