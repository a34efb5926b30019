"""The tokenizers of the two sides of a corpus, on disk and in memory."""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, Self

from mt.data.tokenizer.config import TokenizerConfig
from mt.data.tokenizer.processor import Tokenizer
from mt.data.tokenizer.training import train
from mt.errors import UserError


class Tokenizers(NamedTuple):
    """The tokenizers of the two sides: one and the same object where the vocabulary is joint."""

    source: Tokenizer
    target: Tokenizer

    @classmethod
    def train(cls, config: TokenizerConfig, pairs: Sequence[tuple[str, str]], *, source: bool = True) -> Self:
        """Learn from (source, target) texts; the same texts give the same vocabularies.

        source: whether sources are texts; where not, there is the target's vocabulary alone.

        Raises:
            UserError: the vocabulary's size does not suit the text, or a model_file cannot be used.
        """
        if config.joint or not source:
            sides = pairs if source else [pair[1:] for pair in pairs]
            both = train(config.side("target"), (text for side in sides for text in side))
            return cls(both, both)
        first, second = config.side("source"), config.side("target")
        return cls(train(first, (pair[0] for pair in pairs)), train(second, (pair[1] for pair in pairs)))

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
            both = load_tokenizer(folder / "tokenizer.model")
            return cls(both, both)
        return cls(load_tokenizer(folder / "tokenizer.source.model"), load_tokenizer(folder / "tokenizer.target.model"))


def load_tokenizer(path: Path) -> Tokenizer:
    """One tokenizer. Raises UserError where the file is missing, or is no such model."""
    try:
        return Tokenizer(path.read_bytes())
    except FileNotFoundError as error:
        raise UserError(f"{path} is missing: the tokenizer belongs beside what was made with it") from error
    except ValueError as error:
        raise UserError(f"{path} is {error}: restore the file, or make what it belongs to again") from error
