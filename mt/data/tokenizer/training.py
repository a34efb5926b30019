"""How a tokenizer is learnt from text, or made of a SentencePiece model from elsewhere."""

import io
import re
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import sentencepiece
from google.protobuf.message import DecodeError
from sentencepiece import sentencepiece_model_pb2

from mt.common.comparable import normalize
from mt.common.input_files import read_bytes
from mt.data.tokenizer.config import TokenizerConfig
from mt.data.tokenizer.marks import ESCAPED_SPACE, ESCAPES, ESCAPES_OF_WORDS, RESERVED, SPACE, prepared
from mt.data.tokenizer.processor import BOS, EOS, PAD, UNK, Tokenizer
from mt.errors import UserError

_ModelProto: Any = sentencepiece_model_pb2.ModelProto  # type: ignore[attr-defined]
_UNKNOWN = 2
_CONTROL = 3
_USER_DEFINED = 4
"""Types of pieces."""
_SPECIAL = ("<pad>", "<unk>", "<s>", "</s>")
"""Names of the special pieces, by their ids."""
_LONGEST_WORD = 2000
"""Characters; a longer one is learnt from in parts. SentencePiece takes no piece of 8 kB, and ends the process at a
word of 65,536 characters."""
_LONGEST_LINE = 1 << 30
"""Bytes, the most that SentencePiece allows; it skips longer lines in silence."""
_WORDS_OF_A_LINE = 10_000
"""A longer text is learnt from in several lines, none of which is too long."""


def train(config: TokenizerConfig, texts: Iterable[str], *, exact: bool = True) -> Tokenizer:
    """Learns one vocabulary, or takes that of `config.model_file`; see `Tokenizers.train`.

    exact: whether a vocabulary of bpe has the size asked for, and not a smaller one where the text gives no more.
    """
    if config.model_file:
        return _adopted(Path(config.model_file))
    model = io.BytesIO()
    with tempfile.TemporaryDirectory() as folder:
        normalization: dict[str, Any] = {"normalization_rule_name": "identity"}
        if config.lowercase:
            rules = Path(folder, "rules.tsv")
            rules.write_text(_lowercase_rules(), encoding="utf-8")
            normalization = {"normalization_rule_tsv": str(rules)}
        try:
            sentencepiece.SentencePieceTrainer.train(
                sentence_iterator=_lines(texts, of_words=config.model_type == "word"),
                model_writer=model,
                model_type=config.model_type,
                vocab_size=config.vocab_size,
                hard_vocab_limit=exact and config.model_type == "bpe",
                character_coverage=config.character_coverage,
                max_sentence_length=_LONGEST_LINE,
                num_threads=4,  # fixed, because sums in another order could give another vocabulary
                minloglevel=2,
                pad_id=PAD,
                unk_id=UNK,
                bos_id=BOS,
                eos_id=EOS,
                pad_piece=RESERVED + _SPECIAL[PAD],
                unk_piece=RESERVED + _SPECIAL[UNK],
                bos_piece=RESERVED + _SPECIAL[BOS],
                eos_piece=RESERVED + _SPECIAL[EOS],
                **normalization,
            )
        except RuntimeError as error:
            raise UserError(_training_fault(config, str(error))) from error
    proto = _with_usual_names(proto_of(model.getvalue()))
    # The path of the temporary file, with which the same text would give another model each time.
    proto.normalizer_spec.ClearField("normalization_rule_tsv")
    return Tokenizer(proto.SerializeToString())


def proto_of(model: bytes) -> Any:
    """Parses a serialized SentencePiece model."""
    return _ModelProto.FromString(model)


def _lines(texts: Iterable[str], *, of_words: bool) -> Iterator[str]:
    """Yields the texts in lines of which SentencePiece skips nothing."""
    escapes = ESCAPES_OF_WORDS if of_words else ESCAPES
    for text in texts:
        words = [
            prepared(word[start : start + _LONGEST_WORD], escapes, of_words=of_words)
            for word in normalize(text).split()
            for start in range(0, len(word), _LONGEST_WORD)
        ]
        for start in range(0, len(words), _WORDS_OF_A_LINE):
            yield " ".join(words[start : start + _WORDS_OF_A_LINE])


