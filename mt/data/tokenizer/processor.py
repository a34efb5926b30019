"""Text to ids and back by a trained SentencePiece model (Kudo & Richardson 2018).

First come the marks that stand for blanks and rare characters, so that every text comes back as it was. Then come the
units that alignments link, and the processor itself."""

import bisect
import functools
import itertools
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from string import ascii_lowercase, ascii_uppercase
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import sentencepiece
from sentencepiece import sentencepiece_model_pb2, sentencepiece_pb2

from mt.data.arrow import numbers
from mt.data.placeholders import RESERVED, SAFE, SYMBOLS, SYNTAX, Placeholders, placeholders_of
from mt.data.words import LinkUnit, runs, units_of_characters
from mt.step import BOS, EOS, PAD, UNK
from mt.text_io import composed, normalize

# The form of a text that SentencePiece cuts. Decoding gives back every text, even one that holds SentencePiece's marks.
#
# SentencePiece writes `▁` where a blank is, and learns nothing from lines with `▅`; a vocabulary of words has a mark of
# its own. A text may hold these characters as well. A word has no white space in it, so that the separators U+001C to
# U+001F, which are white space, are free to stand for them.

SPACE = "▁"
"""SentencePiece's mark on a piece that starts a word."""
JOINER = "￭"
"""Marks a token of a vocabulary of words that follows without a blank."""
ESCAPED_SPACE = "\x1c"
ESCAPED_BLOCK = "\x1d"
_ESCAPED_JOINER = "\x1e"

Escapes = Mapping[int, str]
ESCAPES: Escapes = {ord(SPACE): ESCAPED_SPACE, ord("▅"): ESCAPED_BLOCK}
ESCAPES_OF_WORDS: Escapes = {**ESCAPES, ord(JOINER): _ESCAPED_JOINER}
_RESTORED = {ord(escape): chr(mark) for mark, escape in ESCAPES_OF_WORDS.items()} | {ord(RESERVED): ""}
_JOINED = re.compile(rf"(?: +|^){JOINER}")


def prepared(word: str, escapes: Escapes, *, cuts_marks: bool) -> str:
    """Returns a word, the text between two blanks, in the form that SentencePiece cuts.

    escapes: replace the characters that SentencePiece would not give back. cuts_marks: whether punctuation marks are
    set apart by blanks that can be undone: `ja!` becomes `ja ￭!`.
    """
    if cuts_marks:
        return f" {JOINER}".join(run.translate(escapes) for run in runs(word))
    return word.translate(escapes)


def restored(text: str) -> str:
    """Returns the text with its escapes replaced by the original characters."""
    return text.translate(_RESTORED)


def text_of(decoded: str, *, of_words: bool) -> str:
    """Returns the text from SentencePiece's decoded form, with one blank between words."""
    if of_words:
        decoded = _JOINED.sub("", decoded)
    return " ".join(restored(decoded).split())


# The unit that each piece of a text belongs to.

Span = tuple[int, int]
"""Where a piece begins and ends in the text that it was cut from, or decoded to, in bytes of UTF-8."""


def covered_units(
    text: str, spans: Iterable[Span], character_units: Sequence[int], *, of_words: bool, marks_ends: bool = False
) -> Iterator[Sequence[int]]:
    """Yields for each piece the units of its characters. A piece without any has the unit of the next character: a
    blank, or the beginning of a character that the tokenizer makes longer. It has that of the character before where
    blanks mark ends of words.

    text: what SentencePiece cut or decoded. character_units: see `units_of_characters`, of that text.
    """
    # Where each character begins, in bytes, and the offsets of those that are no blanks.
    starts = [*itertools.accumulate((len(character.encode()) for character in text), initial=0)]
    joiners = {match.end() - 1 for match in _JOINED.finditer(text)} if of_words else ()
    characters = [i for i, character in enumerate(restored(text)) if not (character.isspace() or i in joiners)]
    for span in spans:
        begin, end = (bisect.bisect_left(characters, bisect.bisect_left(starts, byte)) for byte in span)
        nearest = max(begin - marks_ends, 0)
        yield character_units[begin:end] or character_units[nearest : nearest + 1] or character_units[-1:]


def main_unit(covered: Sequence[int]) -> int | None:
    """Returns the unit of most characters of a piece, of equals the first; None where a text has no characters."""
    # `max` takes the first of equally frequent units, which ascend.
    return max(covered, key=covered.count) if covered else None


# The processor.

ModelProto: Any = sentencepiece_model_pb2.ModelProto  # type: ignore[attr-defined]
"""A SentencePiece model as it is serialized."""
_SpTextProto: Any = sentencepiece_pb2.SentencePieceText  # type: ignore[attr-defined]


