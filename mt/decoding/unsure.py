"""Treats translations that are probably wrong: their words are marked, or they are left out."""

from typing import TYPE_CHECKING, NamedTuple

from mt.data.placeholders import SYMBOLS
from mt.data.words import units
from mt.decoding.confidence import Confidence
from mt.decoding.translation import Translation
from mt.markup.words import UNSURE, Span

if TYPE_CHECKING:
    from mt.decoding.translator import Translator


class Unsure(NamedTuple):
    """The treatment of translations whose confidence is too low."""

    least: float
    """The least confidence of a word that is not marked, or of a text that is not left out."""
    leave_out: bool = False
    """Whether whole texts are left out, in place of marks at words."""
    confidence: Confidence = Confidence()

    def leaves_out(self, translation: Translation) -> bool:
        """Returns whether a text is left out."""
        return self.leave_out and self.confidence.text(translation) < self.least

    def spans(self, translator: "Translator", translation: Translation) -> list[Span]:
        """Returns where the words begin and end that are marked; none where whole texts are left out. The symbol of a
        placeholder is never marked."""
        found: list[Span] = []
        end = 0
        # Words are looked for one after another, since the same word may come twice.
        words = () if self.leave_out else units(translation.text, translator.link_units[1])
        for word, confidence in zip(words, self.confidence.words(translation), strict=False):
            begin = translation.text.index(word, end)
            end = begin + len(word)
            if confidence < self.least and not any(character in SYMBOLS for character in word):
                found.append((begin, end))
        return found

    def shown(self, translator: "Translator", translation: Translation) -> str:
        """Returns the text with each unsure word as [?word], or an empty text where it is left out."""
        # The marks go around the words, and the text between them stays.
        if self.leaves_out(translation):
            return ""
        text = ""
        done = 0
        for begin, end in self.spans(translator, translation):
            text += translation.text[done:begin] + translation.text[begin:end].join(UNSURE)
            done = end
        return text + translation.text[done:]
