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

_NAMES = {
    "mt.decoding.confidence": ("Confidence",),
    "mt.decoding.load": ("load",),
    "mt.decoding.streaming.session": ("Session",),
    "mt.decoding.translation": ("Translation",),
    "mt.decoding.translator": ("Translator",),
    "mt.errors": ("UserError",),
    "mt.evaluation.likelihood": ("Likelihood", "likelihoods"),
    "mt.search.options": ("BeamConfig", "GreedyConfig"),
    "mt.search.policies": ("AgreeConfig", "AlignAttConfig", "OnlineConfig", "RetranslateConfig", "WaitKConfig"),
    "mt.search.sampling": ("SampleConfig",),
}


def __getattr__(name: str) -> Any:
    # Imported on demand, so that torch is not loaded by preparation, or by decoding without it.
    if name == "__version__":
        from mt.common.about import VERSION

        return VERSION
    for module, names in _NAMES.items():
        if name in names:
            return getattr(importlib.import_module(module), name)
    raise AttributeError(f"module mt has no attribute {name}")
