"""Text to ids and back: a trained SentencePiece model (Kudo & Richardson 2018)."""

import itertools
import re
import unicodedata
from collections.abc import Sequence
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import sentencepiece

from mt.data.arrow import numbers
from mt.data.words import words

PAD, UNK, BOS, EOS = 0, 1, 2, 3

Unit = Literal["word", "char"]
"""What alignments link."""

SPACE = "▁"
"""SentencePiece's mark on a piece that starts a word."""
_JOINER = "￭"  # on a token of a word model that follows without a space
_UNKNOWN = "⁇"  # as an unknown piece is decoded
_SPECIAL = {"<pad>", "<s>", "</s>"}
_BYTE = re.compile(r"<0x[0-9A-F]{2}>")  # a piece of a model with byte fallback
_CONTINUATION = re.compile(r"<0x[89AB][0-9A-F]>")  # a byte of UTF-8 that begins no character
_PUNCTUATION_EDGE = re.compile(r"(?<=\S)(?=[^\w\s])|(?<=[^\w\s])(?=\S)")


class Tokenizer:
    """One trained SentencePiece model. Special ids: pad 0, unk 1, bos 2, eos 3.

    Text is cut word by word, a word being what stands between blanks. So a word that has just arrived is cut alike
    whatever follows, also by a model whose pieces may cross blanks, and in training as in translation.

    A text survives encoding and decoding up to Unicode composition (NFC) and the kind and number of its blanks;
    characters that the vocabulary lacks come back as ⁇. Nothing else is normalised, so that fullwidth or
    typographic characters of a reference can be produced.
    """

    def __init__(self, model: bytes) -> None:
        """`model`: a serialized SentencePiece model. Raises ValueError where it is none, or has other special ids."""
        self.model = model
        try:
            self._processor = sentencepiece.SentencePieceProcessor(model_proto=model, num_threads=1)
        except RuntimeError as error:
            raise ValueError("not a SentencePiece model") from error
        processor = self._processor
        special = processor.pad_id(), processor.unk_id(), processor.bos_id(), processor.eos_id()
        if not model or special != (PAD, UNK, BOS, EOS):
            raise ValueError("not a SentencePiece model with the ids pad 0, unk 1, bos 2, eos 3")
        try:
            pieces = [processor.id_to_piece(i) for i in range(len(self))]
        except UnicodeDecodeError as error:
            raise ValueError("a damaged SentencePiece model (a piece is not UTF-8)") from error
        ordinary = pieces[EOS + 1 :]
        # Every other type of model has pieces for the single characters, which start no word.
        self._of_words = all(piece.startswith(SPACE) for piece in ordinary)
        self.of_characters = not any(len(piece.removeprefix(SPACE)) > 1 for piece in ordinary)

    def __len__(self) -> int:
        return self._processor.get_piece_size()

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """The ids of each text: those of its words one after another, and EOS."""
        # Without Arrow, which would load pandas at its first array: a fifth of the time that one line takes in all.
        lines = [normalize(text).split() for text in texts]
        words = [*dict.fromkeys(itertools.chain.from_iterable(lines))]
        cut = self._processor.encode([self._prepared(word) for word in words], out_type=int)
        ids = dict(zip(words, cut, strict=True))
        return [[*itertools.chain.from_iterable(ids[word] for word in line), EOS] for line in lines]

    def encode_word(self, word: str) -> list[int]:
        """The ids of one word, without EOS; none where the model's normalisation leaves nothing of it."""
        return self._processor.encode(self._prepared(normalize(word)), out_type=int)

    def unknown_parts(self, word: str) -> list[str]:
        """What of a word has something in it that the vocabulary lacks, as the model's own normalisation leaves it: the
        word, or of a model of words the words and marks in it."""
        parts = self._processor.normalize(self._prepared(normalize(word))).replace(SPACE, " ").split()
        return [part for part in parts if UNK in self._processor.encode(part)]

    def encode_column(self, texts: Sequence[str]) -> pa.ListArray:
        """What `encode` gives, as an Arrow column. A word is cut once, however often it occurs in the texts."""
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
        """The ids of a character inside of a word, where the model is `of_characters`."""
        ids = self.encode_word(character)
        # On its own a character begins a word: the mark of that is a piece of its own, or a part of the piece.
        bare = self._processor.id_to_piece(ids[0]).removeprefix(SPACE) if ids else ""
        if not ids or self._of_words or ids[0] == UNK:
            return ids
        return [*([self._processor.piece_to_id(bare)] if bare else []), *ids[1:]]

    def begins_word(self, token: int, before: int | None) -> bool:
        """Whether a token begins a word (what stands between blanks) of the decoded text. before: the one before it."""
        piece = self._processor.id_to_piece(token)
        if self._of_words:
            return not piece.startswith(SPACE + _JOINER)
        return piece.startswith(SPACE) or UNK in (token, before)  # what is unknown stands between blanks

    def split(self, text: str) -> list[str]:
        """The pieces of a text, one per id of `encode`, unknown ones as they are spelt; the last is `</s>`.

        A piece that starts a word starts with `▁`.
        """
        words = [self._prepared(word) for word in normalize(text).split()]
        pieces = itertools.chain.from_iterable(self._processor.encode(words, out_type=str))
        return self._readable([*pieces, self._processor.id_to_piece(EOS)])

    def pieces(self, ids: Sequence[int]) -> list[str]:
        """The pieces that the ids stand for, as `split` writes them; unknown and special ones by name."""
        return self._readable([self._processor.id_to_piece(int(i)) for i in ids])

    def count_pieces(self, text: str) -> int:
        """The pieces of a text as it is, a newline too, which `split` normalises away: so does SimulEval count."""
        return len(self._processor.encode(marked(text) if self._of_words else text))

    def decode(self, ids: Sequence[int]) -> str:
        """Detokenised text. Pad, bos and eos are dropped, an unknown piece becomes ⁇."""
        text = " ".join(self._processor.decode([int(i) for i in ids]).split())
        return text.replace(" " + _JOINER, "").removeprefix(_JOINER) if self._of_words else text

    def unit_ids(self, text: str, unit: Unit = "word") -> list[int | None]:
        """For each piece of `split` the index among `units(text)` of the one it shares most characters with (of equals
        the first); None for `</s>`. A piece that is only a blank belongs to the unit that follows."""
        return _unit_ids(self.split(text), units(text, unit))

    def decoded_unit_ids(self, ids: Sequence[int], unit: Unit = "word") -> list[int | None]:
        """The same for decoded ids and the units of `decode(ids)`; None for special ids."""
        pieces = [_UNKNOWN if i == UNK else piece for i, piece in zip(ids, self.pieces(ids), strict=True)]
        return _unit_ids(pieces, units(self.decode(ids), unit))

    def _prepared(self, word: str) -> str:
        return marked(word) if self._of_words else word

    def _readable(self, pieces: list[str]) -> list[str]:
        return [piece.removeprefix(SPACE + _JOINER) for piece in pieces] if self._of_words else pieces


