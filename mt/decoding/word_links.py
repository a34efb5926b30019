"""Links between words of models that read or write characters. Needs no torch."""

from dataclasses import replace

from mt.data.fields import Raw
from mt.decoding.translation import Translation
from mt.decoding.translator import Translator


def in_words(translator: Translator, translation: Translation, source: Raw) -> Translation:
    """Returns a translation of a source with links between words, also where the model writes characters."""
    if translator.link_unit == "word" or not translation.tokens:
        return translation
    length = len(translation.source_tokens)
    target = translator.tokenizers.target
    return replace(
        translation,
        source_units=tuple(translator.field.units(length, translator.tokenizers.source, "word", source)),
        target_units=tuple(target.decoded_unit_ids(translation.ids, "word")),
    )
