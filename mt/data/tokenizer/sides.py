"""The tokenizers of both sides of a corpus, on disk and in memory, and their extension by new pieces.

`Tokenizers` learns, saves and loads them. `extend` adds pieces to a vocabulary, under which old texts keep their
ids.
"""

import hashlib
import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from mt.common.input_files import read_bytes
from mt.data.tokenizer.processor import SPACE, ModelProto, Tokenizer, restored
from mt.data.tokenizer.training import NORMAL, USER_DEFINED, ModelType, TokenizerConfig, train
from mt.errors import UserError
from mt.step import UNK
from mt.text_io import normalize

_TRANSCRIPT = "tokenizer.transcript.model"
_CHARACTERS = TokenizerConfig(model_type="char", vocab_size=8000)


@dataclass(frozen=True)
class Tokenizers:
    """The tokenizers of the two sides, which it iterates over: the same object where the vocabulary is joint."""

    source: Tokenizer
    target: Tokenizer
    transcript: Tokenizer | None = None
    """For the words of a sound, where a corpus has transcripts beside its targets."""

    @classmethod
    def train(
        cls,
        config: TokenizerConfig,
        pairs: Sequence[tuple[str, str]],
        *,
        source: bool = True,
        transcripts: Sequence[str] | None = None,
    ) -> Self:
        """Learns from (source, target) texts; the same texts give the same vocabularies.

        source: whether sources are texts; where not, there is the target's vocabulary alone. transcripts: the words of
        sounds, where these have a vocabulary, of characters.

        Raises:
            UserError: the vocabulary's size does not suit the text, or a model_file cannot be used.
        """
        if config.joint or not source:
            sides = pairs if source else [pair[1:] for pair in pairs]
            both = train(config.side("target"), (text for side in sides for text in side))
            return cls(both, both, None if transcripts is None else train(_CHARACTERS, transcripts))
        sources = train(config.side("source"), (pair[0] for pair in pairs))
        targets = train(config.side("target"), (pair[1] for pair in pairs))
        return cls(sources, targets)

    def __iter__(self) -> Iterator[Tokenizer]:
        return iter((self.source, self.target))

    @property
    def joint(self) -> bool:
        """Whether both sides have one vocabulary."""
        return self.source is self.target

    @property
    def sizes(self) -> tuple[int, int, int | None]:
        """Returns the sizes of the vocabularies of source, target and transcript."""
        return len(self.source), len(self.target), None if self.transcript is None else len(self.transcript)

    def digest(self) -> str:
        """Returns the SHA-256 (hex) of the models, by which ids of these tokenizers are recognised."""
        transcript = () if self.transcript is None else (self.transcript,)
        return hashlib.sha256(b"".join(each.model for each in (*self, *transcript))).hexdigest()

    def save(self, folder: Path) -> None:
        """Writes `tokenizer.model`, or `tokenizer.source.model` and `tokenizer.target.model`; and
        `tokenizer.transcript.model` where there is one."""
        if self.transcript is not None:
            (folder / _TRANSCRIPT).write_bytes(self.transcript.model)
        if self.joint:
            (folder / "tokenizer.model").write_bytes(self.source.model)
        else:
            (folder / "tokenizer.source.model").write_bytes(self.source.model)
            (folder / "tokenizer.target.model").write_bytes(self.target.model)

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Reads what `save` wrote.

        Raises:
            UserError: a file is missing or is no such model.
        """
        transcript = load_tokenizer(folder / _TRANSCRIPT) if (folder / _TRANSCRIPT).is_file() else None
        if (folder / "tokenizer.model").is_file():
            both = load_tokenizer(folder / "tokenizer.model")
            return cls(both, both, transcript)
        source, target = (load_tokenizer(folder / f"tokenizer.{side}.model") for side in ("source", "target"))
        return cls(source, target, transcript)


def load_tokenizer(path: Path) -> Tokenizer:
    """Loads one tokenizer. Raises UserError where the file is missing, or is no such model."""
    try:
        return Tokenizer(read_bytes(path))
    except FileNotFoundError as error:
        raise UserError(f"{path} is missing: the tokenizer belongs beside what was made with it") from error
    except OSError as error:
        raise UserError(
            f"{path} cannot be read ({error.strerror}): restore the file, or give a tokenizer.model"
        ) from error
    except ValueError as error:
        raise UserError(f"{path} is {error}: restore the file, or make what it belongs to again") from error


# Vocabularies with more pieces, under which every text that could be spelt before is cut as before.

TYPES: dict[int, ModelType] = {1: "unigram", 2: "bpe", 3: "word", 4: "char"}
"""The types of SentencePiece models, by their numbers."""


def extend_sides(old: Tokenizers, pairs: Iterable[tuple[str | None, str]], most: int) -> Tokenizers:
    """Returns the tokenizers with new pieces from (source, target) texts; see `extend`. Equal texts give equal pieces.

    pairs: without a source where that is no text. A vocabulary of transcripts stays as it is.
    """
    sources, targets = zip(*pairs, strict=True)
    written = [text for text in sources if text is not None]
    if old.joint:
        both = extend(old.target, [*written, *targets], most)
        return Tokenizers(both, both, old.transcript)
    return Tokenizers(extend(old.source, written, most), extend(old.target, targets, most), old.transcript)


def extend(tokenizer: Tokenizer, texts: Iterable[str], most: int) -> Tokenizer:
    """Returns the tokenizer with more pieces, for the unknown words or characters of the texts; the tokenizer itself
    where nothing is unknown.

    In a vocabulary of words, the new pieces are words; in any other, each new piece has a character that occurs in no
    old one. So a text without unknown tokens has the same ids as before. New pieces are learnt in the way of the old
    ones, from the words with unknown parts, and get the ids after the old ones.

    most: new pieces of several characters, or new words; each new character has a piece in any case.
    """
    # The new pieces: whole words, or learnt from the words with unknown characters.
    proto = ModelProto.FromString(tokenizer.model)
    kind = TYPES[proto.trainer_spec.model_type]
    old = [piece.piece for piece in proto.pieces if piece.type in (NORMAL, USER_DEFINED)]
    unknown = _unknown_words(tokenizer, texts)
    if kind == "word":
        new = [SPACE + word for word, _ in unknown.most_common(most)]
    else:
        new = _learnt(kind, unknown, set("".join(old)), most)
    if not new:
        return tokenizer
    # Their scores are below all old ones: bpe merges them last, and for unigram none is likelier than an old piece.
    lowest = min(piece.score for piece in proto.pieces)
    for rank, piece in enumerate(new, start=1):
        proto.pieces.add(piece=piece, score=lowest - (rank if kind == "bpe" else 0), type=NORMAL)
    proto.trainer_spec.vocab_size = len(proto.pieces)
    return Tokenizer(proto.SerializeToString())


def _learnt(kind: ModelType, unknown: Counter[str], known: set[str], most: int) -> list[str]:
    """Returns pieces with a character that is not known, in the order in which they were learnt."""
    if not unknown:
        return []
    # The special pieces, the mark of a blank, and each character.
    size = 5 + len(set("".join(unknown))) + (0 if kind == "char" else most)
    words = itertools.chain.from_iterable(itertools.repeat(word, count) for word, count in unknown.items())
    learnt = train(TokenizerConfig(model_type=kind, vocab_size=size), map(restored, words))
    return [
        piece.piece
        for piece in ModelProto.FromString(learnt.model).pieces
        if piece.type == NORMAL and set(piece.piece) - known
    ]


def _unknown_words(tokenizer: Tokenizer, texts: Iterable[str]) -> Counter[str]:
    """Counts each word, as the normalisation of the model leaves it, that has something unknown in it."""
    counts: Counter[str] = Counter()
    for word, count in Counter(itertools.chain.from_iterable(normalize(text).split() for text in texts)).items():
        if UNK in tokenizer.encode_word(word):
            counts.update(dict.fromkeys(tokenizer.unknown_parts(word), count))
    return counts
