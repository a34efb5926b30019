"""The options that all searches have. Needs no torch."""

from typing import Literal

from pydantic import Field

from mt.search.constraints import Constraints
from mt.search.limits import LengthOptions

MAX_BEAM_SIZE = 1000
Utility = Literal["chrf", "bleu", "rougeL"]
"""The scores of sentences by which hypotheses are compared with one another; see `mt.metrics.sentence`."""


class SearchOptions(LengthOptions):
    """What beside the length is asked of hypotheses, and how many sources are decoded at once."""

    no_repeat_ngram_size: int = Field(0, ge=0, le=1000)
    """n: no n tokens in a row occur twice in a hypothesis (Paulus et al. 2018, section 2.5: 3); 0 blocks nothing."""
    batch_tokens: int = Field(4096, ge=1, le=1 << 20)
    """Source tokens decoded at once, padding included."""

    @property
    def constraints(self) -> Constraints:
        return Constraints(self.min_length, self.no_repeat_ngram_size)
