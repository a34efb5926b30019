"""How a tokenizer is learnt: its options, and its training.

`train` has SentencePiece learn a vocabulary, or adopts a model of the user.
"""

import io
import re
import sys
import tempfile
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import sentencepiece
from google.protobuf.message import DecodeError
from pydantic import Field, model_validator

from mt.common.input_files import read_bytes
from mt.common.options import MAX_COUNT, MAX_SIZE, Options
from mt.data.placeholders import MOST, RESERVED, SAFE, SYMBOLS, SYNTAX, placeholders_of
from mt.data.tokenizer.processor import (
    ESCAPED_SPACE,
    ESCAPES,
    ESCAPES_OF_WORDS,
    JOINER,
    SPACE,
    ModelProto,
    Tokenizer,
    prepared,
)
from mt.data.words import runs
from mt.errors import UserError
from mt.step import EOS
from mt.text_io import normalize

# Options.

ModelType = Literal["bpe", "unigram", "char", "word", "blanks"]
Normalization = Literal["nfc", "nfd", "nfkc"]


class SideConfig(Options):
    """What differs for the tokenizer of one side; null takes what both sides have."""

    model_type: ModelType | None = None
    vocab_size: Annotated[int, "pieces"] | None = Field(None, ge=5, le=MAX_SIZE)
    character_coverage: Annotated[float, "share"] | None = Field(None, ge=0.98, le=1)
    lowercase: bool | None = None
    normalization: Normalization | None = None
    model_file: str | None = None


class TokenizerConfig(Options):
    """How text is cut into tokens."""

    model_type: ModelType = "bpe"
    """bpe: Sennrich et al. 2016; unigram: Kudo 2018; char: characters; word: words and punctuation marks; blanks:
    what stands between blanks, as phones."""
    vocab_size: Annotated[int, "pieces"] = Field(default=8000, ge=5, le=MAX_SIZE)
    """Most tokens in a vocabulary, the four special ones included. It has fewer where the text gives no more."""
    joint: bool = True
    """One vocabulary for both sides, or one for each."""
    character_coverage: Annotated[float, "share"] = Field(default=1.0, ge=0.98, le=1)
    """Share of the characters that get a token, 0.98 at least; 0.9995 suits Japanese and Chinese."""
    lowercase: bool = False
    """Whether text is lower-cased before it is cut. What is decoded is lower-case then, too."""
    normalization: Normalization = "nfc"
    """The Unicode form of the characters that are cut. nfd: marks and the jamo of Hangul stand alone, so that a letter
    with a new mark is known. nfkc: compatibility characters, as ligatures and full-width letters, are plain ones."""
    model_file: str | None = None
    """A trained SentencePiece model to use; null learns one from the training pairs."""
    user_symbols: Annotated[tuple[str, ...], "pieces"] = ()
    """Texts that are one token each wherever they stand, from the beginning, as ["<sep>"]; SentencePiece's
    user_defined_symbols."""
    placeholders: Annotated[int, "pieces"] = Field(default=0, ge=0, le=MOST)
    """Symbols that stand for placeholders as `{name}` and `%s`, one token each; see `mt.data.placeholders`. 0: they
    are text."""
    placeholder_syntaxes: tuple[str, ...] = SAFE
    """How placeholders are written: names of `mt.data.placeholders.SYNTAXES`; see docs/markup.md."""
    sample: Annotated[int, "pairs"] = Field(default=500_000, ge=1, le=MAX_COUNT)
    """Most training pairs that the vocabulary is learnt from, sampled at random."""
    source: SideConfig = SideConfig()
    """What is different for the source; needs joint=false. null: as above."""
    target: SideConfig = SideConfig()
    """What is different for the target; needs joint=false. null: as above."""

    def side(self, name: Literal["source", "target"]) -> Self:
        """Returns the options of one side."""
        side: SideConfig = getattr(self, name)
        return self.model_copy(update={key: value for key, value in side if value is not None})

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if self.placeholder_syntaxes != SAFE:
            placeholders_of(self.placeholder_syntaxes)  # refuses other names
        # The sides differ only where each has a vocabulary.
        if self.joint and (self.source, self.target) != (SideConfig(), SideConfig()):
            raise UserError(
                "dataset.tokenizer.source and .target make the sides differ, but the vocabulary is joint: set "
                "dataset.tokenizer.joint=false"
            )
        # A symbol is one token wherever it stands.
        for symbol in self.user_symbols:
            _require_symbol(symbol, self.model_type)
        for name in ("source", "target"):
            if (side := self.side(name)).model_file:
                _require_as_it_is(side, name)
        return self


