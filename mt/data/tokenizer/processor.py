"""Text to ids and back: a trained SentencePiece model (Kudo & Richardson 2018)."""

import functools
import itertools
import re
from collections.abc import Mapping, Sequence
from string import ascii_lowercase, ascii_uppercase
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import sentencepiece
from sentencepiece import sentencepiece_model_pb2, sentencepiece_pb2

from mt.common.comparable import normalize
from mt.data.arrow import numbers
from mt.data.tokenizer.marks import (
    ESCAPED_BLOCK,
    ESCAPES,
    ESCAPES_OF_WORDS,
    JOINER,
    SPACE,
    Escapes,
    prepared,
    restored,
    text_of,
)
from mt.data.tokenizer.units import LinkUnit, Span, units_of_characters, units_of_pieces

PAD = 0
UNK = 1
BOS = 2
EOS = 3

_ModelProto: Any = sentencepiece_model_pb2.ModelProto  # type: ignore[attr-defined]
_SpTextProto: Any = sentencepiece_pb2.SentencePieceText  # type: ignore[attr-defined]


class Tokenizer:
    """One trained SentencePiece model. Special ids: pad 0, unk 1, bos 2, eos 3.

    Text is cut word by word, a word being what stands between blanks. So a word that has just arrived is cut alike
    whatever follows, also by a model whose pieces may cross blanks, and in training as in translation.

    A text survives encoding and decoding up to Unicode composition (NFC) and the kind and number of its blanks, also
    one that holds marks of tokenizers; characters that the vocabulary lacks come back as ⁇. Nothing else is normalised,
    so that fullwidth or typographic characters of a reference can be produced.
    """

    def __init__(self, model: bytes) -> None:
        """Loads a serialized SentencePiece model. Raises ValueError where it is none, or has other special ids."""
        self.model = model
        try:
            self._processor = sentencepiece.SentencePieceProcessor(model_proto=model, num_threads=1)
        except RuntimeError as error:
            raise ValueError("not a SentencePiece model") from error
        processor = self._processor
        special = [processor.pad_id(), processor.unk_id(), processor.bos_id(), processor.eos_id()]
        if not model or special != [PAD, UNK, BOS, EOS]:
            raise ValueError("not a SentencePiece model with the ids pad 0, unk 1, bos 2, eos 3")
        try:
            pieces = [processor.id_to_piece(i) for i in range(len(self))]
        except UnicodeDecodeError as error:
            raise ValueError("a damaged SentencePiece model (a piece is not UTF-8)") from error
        ordinary = pieces[EOS + 1 :]
        # Every other type of model has pieces for the single characters, which start no word.
        self.of_words = all(piece.startswith(SPACE) for piece in ordinary)
        """Whether each piece is a whole word or a punctuation mark."""
        self.of_characters = not any(len(piece.removeprefix(SPACE)) > 1 for piece in ordinary)
        # A model from elsewhere may mark where words end.
        self._with_suffixes = any(piece.endswith(SPACE) for piece in ordinary if len(piece) > 1)
        self._escapes = self._known_escapes()

    def __len__(self) -> int:
        return self._processor.get_piece_size()

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """Returns the ids of each text: those of its words one after another, and EOS."""
        # Without Arrow, which would load pandas at its first array: a fifth of the time that one line takes in all.
        lines = [normalize(text).split() for text in texts]
        words = [*dict.fromkeys(itertools.chain.from_iterable(lines))]
        cut = self._processor.encode([self._prepared(word) for word in words], out_type=int)
        ids = dict(zip(words, cut, strict=True))
        return [[*itertools.chain.from_iterable(ids[word] for word in line), EOS] for line in lines]

    def encode_word(self, word: str) -> list[int]:
        """Returns the ids of one word, without EOS; none where the model's normalisation leaves nothing of it."""
        return self._processor.encode(self._prepared(normalize(word)), out_type=int)

    def unknown_parts(self, word: str) -> list[str]:
        """Returns the parts of a word in which the vocabulary lacks something, as the model's normalisation leaves
        them: the word, or of a model of words the words and marks in it, marked. Marks of tokenizers stay escaped."""
        parts = filter(None, self._processor.normalize(self._prepared(normalize(word))).split(SPACE))
        return [part for part in parts if UNK in self._processor.encode(part)]

    def written(self, words: list[str]) -> list[str]:
        """Returns what decoding the ids of each word gives."""
        decoded = self._processor.decode(self._processor.encode([self._prepared(word) for word in words]))
        return [text_of(word, of_words=self.of_words) for word in decoded]

    @functools.cached_property
    def rewrites(self) -> bool:
        """Whether the model normalises text by rules of its own: what it knows may come back otherwise then."""
        return bool(_ModelProto.FromString(self.model).normalizer_spec.precompiled_charsmap)

    @functools.cached_property
    def lowercases(self) -> bool:
        """Whether the model makes small letters of capitals before it cuts a text, so that nothing writes one."""
        return self._processor.normalize(ascii_uppercase).strip(SPACE) == ascii_lowercase

    def encode_column(self, texts: Sequence[str]) -> pa.ListArray:
        """Returns the ids of `encode` as an Arrow column. A word is cut once, however often it occurs in the texts."""
        split = pc.split_pattern(pa.array(map(normalize, texts), pa.large_string()), " ")
        words = split.flatten().dictionary_encode()
        ids = self._processor.encode([self._prepared(word) for word in words.dictionary.to_pylist()], out_type=int)
        # EOS is one word more, and stands at the end of each text.
        ends = numbers(split.offsets)[1:]
        indices = np.insert(numbers(words.indices), ends, len(ids))
        column = _lists([*ids, [EOS]]).take(pa.array(indices))
        boundaries = np.concatenate(([0], ends + np.arange(1, len(ends) + 1)))
        return pa.ListArray.from_arrays(column.offsets.take(pa.array(boundaries)), column.values)

    def encode_character(self, character: str) -> list[int]:
        """Returns the ids of a character inside of a word, where the model is `of_characters`."""
        ids = self.encode_word(character)
        # On its own a character begins a word: the mark of that is a piece of its own, or a part of the piece.
        bare = self._processor.id_to_piece(ids[0]).removeprefix(SPACE) if ids else ""
        if not ids or self.of_words or ids[0] == UNK:
            return ids
        return [*([self._processor.piece_to_id(bare)] if bare else []), *ids[1:]]

    def begins_word(self, token: int, before: int | None) -> bool:
        """Returns whether a token begins a word (what stands between blanks) of the decoded text. before: the one
        before it."""
        piece = self._processor.id_to_piece(token)
        if self.of_words:
            return not piece.startswith(SPACE + JOINER)
        if self._with_suffixes:
            return before is not None and (
                self._processor.id_to_piece(before).endswith(SPACE) or UNK in (token, before)
            )
        return piece.startswith(SPACE) or UNK in (token, before)  # what is unknown stands between blanks

    def split(self, text: str) -> list[str]:
        """Returns the pieces of a text, one per id of `encode`, unknown ones as they are spelt; the last is `</s>`.

        A piece that starts a word starts with `▁`.
        """
        words = [self._prepared(word) for word in normalize(text).split()]
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

        replaced: for some of the ids, by their places, words that are written in place of their pieces.
        """
        if replaced:
            return text_of(self._decoded(ids, replaced)[0], of_words=self.of_words)
        return text_of(self._processor.decode([int(i) for i in ids]), of_words=self.of_words)

    def unit_ids(self, text: str, unit: LinkUnit = "word") -> list[int | None]:
        """Returns for each piece of `split` the index of the unit among `units(text)` with which it shares most
        characters (of equals the first); None for `</s>`. A piece that is only a blank belongs to the unit after it.

        What the model's own normalisation makes longer or shorter moves no later piece.
        """
        words = normalize(text).split()
        texts = [self._prepared(word) for word in words]
        units: list[int | None] = []
        first = 0
        for word, prepared_word, cut in zip(words, texts, self._cut(texts), strict=True):
            character_units = units_of_characters(word, unit)
            spans = ((piece.begin, piece.end) for piece in cut.pieces)
            for number in units_of_pieces(prepared_word, spans, character_units, of_words=self.of_words):
                units.append(None if number is None else first + number)
            first += character_units[-1] + 1
        return [*units, None]

    def decoded_unit_ids(
        self, ids: Sequence[int], unit: LinkUnit = "word", replaced: Mapping[int, str] = {}
    ) -> list[int | None]:
        """Returns the same for decoded ids and the units of `decode(ids, replaced)`; None for special ids."""
        if not ids:
            return []
        decoded, spans = self._decoded(ids, replaced)
        character_units = units_of_characters(text_of(decoded, of_words=self.of_words), unit)
        units = units_of_pieces(decoded, spans, character_units, of_words=self.of_words)
        return [None if i in (PAD, BOS, EOS) else number for i, number in zip(ids, units, strict=True)]

    def _decoded(self, ids: Sequence[int], replaced: Mapping[int, str]) -> tuple[str, list[Span]]:
        """Returns what SentencePiece decodes, and where each piece stands in it."""
        serialized = self._processor.decode([int(i) for i in ids], out_type="serialized_proto")
        surfaces = [piece.surface for piece in _SpTextProto.FromString(serialized).pieces]
        for place, word in replaced.items():
            surfaces[place] = f" {word.translate(self._escapes)} "  # as SentencePiece sets ⁇ apart
        ends = itertools.accumulate((len(surface.encode()) for surface in surfaces), initial=0)
        return "".join(surfaces), list(itertools.pairwise(ends))

    def _cut(self, texts: list[str]) -> list[Any]:
        """Returns the pieces of prepared words, with their places."""
        return [*map(_SpTextProto.FromString, self._processor.encode(texts, out_type="serialized_proto"))]

    def _known_escapes(self) -> Escapes:
        if self.of_words:
            return ESCAPES_OF_WORDS
        block = self._processor.piece_to_id(ESCAPED_BLOCK) == UNK  # as it is in models of somebody else's
        return {mark: escape for mark, escape in ESCAPES.items() if not (block and escape == ESCAPED_BLOCK)}

    def _prepared(self, word: str) -> str:
        return prepared(word, self._escapes, of_words=self.of_words)

    def _readable(self, pieces: list[str]) -> list[str]:
        if self.of_words:
            pieces = [piece.removeprefix(SPACE + JOINER) for piece in pieces]
        return [restored(piece) for piece in pieces]


def _lists(sequences: Sequence[Sequence[int]]) -> pa.ListArray:
    """Returns ids as Arrow lists, without a Python object for each."""
    offsets = np.zeros(len(sequences) + 1, dtype=np.int32)
    np.cumsum([len(ids) for ids in sequences], out=offsets[1:])
    values = np.fromiter(itertools.chain.from_iterable(sequences), np.int32, count=offsets[-1])
    return pa.ListArray.from_arrays(offsets, values)
