"""Vocabularies with more pieces, under which every text that could be spelt before is cut as before."""

import itertools
from collections import Counter
from collections.abc import Iterable

from mt.common.comparable import normalize
from mt.data.tokenizer.config import ModelType, TokenizerConfig
from mt.data.tokenizer.marks import SPACE, restored
from mt.data.tokenizer.processor import UNK, Tokenizer
from mt.data.tokenizer.sides import Tokenizers
from mt.data.tokenizer.training import proto_of, train

TYPES: dict[int, ModelType] = {1: "unigram", 2: "bpe", 3: "word", 4: "char"}
"""The types of SentencePiece models, by their numbers."""
NORMAL = 1
_USER_DEFINED = 4
"""Types of pieces that a text is cut into, NORMAL also into others than the whole."""


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
    """Returns the tokenizer with pieces for what it does not know of the texts; itself where it knows everything.

    A new piece is a word that a vocabulary of words lacks, or has a character that occurs in no old piece. So a text
    without unknown tokens has the same ids as before. They are learnt as the old ones were, from the words that have
    something unknown in them, and get the ids after the old ones.

    most: new pieces of several characters, or new words; each new character has a piece in any case.
    """
    proto = proto_of(tokenizer.model)
    kind = TYPES[proto.trainer_spec.model_type]
    old = [piece.piece for piece in proto.pieces if piece.type in (NORMAL, _USER_DEFINED)]
    unknown = _unknown_words(tokenizer, texts)
    new = _words(unknown, most) if kind == "word" else _learnt(kind, unknown, set("".join(old)), most)
    if not new:
        return tokenizer
    # Below all old pieces: they are merged after those of bpe, and none is likelier than those of unigram.
    lowest = min(piece.score for piece in proto.pieces)
    for rank, piece in enumerate(new, start=1):
        proto.pieces.add(piece=piece, score=lowest - (rank if kind == "bpe" else 0), type=NORMAL)
    proto.trainer_spec.vocab_size = len(proto.pieces)
    return Tokenizer(proto.SerializeToString())


def _words(unknown: Counter[str], most: int) -> list[str]:
    return [SPACE + word for word, _ in unknown.most_common(most)]


def _learnt(kind: ModelType, unknown: Counter[str], known: set[str], most: int) -> list[str]:
    """Returns pieces with a character that is not known, in the order in which they were learnt."""
    if not unknown:
        return []
    # The special pieces, the mark of a blank, and each character.
    size = 5 + len(set("".join(unknown))) + (0 if kind == "char" else most)
    words = itertools.chain.from_iterable(itertools.repeat(word, count) for word, count in unknown.items())
    learnt = train(TokenizerConfig(model_type=kind, vocab_size=size), map(restored, words), exact=False)
    return [piece.piece for piece in proto_of(learnt.model).pieces if piece.type == NORMAL and set(piece.piece) - known]


def _unknown_words(tokenizer: Tokenizer, texts: Iterable[str]) -> Counter[str]:
    """Counts each word, as the normalisation of the model leaves it, that has something unknown in it."""
    counts: Counter[str] = Counter()
    for word, count in Counter(itertools.chain.from_iterable(normalize(text).split() for text in texts)).items():
        if UNK in tokenizer.encode_word(word):
            counts.update(dict.fromkeys(tokenizer.unknown_parts(word), count))
    return counts
