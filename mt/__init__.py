"""Machine translation and summarization on recurrent encoder-decoders in which the attention is the variable.

>>> from mt import load
>>> load("outputs/phrasebook/general/...").translate(["The train leaves at half past seven."])[0].text
"""

from mt.translator import Translation, Translator, load

__all__ = ["Translation", "Translator", "load"]
