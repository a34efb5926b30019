"""The tokenizers of both sides of a corpus: `Tokenizers` learns, saves and loads them."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from mt.common.input_files import read_bytes
from mt.data.tokenizer.processor import Tokenizer
from mt.data.tokenizer.training import TokenizerConfig, train
from mt.errors import UserError

_REMEDY = "restore the file, make what it belongs to again, or give the tokenizer.model of a run"
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
        # One vocabulary of both sides, or of targets alone where sources are no texts.
        if config.joint or not source:
            sides = pairs if source else [pair[1:] for pair in pairs]
            both = train(config.side("target"), (text for side in sides for text in side))
            return cls(both, both, None if transcripts is None else train(_CHARACTERS, transcripts))
        # Only sounds have transcripts.
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
        # The files of the models say everything about how a text is cut.
        transcript = () if self.transcript is None else (self.transcript,)
        return hashlib.sha256(b"".join(each.model for each in (*self, *transcript))).hexdigest()

    def save(self, folder: Path) -> None:
        """Writes `tokenizer.model`, or `tokenizer.source.model` and `tokenizer.target.model`; and
        `tokenizer.transcript.model` where there is one."""
        # The names of the files tell whether the vocabulary is joint.
        both = {"tokenizer.model": self.source}
        each = {"tokenizer.source.model": self.source, "tokenizer.target.model": self.target}
        for name, tokenizer in {**(both if self.joint else each), _TRANSCRIPT: self.transcript}.items():
            if tokenizer is not None:
                (folder / name).write_bytes(tokenizer.model)

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
    """Loads one tokenizer of a run or a corpus. Raises UserError where the file is missing, or is no such model."""
    try:
        return Tokenizer(read_bytes(path))
    except OSError as error:
        raise UserError(f"{path} cannot be read ({error.strerror}): {_REMEDY}") from error
    except ValueError as error:
        raise UserError(f"{path} is {error}: {_REMEDY}") from error
