"""The options of a model, with the checks that they suit each other."""

from collections.abc import Mapping
from typing import Annotated, Any, Union

from pydantic import Field, model_validator

from mt.common.options import MAX_SIZE, Options
from mt.errors import UserError
from mt.models.attention import ATTENTIONS
from mt.models.attention.global_ import GeneralAttentionConfig
from mt.models.decoders import DECODERS
from mt.models.decoders.luong import LuongConfig
from mt.models.encoders import ENCODERS
from mt.models.encoders.recurrent import BiLSTMConfig
from mt.models.frontends import FRONTENDS
from mt.models.frontends.embedding import EmbeddingConfig, WordVectorsConfig


def one_of(table: Mapping[str, Any]) -> Any:
    """Returns the type of the options of a component of a closed table, which are told apart by `name`."""
    kinds = tuple(kind.Config for kind in table.values())
    return Annotated[Union[kinds], Field(discriminator="name")]  # noqa: UP007 - a tuple has no `|`


class ModelConfig(Options):
    """The parts of a model; each declares its own options."""

    frontend: one_of(FRONTENDS) = WordVectorsConfig()  # type: ignore[valid-type]
    embedding: EmbeddingConfig = EmbeddingConfig()
    encoder: one_of(ENCODERS) = BiLSTMConfig()  # type: ignore[valid-type]
    decoder: one_of(DECODERS) = LuongConfig()  # type: ignore[valid-type]
    attention: one_of(ATTENTIONS) = GeneralAttentionConfig()  # type: ignore[valid-type]
    init_range: float = Field(default=0.1, gt=0, le=1e3)
    """Matrices of linear and recurrent layers start uniform in [-init_range, init_range] (Luong et al. 2015, section
    4.1: 0.1), and word vectors by a rule of their own."""
    ctc_weight: Annotated[float, "nats per nat"] = Field(default=0.0, ge=0, le=1e6)
    """The weight of a CTC loss, for training alone (Kim et al. 2017, "Joint CTC-attention"). The encoder predicts the
    target, or the transcript where the corpus has one. Attention over speech often does not begin to learn without
    (0.3). Sources need at least as many encoded positions as target pieces."""
    doubly_stochastic_weight: Annotated[float, "nats per token"] = Field(default=0.0, ge=0, le=1e6)
    """lambda, the weight of the doubly stochastic loss: attention is spread over the whole source in the course of a
    sentence (Xu et al. 2015, section 4.2.1; `alpha_c` of the authors' code: 1 for captions of COCO, else 0)."""
    coverage_weight: Annotated[float, "nats per token"] = Field(default=0.0, ge=0, le=1e6)
    """lambda, the weight of the coverage loss: outputs repeat themselves less where a second attention to a position
    costs (See et al. 2017, equations 12 and 13: 1, in the last 3,000 of 233,000 updates): 0.1 to 1."""

    aligner_size: Annotated[int, "units"] = Field(default=0, ge=0, le=MAX_SIZE)
    """Size of the layers of an `Aligner`, a small attention that learns the links of `training.guided_alignment` in
    place of the model's own: 256, say. Forced alignments are then made of its weights. 0: there is none."""

    @model_validator(mode="after")
    def _attention_suits_the_rest(self) -> "ModelConfig":
        # A monotonic or local attention needs positions in a row.
        chosen = self.attention.name
        attention = ATTENTIONS[chosen]
        if attention.needs_order and not FRONTENDS[self.frontend.name].ordered:
            raise UserError(
                f"attention={chosen} needs an order of positions, which frontend={self.frontend.name} has not: choose "
                "an attention over all positions, such as general, bahdanau or stochastic"
            )
        if attention.mixes_predictions and (self.decoder.copy or not self.decoder.mixes_predictions):
            raise UserError(
                f"attention={chosen} sums over all alignments, which needs a decoder of which attention enters the "
                "prediction alone: choose decoder=luong with decoder.input_feeding=false and decoder.copy=false"
            )
        # Losses of the weights need weights that can be trained.
        for option in ("doubly_stochastic_weight", "coverage_weight"):
            if (value := getattr(self, option)) and not attention.learns_weights:
                raise UserError(
                    f"{option}={value:g} prices the weights of an attention, and attention={chosen} has none that can "
                    "be trained: choose another attention, or set the weight to 0"
                )
        if self.aligner_size or self.decoder.copy:
            self._require_words()
        return self

    def _require_words(self) -> None:
        # An aligner and copying are of the words of a text; copying needs weights of them, too.
        chosen = None
        if self.frontend.name != "embedding":
            chosen = f"frontend={self.frontend.name} reads no text"
        if self.aligner_size and chosen:
            raise UserError(
                f"aligner_size={self.aligner_size} aligns the words of a text, and {chosen}: choose another, or set "
                "aligner_size=0"
            )
        if not ATTENTIONS[self.attention.name].learns_weights:
            chosen = chosen or f"attention={self.attention.name} attends to none of them"
        if self.decoder.copy and chosen:
            raise UserError(
                f"decoder.copy=true copies pieces of the source that are attended to, and {chosen}: choose another, or "
                "set decoder.copy=false"
            )


def require_one_table(config: ModelConfig, source_vocab_size: int, target_vocab_size: int) -> None:
    """Raises UserError where `embedding.share` asks for one table of two vocabularies, or of no text."""
    if not config.embedding.share:
        return
    if config.frontend.name != "embedding":
        raise UserError(
            f"embedding.share is of text on both sides, and frontend={config.frontend.name} has no table of words: set "
            "embedding.share=false"
        )
    if source_vocab_size != target_vocab_size:
        raise UserError(
            f"embedding.share needs one vocabulary, but the source has {source_vocab_size} pieces and the target "
            f"{target_vocab_size}: set dataset.tokenizer.joint=true or embedding.share=false"
        )