def _require_symbol(symbol: str, model_type: ModelType) -> None:
    """Raises UserError where a text cannot be one token of such a vocabulary."""
    if normalize(symbol) != symbol or not symbol or " " in symbol:
        raise UserError(
            f"dataset.tokenizer.user_symbols has {symbol!r}, and a symbol is composed (NFC), without blanks: leave it "
            "out"
        )
    if model_type == "word" and len(runs(symbol)) > 1:
        raise UserError(
            f"dataset.tokenizer.user_symbols has {symbol!r}, which a vocabulary of words cuts into "
            f"{len(runs(symbol))}: leave it out, or choose another dataset.tokenizer.model_type"
        )


def _require_as_it_is(config: TokenizerConfig, name: str) -> None:
    """Raises UserError where options would change a model of the user's own. name: of the side."""
    if config.user_symbols or config.placeholders:
        raise UserError(
            f"the {name}'s tokenizer has a model_file, whose pieces are what they are: leave out "
            "dataset.tokenizer.user_symbols and .placeholders"
        )
    if config.lowercase or config.normalization != "nfc":
        raise UserError(
            f"the {name}'s tokenizer has a model_file, which normalises text in its own way: set "
            "dataset.tokenizer.lowercase=false and .normalization=nfc, or leave out dataset.tokenizer.model_file"
        )


# Training, or a SentencePiece model from elsewhere.

NORMAL = 1
_UNKNOWN = 2
_CONTROL = 3
USER_DEFINED = 4
"""Types of pieces. A text may be cut into normal and user-defined ones, into a part of a normal one too."""
_SPECIAL = {"pad": "<pad>", "unk": "<unk>", "bos": "<s>", "eos": "</s>"}
"""The special pieces in the order of their ids, 0 to 3: what SentencePiece's options call them, and their names."""
_OPTIONS_OF_SPECIAL: dict[str, Any] = {f"{kind}_id": number for number, kind in enumerate(_SPECIAL)} | {
    f"{kind}_piece": RESERVED + name for kind, name in _SPECIAL.items()
}
"""While a vocabulary is learnt, special pieces have reserved names."""
_LONGEST_WORD = 2000
"""Characters; a longer one is learnt from in parts. SentencePiece takes no piece of 8 kB, and ends the process at a
word of 65,536 characters."""
_LONGEST_LINE = 1 << 30
"""Bytes, the most that SentencePiece allows; it skips longer lines in silence."""
_OF_WORDS = ("word", "blanks")
"""Types of which SentencePiece learns a model of words."""
_WORDS_OF_A_LINE = 10_000
"""A longer text is split into several lines."""


