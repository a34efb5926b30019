"""What becomes of translations that are probably wrong: their words are marked, or they are left out."""

from typing import TYPE_CHECKING, NamedTuple

from mt.data.placeholders import SYMBOLS
from mt.data.words import units
from mt.decoding.confidence import Confidence
from mt.decoding.translation import Translation
from mt.markup.words import UNSURE, Span

if TYPE_CHECKING:
    from mt.decoding.translator import Translator


class Unsure(NamedTuple):
    """What becomes of translations whose confidence is too low."""

    least: float
    """Of a word, or of a line or sentence that is left out as a whole."""
    leave_out: bool = False
    confidence: Confidence = Confidence()

    def leaves_out(self, translation: Translation) -> bool:
        return self.leave_out and self.confidence.text(translation) < self.least

    def spans(self, translator: "Translator", translation: Translation) -> list[Span]:
        """Returns where the words below the least begin and end; those that are left out as a whole have none. The
        symbol of a placeholder is never one."""
        found: list[Span] = []
        end = 0
        words = () if self.leave_out else units(translation.text, translator.link_unit)
        for word, confidence in zip(words, self.confidence.words(translation), strict=False):
            begin = translation.text.index(word, end)
            end = begin + len(word)
            if confidence < self.least and not any(character in SYMBOLS for character in word):
                found.append((begin, end))
        return found

    def shown(self, translator: "Translator", translation: Translation) -> str:
        """Returns the text with each word below the least as [?word]; or nothing, where all of it is below."""
        if self.leaves_out(translation):
            return ""
        text = ""
        done = 0
        for begin, end in self.spans(translator, translation):
            text += translation.text[done:begin] + translation.text[begin:end].join(UNSURE)
            done = end
        return text + translation.text[done:]
