"""Text to ids and back: the one door to SentencePiece (Kudo & Richardson 2018)."""

import hashlib
import io
import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Literal, NamedTuple, Self

import sentencepiece
from pydantic import Field

from mt.errors import UserError
from mt.parsing import Options

PAD, UNK, BOS, EOS = 0, 1, 2, 3

_SPACE = "▁"  # SentencePiece's mark on a piece that starts a word
_JOINER = "￭"  # on a token of a word model that follows without a space
_PUNCTUATION_EDGE = re.compile(r"(?<=\S)(?=[^\w\s])|(?<=[^\w\s])(?=\S)")


class TokenizerConfig(Options):
    """How text is cut into pieces."""

    model_type: Literal["bpe", "unigram", "char", "word"] = "bpe"
    """bpe: Sennrich et al. 2016; unigram: Kudo 2018; char: characters; word: words and punctuation marks."""
    vocab_size: int = Field(default=8000, ge=5)
    """Pieces in a vocabulary, the four special ones included: as many for bpe, at most so many for the other kinds."""
    joint: bool = True
    """One vocabulary for both sides, or one for each."""
    character_coverage: float = Field(default=1.0, gt=0, le=1)
    """Share of the characters that get a piece; 0.9995 suits Japanese and Chinese."""
    sample: int = Field(default=500_000, ge=1)
    """Most training pairs that the vocabulary is learnt from, drawn at random."""


class Tokenizer:
    """One trained SentencePiece model. Special ids: pad 0, unk 1, bos 2, eos 3.

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
        # Every other kind of model has pieces for the single characters, which start no word.
        self._of_words = all(processor.id_to_piece(i).startswith(_SPACE) for i in range(EOS + 1, len(self)))

    def __len__(self) -> int:
        return self._processor.get_piece_size()

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """The ids of each text, EOS last."""
        return self._processor.encode([self._prepared(text) for text in texts], out_type=int, add_eos=True)

    def split(self, text: str) -> list[str]:
        """The pieces of a text, one per id of `encode`, unknown ones as they are spelt; the last is `</s>`.

        A piece that starts a word starts with `▁`.
        """
        return self._readable(self._processor.encode(self._prepared(text), out_type=str, add_eos=True))

    def pieces(self, ids: Sequence[int]) -> list[str]:
        """The pieces that the ids stand for, as `split` writes them; unknown and special ones by name."""
        return self._readable([self._processor.id_to_piece(int(i)) for i in ids])

    def decode(self, ids: Sequence[int]) -> str:
        """Detokenised text. Pad, bos and eos are dropped, an unknown piece becomes ⁇."""
        text = " ".join(self._processor.decode([int(i) for i in ids]).split())
        return text.replace(" " + _JOINER, "").removeprefix(_JOINER) if self._of_words else text

    def _prepared(self, text: str) -> str:
        text = normalize(text)
        return _marked(text) if self._of_words else text

    def _readable(self, pieces: list[str]) -> list[str]:
        return [piece.removeprefix(_SPACE + _JOINER) for piece in pieces] if self._of_words else pieces


class Tokenizers(NamedTuple):
    """The tokenizers of the two sides: one and the same object where the vocabulary is joint."""

    source: Tokenizer
    target: Tokenizer

    @classmethod
    def train(cls, config: TokenizerConfig, pairs: Sequence[tuple[str, str]]) -> Self:
        """Learn from (source, target) texts; the same texts give the same vocabularies.

        Raises:
            UserError: the vocabulary's size does not suit the text.
        """
        if config.joint:
            both = train(config, (text for pair in pairs for text in pair))
            return cls(both, both)
        return cls(train(config, (pair[0] for pair in pairs)), train(config, (pair[1] for pair in pairs)))

    @property
    def joint(self) -> bool:
        return self.source is self.target

    def digest(self) -> str:
        """SHA-256 (hex) of the models: tells whether ids were made by these tokenizers."""
        return hashlib.sha256(b"".join(side.model for side in self)).hexdigest()

    def save(self, folder: Path) -> None:
        """Write `tokenizer.model`, or `tokenizer.source.model` and `tokenizer.target.model`."""
        if self.joint:
            (folder / "tokenizer.model").write_bytes(self.source.model)
        else:
            (folder / "tokenizer.source.model").write_bytes(self.source.model)
            (folder / "tokenizer.target.model").write_bytes(self.target.model)

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Read what `save` wrote.

        Raises:
            UserError: a file is missing or is no such model.
        """
        if (folder / "tokenizer.model").is_file():
            both = _load(folder / "tokenizer.model")
            return cls(both, both)
        return cls(_load(folder / "tokenizer.source.model"), _load(folder / "tokenizer.target.model"))