def train(config: TokenizerConfig, texts: Iterable[str]) -> Tokenizer:
    """Learns one vocabulary, or takes that of `config.model_file`; see `Tokenizers.train`.

    It has the size that was asked for, or all pieces that there are where the text gives no more.
    """
    if config.model_file:
        return _adopted(Path(config.model_file))
    model = io.BytesIO()
    symbols = [*_symbols(config)]
    of_words = config.model_type in _OF_WORDS
    with tempfile.TemporaryDirectory() as folder:
        normalization: dict[str, Any] = {"normalization_rule_name": "identity"}
        if config.lowercase or config.normalization != "nfc":
            rules = Path(folder, "rules.tsv")
            rules.write_text(_rules(config), encoding="utf-8")
            normalization = {"normalization_rule_tsv": str(rules)}
        try:
            sentencepiece.SentencePieceTrainer.train(
                sentence_iterator=_lines(texts, config),
                model_writer=model,
                model_type="word" if of_words else config.model_type,
                split_by_unicode_script=config.model_type != "blanks",  # by this flag a `Tokenizer` tells the two
                # Symbols that are added afterwards need room.
                vocab_size=max(4, config.vocab_size - len(symbols) * of_words),
                hard_vocab_limit=False,
                character_coverage=config.character_coverage,
                max_sentence_length=_LONGEST_LINE,
                num_threads=4,  # fixed, because sums in another order could give another vocabulary
                minloglevel=2,
                **_OPTIONS_OF_SPECIAL,
                # In a vocabulary of words SentencePiece would take symbols for parts of words: `_insert` adds them.
                user_defined_symbols=[] if of_words else symbols,
                **normalization,
            )
        except RuntimeError as error:
            raise UserError(_training_fault(config, str(error))) from error
    proto = _with_usual_names(ModelProto.FromString(model.getvalue()), config)
    if of_words:
        _insert(proto, symbols)
    # As earlier releases set it, so that the same text still gives the same model, byte for byte.
    proto.trainer_spec.hard_vocab_limit = config.model_type == "bpe" and len(proto.pieces) == config.vocab_size
    # Without the path of the temporary file, which would make the model of the same text differ each time.
    proto.normalizer_spec.ClearField("normalization_rule_tsv")
    return Tokenizer(proto.SerializeToString())


def _insert(proto: Any, symbols: Sequence[str]) -> None:
    # The symbols come before the learnt pieces, as in the other types of vocabularies.
    learnt = [piece for piece in proto.pieces[EOS + 1 :] if piece.piece not in symbols]
    del proto.pieces[EOS + 1 :]
    proto.pieces.extend(ModelProto.SentencePiece(piece=piece, score=0.0, type=USER_DEFINED) for piece in symbols)
    proto.pieces.extend(learnt)
    proto.trainer_spec.vocab_size = len(proto.pieces)


def _symbols(config: TokenizerConfig) -> Iterator[str]:
    """Yields the pieces that a vocabulary has from the beginning. In a vocabulary of words each has two forms, for the
    beginning of a word and within one."""
    of_words = config.model_type in _OF_WORDS
    for symbol in (*SYMBOLS[: config.placeholders], *config.user_symbols):
        piece = prepared(symbol, ESCAPES_OF_WORDS if of_words else ESCAPES, cuts_marks=config.model_type == "word")
        yield from (SPACE + piece, SPACE + JOINER + piece) if of_words else (piece,)


def _lines(texts: Iterable[str], config: TokenizerConfig) -> Iterator[str]:
    """Yields the texts in lines that are short enough for SentencePiece, which skips longer ones."""
    escapes = ESCAPES_OF_WORDS if config.model_type in _OF_WORDS else ESCAPES
    found = placeholders_of(config.placeholder_syntaxes)
    for text in texts:
        words = [
            prepared(word[start : start + _LONGEST_WORD], escapes, cuts_marks=config.model_type == "word")
            for word in found.masked(normalize(text), config.placeholders)[0].split()
            for start in range(0, len(word), _LONGEST_WORD)
        ]
        for start in range(0, len(words), _WORDS_OF_A_LINE):
            yield " ".join(words[start : start + _WORDS_OF_A_LINE])


