"""Machine translation and summarization on recurrent encoder-decoders in which the attention is the variable.

>>> from mt import load
>>> load("outputs/phrasebook/general/...").translate("The train leaves at half past seven.").text
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mt.decoding.confidence import Confidence
    from mt.decoding.load import load
    from mt.decoding.streaming.session import Session
    from mt.decoding.translation import Translation
    from mt.decoding.translator import Translator
    from mt.errors import UserError
    from mt.evaluation.likelihood import Likelihood, likelihoods
    from mt.search.options import BeamConfig, GreedyConfig
    from mt.search.policies import AgreeConfig, AlignAttConfig, OnlineConfig, RetranslateConfig, WaitKConfig
    from mt.search.sampling import SampleConfig

    __version__: str

__all__ = [
    "AgreeConfig", "AlignAttConfig", "BeamConfig", "Confidence", "GreedyConfig", "Likelihood", "OnlineConfig",
    "RetranslateConfig", "SampleConfig", "Session", "Translation", "Translator", "UserError", "WaitKConfig",
    "__version__", "likelihoods", "load",
]  # fmt: skip

_PLACES = {
    "AgreeConfig": "mt.search.policies",
    "AlignAttConfig": "mt.search.policies",
    "BeamConfig": "mt.search.options",
    "Confidence": "mt.decoding.confidence",
    "GreedyConfig": "mt.search.options",
    "Likelihood": "mt.evaluation.likelihood",
    "OnlineConfig": "mt.search.policies",
    "RetranslateConfig": "mt.search.policies",
    "SampleConfig": "mt.search.sampling",
    "Session": "mt.decoding.streaming.session",
    "Translation": "mt.decoding.translation",
    "Translator": "mt.decoding.translator",
    "UserError": "mt.errors",
    "WaitKConfig": "mt.search.policies",
    "likelihoods": "mt.evaluation.likelihood",
    "load": "mt.decoding.load",
}


def __getattr__(name: str) -> Any:
    # Imported on demand, so that torch is not loaded by preparation, or by decoding without it.
    if name == "__version__":
        from mt.common.about import VERSION

        return VERSION
    if name in _PLACES:
        return getattr(importlib.import_module(_PLACES[name]), name)
    raise AttributeError(f"module mt has no attribute {name}")
