"""Unknown words of a translation, each replaced by a source word, or by its entry in a dictionary. The source word is
the one that was attended to most when the unknown one was written (Luong et al. 2015, "Addressing the Rare Word
Problem"; Jean et al. 2015, section 3.3). Needs no torch.
"""

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from mt.data.fields import Raw
from mt.data.tokenizer import UNK, Tokenizer, units
from mt.data.tokenizer.processor import JOINER, SPACE
from mt.decoding.translation import Translation, written_fields
from mt.decoding.translator import Translator
from mt.errors import UserError, shown
from mt.text_io import file_lines

_ENTRY = "write a source word, a tab, and what stands for it in the target"


class UnknownWords:
    """Replaces the unknown words of a model's translations."""

    def __init__(self, translator: Translator, dictionary: Mapping[str, str] | None = None) -> None:
        """dictionary: from source words to target words. Raises UserError where the model attends to no words."""
        if not translator.field.written:
            raise UserError(
                f"unknown words are replaced by words of the source, and this run reads "
                f"{translator.config.dataset.field.name}: leave --replace-unknown out"
            )
        if translator.config.attention.name == "none":
            raise UserError(
                "unknown words are replaced by the source words that are attended to, and attention=none attends to "
                "none: leave --replace-unknown out, or train with another attention"
            )
        self._translator = translator
        self._dictionary = {} if dictionary is None else dictionary

    def replaced(self, translation: Translation, source: Raw) -> Translation:
        """Returns a translation with its unknown words replaced. An unknown word stays where the attention was on no
        word."""
        unknown = [position for position, token in enumerate(translation.ids) if token == UNK]
        if not unknown:
            return translation
        words = source_words(self._translator.tokenizers.source, str(source))
        written = self._written(str(source), words)
        entries = {}
        for position in unknown:
            # The piece with the most attention counts, unless it belongs to no word.
            pairs = zip(words, translation.alignment[position], strict=True)
            weights = [0.0 if word is None else weight for word, weight in pairs]
            best = int(np.argmax(weights))
            text = written[best]
            if text is not None and weights[best] > 0:
                entries[position] = text
        if not entries:
            return translation
        ids = translation.ids
        target = self._translator.tokenizers.target
        of_source = lambda: translation.units.source  # noqa: E731
        fields = written_fields(target, ids, self._translator.link_units[1], entries, of_source)
        # After online decoding, other words have other delays.
        if (times := translation.timing) is not None:
            from mt.decoding.delays import word_delays  # Not above: it needs torch.

            delays = word_delays(target, ids, times.words_read, times.source_words, entries)
            fields["timing"] = times._replace(word_delays=delays)
        return replace(translation, **fields)

    def replaced_all(self, found: Sequence[Sequence[Translation]], sources: Sequence[Raw]) -> list[list[Translation]]:
        """Returns the translations of each source, with their unknown words replaced."""
        pairs = zip(found, sources, strict=True)
        return [[self.replaced(one, source) for one in of_source] for of_source, source in pairs]

    def _written(self, text: str, words: Sequence[str | None]) -> list[str | None]:
        """Returns for each piece of a source the text that replaces unknown words that attended to it; None: they stay.

        words: see `source_words`. The text has blanks around it as in the source, but none after it where the next
        piece of the target marks itself whether it begins a word.
        """
        source, target = self._translator.tokenizers
        pieces = source.split(text)
        tokens = source.encode([text])[0]
        # Which pieces begin a word; the end of the source begins one, too.
        begins = [not i or piece.startswith(SPACE) or pieces[i - 1].endswith(SPACE) for i, piece in enumerate(pieces)]
        begins[-1:] = [True, True]
        # The pieces of each word.
        numbers = source.unit_ids(text)
        groups: dict[int | None, list[int]] = {}
        for place, number in enumerate(numbers):
            groups.setdefault(number, []).append(place)
        written: list[str | None] = []
        for place, number in enumerate(numbers):
            group = [place] if source.of_words or source.of_characters else groups[number]
            # Attention to any piece of a word with one unknown piece counts as attention to the unknown piece.
            unknown = [inner for inner in group if tokens[inner] == UNK]
            meant = unknown[0] if len(unknown) == 1 else place
            word = words[meant]
            if word is None:
                written.append(None)
                continue
            # Blanks as around the word in the source. Behind a single piece there is none: the next one marks its own.
            blanks = begins[group[0]], begins[group[-1] + 1]
            if not target.marks_beginnings:
                blanks = True, True
            elif source.of_characters or (tokens[meant] == UNK and not source.of_words):
                blanks = begins[meant], False
            entry = self._dictionary.get(word, self._dictionary.get(word.lower(), word))
            written.append(f"{' ' if blanks[0] else ''}{entry}{' ' if blanks[1] else ''}")
        return written


def source_words(tokenizer: Tokenizer, text: str) -> list[str | None]:
    """Returns for each piece of a source the word that it belongs to, None for `</s>`. If the piece is unknown, or the
    vocabulary is of words or characters, it is the piece itself."""
    spelt = tokenizer.of_words or tokenizer.of_characters
    words = units(text, "word")
    pieces = zip(tokenizer.encode([text])[0], tokenizer.split(text), tokenizer.unit_ids(text), strict=True)
    return [
        None if number is None else _bare(piece) if spelt or token == UNK else words[number]
        for token, piece, number in pieces
    ]


def _bare(piece: str) -> str | None:
    """Returns a piece without the marks of blanks and joins; None for a blank."""
    return piece.replace(SPACE + JOINER, "").removeprefix(SPACE) or None


def read_dictionary(path: Path) -> dict[str, str]:
    """Returns the entries of a file. Each line has a source word and its target, with a tab between, or a blank where
    both are single words. Of several targets of a word the first one counts, and blank lines do not.

    Raises UserError where a line is something else, there is none, or the file cannot be read.
    """
    dictionary: dict[str, str] = {}
    for number, line in enumerate(file_lines(path), start=1):
        if not line.strip():
            continue
        words = [field.strip() for field in line.split("\t")] if "\t" in line else line.split()
        if len(words) != 2 or not all(words) or "|||" in line:
            raise UserError(f"{path}, line {number} is no entry of a dictionary ({shown(line, 60)}): {_ENTRY}")
        if any(unicodedata.category(character) == "Cc" for word in words for character in word):
            raise UserError(f"{path}, line {number} holds a control character ({shown(line, 60)}): remove it")
        dictionary.setdefault(*words)
    if not dictionary:
        raise UserError(f"{path} has no entry of a dictionary: {_ENTRY}")
    return dictionary