def _with_usual_names(proto: Any, config: TokenizerConfig) -> Any:
    """Gives the special pieces their usual names, and records the syntaxes of placeholders. While a vocabulary is
    learnt, the special pieces have reserved names, since SentencePiece would drop `<s>` from a text that holds it."""
    spec = proto.trainer_spec
    if config.placeholders:
        spec.user_defined_symbols.extend(SYNTAX + name for name in config.placeholder_syntaxes)
    # The special pieces are the first ones.
    for piece, (kind, name) in zip(proto.pieces, _SPECIAL.items(), strict=False):
        setattr(spec, f"{kind}_piece", name)
        piece.piece = name
    return proto


def _rules(config: TokenizerConfig) -> str:
    """Returns the rules of SentencePiece that change single characters, of which composed (NFC) text consists."""
    form: Any = config.normalization.upper()
    lines = []
    for character in map(chr, range(sys.maxunicode + 1)):
        new = character.lower() if config.lowercase else character
        if form != "NFC":
            new = unicodedata.normalize(form, new)
        if new != character:
            # In SentencePiece's format: code points in hexadecimal, a tab, and the code points that replace them.
            lines.append(f"{ord(character):X}\t{' '.join(f'{ord(each):X}' for each in new)}\n")
    return "".join(lines)


def _adopted(path: Path) -> Tokenizer:
    """Reads a SentencePiece model from elsewhere, and moves its special pieces to our ids.

    Raises UserError where the file is none, or a special piece is missing.
    """
    try:
        proto = ModelProto.FromString(read_bytes(path))
    except OSError as error:
        raise UserError(f"{path} cannot be read ({error.strerror}): set dataset.tokenizer.model_file") from error
    except DecodeError as error:
        raise UserError(f"{path} is not a SentencePiece model: set dataset.tokenizer.model_file") from error
    spec = proto.trainer_spec
    names = [getattr(spec, f"{kind}_piece") for kind in _SPECIAL]
    pieces = {piece.piece: piece for piece in proto.pieces if piece.piece not in names}
    if not pieces or any(piece.piece == spec.unk_piece and piece.type != _UNKNOWN for piece in proto.pieces):
        raise UserError(f"{path} is not a SentencePiece model with pieces: set dataset.tokenizer.model_file")
    # Words are cut one by one, and each starts with the mark of a blank, without which words would run together.
    proto.normalizer_spec.add_dummy_prefix = True
    spec.ClearField("unk_surface")  # an unknown piece is always written as ⁇, between blanks
    kinds = ModelProto.SentencePiece
    # Even where the model cuts text into such a piece: a text that holds `</s>` does not end there.
    special = [kinds(piece=name, score=0.0, type=_UNKNOWN if name == spec.unk_piece else _CONTROL) for name in names]
    if all(name.startswith(SPACE) for name in pieces):
        # Words of others have their punctuation marks on them (`ja!`). A model that was learnt here may cut them off.
        spec.split_by_unicode_script = any(JOINER in name for name in pieces)
    # A text may hold the mark of a blank, which the model has never seen.
    elif ESCAPED_SPACE not in pieces:
        pieces[ESCAPED_SPACE] = kinds(piece=ESCAPED_SPACE, score=0.0, type=USER_DEFINED)
    del proto.pieces[:]
    proto.pieces.extend([*special, *pieces.values()])
    for number, kind in enumerate(_SPECIAL):
        setattr(spec, f"{kind}_id", number)
    spec.vocab_size = len(proto.pieces)
    try:
        return Tokenizer(proto.SerializeToString())
    except ValueError as error:
        raise UserError(f"{path} is {error}: set dataset.tokenizer.model_file to another") from error


def _training_fault(config: TokenizerConfig, message: str) -> str:
    # SentencePiece names its own limit, which the user knows as an option of ours.
    asked = f"dataset.tokenizer.vocab_size={config.vocab_size}"
    if match := re.search(r"smaller than required_chars\. \d+ vs (\d+)", message):
        return (
            f"{asked} is less than the characters of the training text need: choose at least {match[1]}, "
            "or lower dataset.tokenizer.character_coverage"
        )
    return f"SentencePiece learnt no vocabulary ({message}): check the training text and dataset.tokenizer"
