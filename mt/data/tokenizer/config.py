"""The options of a tokenizer."""

from typing import Literal, Self

from pydantic import Field, model_validator

from mt.common.options import MAX_COUNT, MAX_SIZE, Options
from mt.errors import UserError

ModelType = Literal["bpe", "unigram", "char", "word"]


class SideConfig(Options):
    """What differs for the tokenizer of one side; null takes what both sides have."""

    model_type: ModelType | None = None
    vocab_size: int | None = Field(None, ge=5, le=MAX_SIZE)
    character_coverage: float | None = Field(None, ge=0.98, le=1)
    lowercase: bool | None = None
    model_file: str | None = None


class TokenizerConfig(Options):
    """How text is cut into tokens."""

    model_type: ModelType = "bpe"
    """bpe: Sennrich et al. 2016; unigram: Kudo 2018; char: characters; word: words and punctuation marks."""
    vocab_size: int = Field(default=8000, ge=5, le=MAX_SIZE)
    """Tokens in a vocabulary, the four special ones included: as many for bpe, at most so many for the other types."""
    joint: bool = True
    """One vocabulary for both sides, or one for each."""
    character_coverage: float = Field(default=1.0, ge=0.98, le=1)
    """Share of the characters that get a token, 0.98 at least; 0.9995 suits Japanese and Chinese."""
    lowercase: bool = False
    """Whether text is lower-cased before it is cut. What is decoded is lower-case then, too."""
    model_file: str | None = None
    """A trained SentencePiece model to use; null learns one from the training pairs."""
    sample: int = Field(default=500_000, ge=1, le=MAX_COUNT)
    """Most training pairs that the vocabulary is learnt from, sampled at random."""
    source: SideConfig = SideConfig()
    """What is different for the source; needs joint=false."""
    target: SideConfig = SideConfig()
    """What is different for the target; needs joint=false."""

    def side(self, name: Literal["source", "target"]) -> Self:
        """Returns the options of one side."""
        side: SideConfig = getattr(self, name)
        return self.model_copy(update={key: value for key, value in side if value is not None})

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if self.joint and (self.source, self.target) != (SideConfig(), SideConfig()):
            raise UserError(
                "dataset.tokenizer.source and .target make the sides differ, but the vocabulary is joint: set "
                "dataset.tokenizer.joint=false"
            )
        for name in ("source", "target"):
            if self.side(name).model_file and self.side(name).lowercase:
                raise UserError(
                    f"the {name}'s tokenizer has a model_file, which normalises text in its own way: set "
                    "dataset.tokenizer.lowercase=false, or leave out dataset.tokenizer.model_file"
                )
        return self
