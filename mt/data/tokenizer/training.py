"""How a tokenizer is learnt from text, or taken from a SentencePiece model of somebody else's."""

import io
import re
import sys
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import sentencepiece
from google.protobuf.message import DecodeError
from sentencepiece import sentencepiece_model_pb2

from mt.data.tokenizer.config import TokenizerConfig
from mt.data.tokenizer.processor import BOS, EOS, PAD, UNK, Tokenizer, marked, normalize
from mt.errors import UserError
from mt.input_files import read_bytes

_ModelProto: Any = sentencepiece_model_pb2.ModelProto  # type: ignore[attr-defined]


def train(config: TokenizerConfig, texts: Iterable[str], *, exact: bool = True) -> Tokenizer:
    """Learn one vocabulary, or take that of `config.model_file`; see `Tokenizers.train`.

    exact: whether a vocabulary of bpe has the size asked for, and not a smaller one where the text gives no more.
    """
    if config.model_file:
        return _adopted(Path(config.model_file))
    prepare: Callable[[str], str] = marked if config.model_type == "word" else str
    model = io.BytesIO()
    with tempfile.TemporaryDirectory() as folder:
        normalization: dict[str, Any] = {"normalization_rule_name": "identity"}
        if config.lowercase:
            rules = Path(folder, "rules.tsv")
            rules.write_text(_lowercase_rules(), encoding="utf-8")
            normalization = {"normalization_rule_tsv": str(rules)}
        try:
            sentencepiece.SentencePieceTrainer.train(
                sentence_iterator=(prepare(normalize(text)) for text in texts),
                model_writer=model,
                model_type=config.model_type,
                vocab_size=config.vocab_size,
                hard_vocab_limit=exact and config.model_type == "bpe",
                character_coverage=config.character_coverage,
                max_sentence_length=1 << 20,  # bytes; the default silently skips lines beyond 4192
                num_threads=4,  # fixed, because sums in another order could give another vocabulary
                minloglevel=2,
                pad_id=PAD,
                unk_id=UNK,
                bos_id=BOS,
                eos_id=EOS,
                **normalization,
            )
        except RuntimeError as error:
            raise UserError(_training_fault(config, str(error))) from error
    return Tokenizer(model.getvalue())


def proto_of(model: bytes) -> Any:
    """A serialized SentencePiece model as the message it is."""
    return _ModelProto.FromString(model)


def _lowercase_rules() -> str:
    """SentencePiece's normalisation rules that lower-case text and change nothing else."""
    pairs = ((character, character.lower()) for character in map(chr, range(sys.maxunicode + 1)))
    return "".join(
        f"{ord(upper):X}\t{' '.join(f'{ord(character):X}' for character in lower)}\n"
        for upper, lower in pairs
        if upper != lower
    )


def _adopted(path: Path) -> Tokenizer:
    """A SentencePiece model from elsewhere, its special pieces moved to our ids.

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
    kinds = _ModelProto.SentencePiece
    special = []
    for name, kind in ((spec.pad_piece, 3), (spec.unk_piece, 2), (spec.bos_piece, 3), (spec.eos_piece, 3)):
        special.append(pieces.pop(name, None) or kinds(piece=name, score=0.0, type=kind))
    if not any(piece.type == 2 for piece in special) or not pieces:
        raise UserError(f"{path} is not a SentencePiece model with pieces: set dataset.tokenizer.model_file")
    # Words are cut one by one, and each starts with the mark of a blank, without which words would run together.
    proto.normalizer_spec.add_dummy_prefix = True
    del proto.pieces[:]
    proto.pieces.extend([*special, *pieces.values()])
    spec.pad_id, spec.unk_id, spec.bos_id, spec.eos_id = PAD, UNK, BOS, EOS
    spec.vocab_size = len(proto.pieces)
    try:
        return Tokenizer(proto.SerializeToString())
    except ValueError as error:
        raise UserError(f"{path} is {error}: set dataset.tokenizer.model_file to another") from error


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
