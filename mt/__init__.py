"""Machine translation and summarization on recurrent encoder-decoders in which the attention is the variable.

>>> from mt import load
>>> load("outputs/phrasebook/general/...").translate("The train leaves at half past seven.").text
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mt.inference import Translation, Translator, load

__all__ = ["Translation", "Translator", "load"]


def __getattr__(name: str) -> Any:
    # Imported when asked for, so that the processes that prepare text load no torch.
    if name in __all__:
        from mt import inference

        return getattr(inference, name)
    raise AttributeError(f"module mt has no attribute {name}")
