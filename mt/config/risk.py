"""The options of minimum risk training."""

from pydantic import Field

from mt.common.options import Options
from mt.search.options import MAX_BEAM_SIZE, Utility


class RiskConfig(Options):
    """What a model's translations cost, and which of them are compared (Shen et al. 2016, section 3)."""

    cost: Utility = "bleu"
    """The score of which a translation costs what it lacks: 1 - score / 100, against the target that is learnt."""
    samples: int = Field(20, ge=1, le=MAX_BEAM_SIZE)
    """Translations drawn of each source, beside the target itself (Shen et al. 2016: 100)."""
    temperature: float = Field(1.0, gt=0, le=100)
    """Divides log-probabilities before translations are drawn: above 1 for more different ones."""
    sharpness: float = Field(0.005, gt=0, le=100)
    """alpha of equation 10: the exponent of probabilities, of which those of the drawn translations are made again."""
