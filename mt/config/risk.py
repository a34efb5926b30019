"""The options of minimum risk training."""

from pydantic import Field

from mt.common.options import Options
from mt.search.options import MAX_BEAM_SIZE, Utility


class RiskConfig(Options):
    """The cost of a translation, and the sample of translations that is compared (Shen et al. 2016, section 3)."""

    cost: Utility = "bleu"
    """The score whose complement is the cost of a translation: 1 - score / 100, against the target."""
    samples: int = Field(20, ge=1, le=MAX_BEAM_SIZE)
    """Translations drawn of each source, beside the target itself (Shen et al. 2016: 100)."""
    temperature: float = Field(1.0, gt=0, le=100)
    """The divisor of log-probabilities in sampling; above 1, translations differ more."""
    sharpness: float = Field(0.005, gt=0, le=100)
    """alpha of equation 10: the exponent of the probabilities, before they are normalised over the sample."""