def _with_usual_names(proto: Any) -> Any:
    """Gives the special pieces their usual names. They are reserved ones while a vocabulary is learnt, since
    SentencePiece would leave `<s>` out of a text that holds it."""
    spec = proto.trainer_spec
    spec.pad_piece, spec.unk_piece, spec.bos_piece, spec.eos_piece = _SPECIAL
    for piece, name in zip(proto.pieces, _SPECIAL, strict=False):
        piece.piece = name
    return proto


def _lowercase_rules() -> str:
    """Writes normalisation rules for SentencePiece that lower-case text and change nothing else."""
    pairs = ((character, character.lower()) for character in map(chr, range(sys.maxunicode + 1)))
    return "".join(
        f"{ord(upper):X}\t{' '.join(f'{ord(character):X}' for character in lower)}\n"
        for upper, lower in pairs
        if upper != lower
    )


def _adopted(path: Path) -> Tokenizer:
    """Reads a SentencePiece model from elsewhere, and moves its special pieces to our ids.

    Raises UserError where the file is none, or a special piece is missing.
    """
    try:
        proto = proto_of(read_bytes(path))
    except OSError as error:
        raise UserError(f"{path} cannot be read ({error.strerror}): set dataset.tokenizer.model_file") from error
    except DecodeError as error:
        raise UserError(f"{path} is not a SentencePiece model: set dataset.tokenizer.model_file") from error
    spec = proto.trainer_spec
    pieces = {piece.piece: piece for piece in proto.pieces}
    names = spec.pad_piece, spec.unk_piece, spec.bos_piece, spec.eos_piece
    known = pieces.get(spec.unk_piece)
    for name in names:
        pieces.pop(name, None)
    if (known is not None and known.type != _UNKNOWN) or not pieces:
        raise UserError(f"{path} is not a SentencePiece model with pieces: set dataset.tokenizer.model_file")
    # Words are cut one by one, and each starts with the mark of a blank, without which words would run together.
    proto.normalizer_spec.add_dummy_prefix = True
    kinds = _ModelProto.SentencePiece
    # Even where the model cuts text into such a piece: a text that holds `</s>` does not end there.
    special = [kinds(piece=name, score=0.0, type=_UNKNOWN if name == spec.unk_piece else _CONTROL) for name in names]
    # A text may hold the mark of a blank, which the model has never seen.
    if ESCAPED_SPACE not in pieces and not all(name.startswith(SPACE) for name in pieces):
        pieces[ESCAPED_SPACE] = kinds(piece=ESCAPED_SPACE, score=0.0, type=_USER_DEFINED)
    del proto.pieces[:]
    proto.pieces.extend([*special, *pieces.values()])
    spec.pad_id = PAD
    spec.unk_id = UNK
    spec.bos_id = BOS
    spec.eos_id = EOS
    spec.vocab_size = len(proto.pieces)
    try:
        return Tokenizer(proto.SerializeToString())
    except ValueError as error:
        raise UserError(f"{path} is {error}: set dataset.tokenizer.model_file to another") from error


def _training_fault(config: TokenizerConfig, message: str) -> str:
    """Makes a sentence of what SentencePiece says where it learns nothing."""
    asked = f"dataset.tokenizer.vocab_size={config.vocab_size}"
    if match := re.search(r"Vocabulary size too high .* value <= (\d+)", message):
        return f"{asked} is more than the training text supports: choose at most {match[1]}"
    if match := re.search(r"smaller than required_chars\. \d+ vs (\d+)", message):
        return (
            f"{asked} is less than the characters of the training text need: choose at least {match[1]}, "
            "or lower dataset.tokenizer.character_coverage"
        )
    return f"SentencePiece learnt no vocabulary ({message}): check the training text and dataset.tokenizer"
