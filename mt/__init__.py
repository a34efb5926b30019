"""Machine translation and summarization on recurrent encoder-decoders in which the attention is the variable.

>>> from mt import load
>>> load("outputs/phrasebook/general/...").translate("The train leaves at half past seven.").text
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mt.decoding.load import load
    from mt.decoding.translation import Translation
    from mt.decoding.translator import Translator

    __version__: str

__all__ = ["Translation", "Translator", "__version__", "load"]


def __getattr__(name: str) -> Any:
    # Imported when asked for, so that neither the processes that prepare text nor those that decode without torch load
    # it.
    if name == "load":
        from mt.decoding.load import load

        return load
    if name == "Translator":
        from mt.decoding.translator import Translator

        return Translator
    if name == "Translation":
        from mt.decoding.translation import Translation

        return Translation
    if name == "__version__":
        from mt.common.about import VERSION

        return VERSION
    raise AttributeError(f"module mt has no attribute {name}")