def _lists(sequences: Sequence[Sequence[int]]) -> pa.ListArray:
    """Ids as Arrow lists, without a Python object for each."""
    offsets = np.zeros(len(sequences) + 1, dtype=np.int32)
    np.cumsum([len(ids) for ids in sequences], out=offsets[1:])
    values = np.fromiter(itertools.chain.from_iterable(sequences), np.int32, count=offsets[-1])
    return pa.ListArray.from_arrays(offsets, values)


def units(text: str, unit: Unit) -> list[str]:
    """What alignments link: the words of a text (`mt.data.words.words`), or its characters, blanks apart."""
    return words(normalize(text)) if unit == "word" else [*_bare(normalize(text))]


def _unit_ids(pieces: Sequence[str], spelt: Sequence[str]) -> list[int | None]:
    owners = [index for index, unit in enumerate(spelt) for _ in _bare(unit)]
    indices: list[int | None] = []
    start = 0
    for piece in pieces:
        length = 0 if piece in _SPECIAL else _characters(piece)
        # Byte pieces after the first of a character belong to it. What lower-casing made longer is cut off.
        first = start - 1 if _CONTINUATION.fullmatch(piece) else min(start, len(owners) - 1)
        covered = owners[max(first, 0) : max(first, 0) + max(length, 1)]
        # `max` takes the first of equally frequent units, since the slice is in order.
        indices.append(None if piece in _SPECIAL or not covered else max(covered, key=covered.count))
        start += length
    return indices


def normalize(text: str) -> str:
    """The text as the tokenizer sees it: composed (NFC), every run of white space one blank."""
    # Most text is so already, and preparation sees millions of lines. U+0020 is the only printable white space.
    blanks = text.isprintable() and "  " not in text and text == text.strip()
    if blanks and unicodedata.is_normalized("NFC", text):
        return text
    return " ".join(unicodedata.normalize("NFC", text).split())


def marked(text: str) -> str:
    """Set punctuation apart by blanks that can be undone: `Oh, ja!` becomes `Oh ￭, ja ￭!`."""
    return _PUNCTUATION_EDGE.sub(" " + _JOINER, text)


def _bare(text: str) -> str:
    """Without blanks and the marks that this module and SentencePiece set."""
    return "".join(text.replace(SPACE, "").replace(_JOINER, "").split())


def _characters(piece: str) -> int:
    """How many characters of a text without blanks a piece stands for."""
    if _BYTE.fullmatch(piece):
        return 0 if _CONTINUATION.fullmatch(piece) else 1
    return len(_bare(piece))
