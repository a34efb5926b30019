"""The parts of decoding that requests and searches ask for, which a plain search runs without."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from mt.data.fields import Raw
from mt.decoding.lexical import ConstrainedPart, constrained
from mt.decoding.minimum_bayes_risk import MinimumBayesRisk
from mt.decoding.network import Part
from mt.decoding.request import Request
from mt.search.config import BeamConfig, SampleConfig, SearchConfig

if TYPE_CHECKING:
    from mt.decoding.translator import Translator


def parts_of(
    translator: "Translator",
    search: SearchConfig,
    requests: Sequence[Request] | None,
    texts: Sequence[Raw] | None,
    indices: Sequence[int],
    others: Sequence[Part],
) -> list[Part]:
    """Returns the parts of the decoding of some sources, in their order.

    requests, texts: of all sources. indices: of those that are decoded. others: between what is asked of translations,
    which comes first, and minimum Bayes risk, which ranks what was found.
    """
    parts = list(others)
    if requests is not None and texts is not None:
        asked = constrained(translator, requests, texts, search)
        parts.insert(0, ConstrainedPart([asked[i] for i in indices]))
    if isinstance(search, SampleConfig | BeamConfig) and search.utility is not None:
        parts.append(MinimumBayesRisk(search, translator))
    return parts
