"""The options that all searches have, and those of greedy and beam search. Needs no torch."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from mt.common.options import as_written
from mt.errors import UserError
from mt.search.coverage import Penalties
from mt.search.limits import MAX_LENGTH, LengthOptions
from mt.search.processor import Processor, Rules

if TYPE_CHECKING:
    from mt.search.policies import Draft

MAX_BEAM_SIZE = 1000
Utility = Literal["chrf", "bleu", "rougeL"]
"""The scores of sentences by which hypotheses are compared with one another; see `mt.metrics.sentence`."""


class SearchOptions(LengthOptions):
    """The options of every search: blocked repetitions, beside the length, and how many sources are decoded at once."""

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
    def penalties(self) -> Penalties:
        return Penalties(self.coverage_penalty, self.summary_penalty)


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