def train(config: TokenizerConfig, texts: Iterable[str]) -> Tokenizer:
    """Learn one vocabulary; see `Tokenizers.train`."""
    prepare: Callable[[str], str] = _marked if config.model_type == "word" else str
    model = io.BytesIO()
    try:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=(prepare(normalize(text)) for text in texts),
            model_writer=model,
            model_type=config.model_type,
            vocab_size=config.vocab_size,
            hard_vocab_limit=config.model_type == "bpe",
            character_coverage=config.character_coverage,
            normalization_rule_name="identity",
            max_sentence_length=1 << 20,  # bytes; the default silently skips lines beyond 4192
            num_threads=4,  # fixed, because sums in another order could give another vocabulary
            minloglevel=2,
            pad_id=PAD,
            unk_id=UNK,
            bos_id=BOS,
            eos_id=EOS,
        )
    except RuntimeError as error:
        raise UserError(_training_fault(config, str(error))) from error
    return Tokenizer(model.getvalue())


def normalize(text: str) -> str:
    """The text as the tokenizer sees it: composed (NFC), every run of white space one blank."""
    # Most text is so already, and preparation sees millions of lines. U+0020 is the only printable white space.
    blanks = text.isprintable() and "  " not in text and text == text.strip()
    if blanks and unicodedata.is_normalized("NFC", text):
        return text
    return " ".join(unicodedata.normalize("NFC", text).split())


def word_index(words: Sequence[str], pieces: Sequence[str]) -> list[int]:
    """For each piece the index of the word that it shares most characters with (of equals the first); -1 for `</s>`.

    Projects alignments of pieces onto words. `words` and `pieces` spell the same text; blanks do not count, and a
    piece that is only a blank belongs to the word that follows.

    Raises:
        ValueError: they spell different texts.
    """
    owners = [index for index, word in enumerate(words) for _ in _decomposed(word)]
    spelt = ["" if piece == "</s>" else _decomposed(piece.replace(_SPACE, "")) for piece in pieces]
    if _decomposed("".join(spelt)) != _decomposed("".join(words)):
        raise ValueError(f"the pieces {list(pieces)} do not spell the words {list(words)}")
    indices, start = [], 0
    for piece, characters in zip(pieces, spelt, strict=True):
        # `max` takes the first of equally frequent words, since the slice is in order.
        covered = owners[start : start + max(len(characters), 1)]
        indices.append(-1 if piece == "</s>" or not covered else max(covered, key=covered.count))
        start += len(characters)
    return indices


def _decomposed(text: str) -> str:
    """Without blanks, accents apart: pieces that are decomposed one by one join to the decomposed text."""
    return "".join(unicodedata.normalize("NFD", text).split())


def _marked(text: str) -> str:
    """Set punctuation apart by blanks that can be undone: `Oh, ja!` becomes `Oh ￭, ja ￭!`."""
    return _PUNCTUATION_EDGE.sub(" " + _JOINER, text)


def _load(path: Path) -> Tokenizer:
    try:
        return Tokenizer(path.read_bytes())
    except FileNotFoundError as error:
        raise UserError(f"{path} is missing: the tokenizer belongs beside what was made with it") from error
    except ValueError as error:
        raise UserError(f"{path} is {error}: restore the file, or make what it belongs to again") from error


def _training_fault(config: TokenizerConfig, message: str) -> str:
    asked = f"dataset.tokenizer.vocab_size={config.vocab_size}"
    if found := re.search(r"Vocabulary size too high .* value <= (\d+)", message):
        return f"{asked} is more than the training text supports: choose at most {found[1]}"
    if found := re.search(r"smaller than required_chars\. \d+ vs (\d+)", message):
        return (
            f"{asked} is less than the characters of the training text need: choose at least {found[1]}, "
            "or lower dataset.tokenizer.character_coverage"
        )
    return f"SentencePiece learnt no vocabulary ({message}): check the training text and dataset.tokenizer"