class Tokenizer:
    """One trained SentencePiece model. Special ids: pad 0, unk 1, bos 2, eos 3.

    Text is cut word by word, a word being what stands between blanks. So a word that has just arrived is cut alike
    whatever follows, in training as in translation. This holds also for a model whose pieces may cross blanks.

    A text survives encoding and decoding up to Unicode composition (NFC) and the kind and number of its blanks. It may
    hold marks of tokenizers. Characters that the vocabulary lacks come back as ⁇. Nothing else is normalised, so that
    fullwidth or typographic characters of a reference can be produced.
    """

    def __init__(self, model: bytes) -> None:
        """Loads a serialized SentencePiece model. Raises ValueError where it is none, or has other special ids."""
        self.model = model
        try:
            self._processor = sentencepiece.SentencePieceProcessor(num_threads=1)
            self._processor.load_from_serialized_proto(model)  # which refuses an empty one, too
        except RuntimeError as error:
            raise ValueError("not a SentencePiece model") from error
        processor = self._processor
        special = [processor.pad_id(), processor.unk_id(), processor.bos_id(), processor.eos_id()]
        if special != [PAD, UNK, BOS, EOS]:
            has = "pad {}, unk {}, bos {}, eos {}".format(*special)
            raise ValueError(f"a SentencePiece model with the ids {has}, and not pad 0, unk 1, bos 2, eos 3")
        try:
            pieces = [processor.id_to_piece(i) for i in range(len(self))]
        except UnicodeDecodeError as error:
            raise ValueError("a damaged SentencePiece model (a piece is not UTF-8)") from error
        ordinary = [piece for piece in pieces[EOS + 1 :] if not piece.startswith(RESERVED)]
        # Every other type of model has pieces for the single characters, which start no word.
        self.of_words = all(piece.startswith(SPACE) for piece in ordinary)
        """Whether each piece is a whole word or a punctuation mark."""
        spec = ModelProto.FromString(model).trainer_spec
        self._cuts_marks = self.of_words and spec.split_by_unicode_script
        self.of_characters = not (self.of_words or any(len(piece.removeprefix(SPACE)) > 1 for piece in ordinary))
        between_blanks: LinkUnit = "white_space" if self.of_words and not self._cuts_marks else "word"
        self.link_unit: LinkUnit = "char" if self.of_characters else between_blanks
        """What its pieces are: characters, what stands between blanks, or words and parts of them."""
        self.marks_ends: bool = spec.treat_whitespace_as_suffix
        """Whether the mark of a blank ends words, as in some models from elsewhere."""
        self._escapes = self._known_escapes()
        mark = SPACE if self.of_words else ""
        self.placeholders = sum(processor.piece_to_id(mark + symbol) != UNK for symbol in SYMBOLS)
        """Symbols of the vocabulary for placeholders: see `mt.data.placeholders`."""
        self.marks_beginnings = not (self.of_words or self.marks_ends)
        """Whether a piece that begins a word starts with `▁`, and any other goes on with the word before."""

    def __len__(self) -> int:
        return self._processor.get_piece_size()

    @functools.cached_property
    def found(self) -> Placeholders:
        """The syntaxes of placeholders with which the vocabulary was learnt."""
        symbols = ModelProto.FromString(self.model).trainer_spec.user_defined_symbols if self.placeholders else ()
        names = tuple(name.removeprefix(SYNTAX) for name in symbols if name.startswith(SYNTAX))
        return placeholders_of(names or SAFE)

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """Returns the ids of each text: the ids of its words one after another, and EOS; of a blank text EOS alone."""
        # Without Arrow, which would load pandas at its first array: a fifth of the time that one line takes in all.
        lines = [self.masked(text).split() for text in texts]
        words = [*dict.fromkeys(itertools.chain.from_iterable(lines))]
        ids = dict(zip(words, self._processor.encode([self._prepared(word) for word in words]), strict=True))
        return [[*itertools.chain.from_iterable(ids[word] for word in line), EOS] for line in lines]

    def encode_word(self, word: str) -> list[int]:
        """Returns the ids of one word, without EOS; none where the model's normalisation leaves nothing of it."""
        return self._processor.encode(self._prepared(composed(word)))

    @functools.cached_property
    def lowercases(self) -> bool:
        """Whether the model makes small letters of capitals before it cuts a text, so that nothing writes one."""
        return self._processor.normalize(ascii_uppercase).strip(SPACE) == ascii_lowercase

    def encode_column(self, texts: Sequence[str]) -> pa.ListArray:
        """Returns the ids of `encode` as an Arrow column. A word is cut once, however often it occurs in the texts."""
        split = pc.split_pattern(pa.array(map(self.masked, texts), pa.large_string()), " ")
        words = split.flatten().dictionary_encode()
        ids = self._processor.encode([self._prepared(word) for word in words.dictionary.to_pylist()], out_type=int)
        # EOS is one word more, and stands at the end of each text.
        ends = numbers(split.offsets)[1:]
        indices = np.insert(numbers(words.indices), ends, len(ids))
        column = _lists([*ids, [EOS]]).take(pa.array(indices))
        boundaries = np.concatenate(([0], ends + np.arange(1, len(ends) + 1)))
        return pa.ListArray.from_arrays(column.offsets.take(pa.array(boundaries)), column.values)

    def encode_character(self, character: str) -> list[int]:
        """Returns the ids of a character within a word, where the model is `of_characters`."""
        ids = self.encode_word(character)
        # On its own a character begins a word: the mark of that is a piece of its own, or a part of the piece.
        bare = self._processor.id_to_piece(ids[0]).removeprefix(SPACE) if ids else ""
        if not ids or self.of_words or ids[0] == UNK:
            return ids
        return [*([self._processor.piece_to_id(bare)] if bare else []), *ids[1:]]

    def begins_word(self, token: int, before: int | None) -> bool:
        """Returns whether a token begins a word (what stands between blanks) of the decoded text. before: the
        token before it."""
        piece = self._processor.id_to_piece(token)
        if self.of_words:
            return not piece.startswith(SPACE + JOINER)
        if self.marks_ends:
            # Where marks end words, the piece before tells.
            return before is not None and (
                self._processor.id_to_piece(before).endswith(SPACE) or UNK in (token, before)
            )
        return piece.startswith(SPACE) or UNK in (token, before)  # what is unknown stands between blanks

    def split(self, text: str) -> list[str]:
        """Returns the pieces of a text, one per id of `encode`, unknown ones as they are spelt; the last is `</s>`.

        A piece that starts a word starts with `▁`.
        """
        words = [self._prepared(word) for word in self.masked(text).split()]
        pieces = itertools.chain.from_iterable(self._processor.encode(words, out_type=str))
        return self._readable([*pieces, self._processor.id_to_piece(EOS)])

    def pieces(self, ids: Sequence[int]) -> list[str]:
        """Returns the pieces that the ids stand for, as `split` writes them; unknown and special ones by name."""
        return self._readable([self._processor.id_to_piece(int(i)) for i in ids])

    def count_pieces(self, text: str) -> int:
        """Counts the pieces of a text with its newlines, which `split` normalises away, as SimulEval does."""
        return len(self._processor.encode(re.sub(r"\S+", lambda word: self._prepared(word[0]), text)))

    def decode(self, ids: Sequence[int], replaced: Mapping[int, str] = {}) -> str:
        """Returns detokenised text. Pad, bos and eos are dropped, an unknown piece becomes ⁇.

        replaced: texts to write in place of some pieces, by the places of their ids, with the blanks around them. Where
        pieces do not mark beginnings of words, blanks are always there.
        """
        if replaced:
            return text_of(self._decoded(ids, replaced)[0], of_words=self.of_words)
        return text_of(self._processor.decode([int(i) for i in ids]), of_words=self.of_words)

    def unit_ids(self, text: str, unit: LinkUnit = "word") -> list[int | None]:
        """Returns for each piece of `split` the index of the unit among `units(text)` with which it shares most
        characters (of equals the first); None for `</s>`. A piece that is only a blank belongs to the unit after it.

        What the model's own normalisation makes longer or shorter moves no later piece.
        """
        words = self.masked(text).split()
        texts = [self._prepared(word) for word in words]
        units: list[int | None] = []
        owners = self._units_of_masked(text, unit)
        cuts = self._processor.encode(texts, out_type="serialized_proto")
        for word, prepared_word, cut in zip(words, texts, cuts, strict=True):
            character_units = [next(owners) for _ in word]
            spans = ((piece.begin, piece.end) for piece in _SpTextProto.FromString(cut).pieces)
            units += map(main_unit, covered_units(prepared_word, spans, character_units, of_words=self.of_words))
        return [*units, None]

    def _units_of_masked(self, text: str, unit: LinkUnit) -> Iterator[int]:
        """Yields the unit of each character of the masked text that is no blank. A symbol has the first unit of its
        placeholder."""
        # Which white space parts units can be seen before `normalize` alone.
        owners = iter(units_of_characters(unicodedata.normalize("NFC", text), unit))
        text = normalize(text)
        symbols = self.found.masked(text, self.placeholders)[1].values()
        done = 0
        for begin, end in self.found.spans(text) if symbols else ():
            if text[begin:end] in symbols:
                yield from itertools.islice(owners, len(text[done:begin].replace(" ", "")))
                yield next(owners)
                done = end
                # This passes over the other characters of the placeholder.
                next(itertools.islice(owners, *[len(text[begin:end].replace(" ", "")) - 1] * 2), None)
        yield from owners

    def masked(self, text: str) -> str:
        """Returns a text as it is cut: normalised, with the vocabulary's symbols for placeholders."""
        text = normalize(text)
        return self.found.masked(text, self.placeholders)[0] if self.placeholders else text

    def restored(self, ids: Sequence[int], source: str) -> dict[int, str]:
        """Returns the source's placeholders for those ids that are their symbols, by the positions of the ids."""
        symbols = self.found.masked(normalize(source), self.placeholders)[1]
        pieces = [self._processor.id_to_piece(int(i)).lstrip(SPACE + JOINER) for i in ids] if symbols else []
        return {place: symbols[piece] for place, piece in enumerate(pieces) if piece in symbols}

    def decoded_unit_ids(
        self, ids: Sequence[int], unit: LinkUnit = "word", replaced: Mapping[int, str] = {}
    ) -> list[int | None]:
        """Returns for each decoded id the index of its unit among the units of `decode(ids, replaced)`, as `unit_ids`
        does for the pieces of a text; None for special ids."""
        covered = self._covered(ids, unit, replaced)
        return [None if i in (PAD, BOS, EOS) else main_unit(units) for i, units in zip(ids, covered, strict=True)]

    def further_unit_ids(
        self, ids: Sequence[int], unit: LinkUnit, replaced: Mapping[int, str]
    ) -> dict[int, tuple[int, ...]]:
        """Returns, for each replaced id that stands for several units, all but the one of `decoded_unit_ids`."""
        covered = self._covered(ids, unit, replaced) if replaced else []
        further = {place: tuple(sorted({*covered[place]} - {main_unit(covered[place])})) for place in replaced}
        return {place: numbers for place, numbers in further.items() if numbers}

    def _covered(self, ids: Sequence[int], unit: LinkUnit, replaced: Mapping[int, str]) -> list[Sequence[int]]:
        if not ids:
            return []
        decoded, spans = self._decoded(ids, replaced)
        character_units = units_of_characters(text_of(decoded, of_words=self.of_words), unit)
        return [*covered_units(decoded, spans, character_units, of_words=self.of_words, marks_ends=self.marks_ends)]

    def _decoded(self, ids: Sequence[int], replaced: Mapping[int, str]) -> tuple[str, list[Span]]:
        """Returns SentencePiece's decoded text, and the span of each piece in it."""
        serialized = self._processor.decode([int(i) for i in ids], out_type="serialized_proto")
        surfaces = [piece.surface for piece in _SpTextProto.FromString(serialized).pieces]
        for place, word in replaced.items():
            text = word.translate(self._escapes)
            surfaces[place] = text if self.marks_beginnings else f" {text} "  # as SentencePiece sets ⁇ apart
        ends = itertools.accumulate((len(surface.encode()) for surface in surfaces), initial=0)
        return "".join(surfaces), list(itertools.pairwise(ends))

    def _known_escapes(self) -> Escapes:
        if self.of_words:
            return ESCAPES_OF_WORDS
        block = self._processor.piece_to_id(ESCAPED_BLOCK) == UNK  # so in models that were not learnt here
        return {mark: escape for mark, escape in ESCAPES.items() if not (block and escape == ESCAPED_BLOCK)}

    def _prepared(self, word: str) -> str:
        return prepared(word, self._escapes, cuts_marks=self._cuts_marks)

    def _readable(self, pieces: list[str]) -> list[str]:
        return [restored(piece.replace(SPACE + JOINER, "") if self.of_words else piece) for piece in pieces]


def _lists(sequences: Sequence[Sequence[int]]) -> pa.ListArray:
    """Returns ids as Arrow lists, without a Python object for each."""
    offsets = np.zeros(len(sequences) + 1, dtype=np.int32)
    np.cumsum([len(ids) for ids in sequences], out=offsets[1:])
    values = np.fromiter(itertools.chain.from_iterable(sequences), np.int32, count=offsets[-1])
    return pa.ListArray.from_arrays(offsets, values)
