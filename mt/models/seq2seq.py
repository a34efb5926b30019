"""The whole model: embed, encode, remember, decode. It has the decoder's verbs, so a search can use it as one."""

from typing import Any

from pydantic import BaseModel, Field
from torch import Tensor, nn

from mt.errors import UserError
from mt.models.attention import AttentionConfig, Reads, build_attention
from mt.models.attention.global_ import GlobalConfig
from mt.models.decoders import DECODERS, DecoderConfig, DecoderMemory, Prediction
from mt.models.decoders.luong import LuongConfig
from mt.models.embedding import Embedding, EmbeddingConfig
from mt.models.encoders import ENCODERS, EncoderConfig
from mt.models.encoders.recurrent import BiLSTMConfig


class ModelConfig(BaseModel, frozen=True, extra="forbid", strict=True):
    """The parts of a model; each declares its own options."""

    embedding: EmbeddingConfig = EmbeddingConfig()
    encoder: EncoderConfig = BiLSTMConfig()
    decoder: DecoderConfig = LuongConfig()
    attention: AttentionConfig = GlobalConfig()
    init: float = Field(default=0.1, gt=0)
    """Matrices start uniform in [-init, init], but for word vectors (Luong et al. 2015, section 4.1: 0.1)."""


class Seq2Seq(nn.Module):
    """An encoder-decoder with attention over source and target vocabularies of the given sizes."""

    def __init__(self, config: ModelConfig, source_vocabulary: int, target_vocabulary: int) -> None:
        super().__init__()
        if config.embedding.share and source_vocabulary != target_vocabulary:
            raise UserError(
                f"embedding.share needs one vocabulary, but the source has {source_vocabulary} pieces and the target "
                f"{target_vocabulary}: set dataset.tokenizer.joint=true or embedding.share=false"
            )
        self.target_embedding = Embedding(target_vocabulary, config.embedding)
        self.source_embedding = (
            self.target_embedding if config.embedding.share else Embedding(source_vocabulary, config.embedding)
        )
        self.encoder = ENCODERS[config.encoder.name](config.encoder, config.embedding.size)
        self.attention = build_attention(config.attention, config.decoder.hidden, self.encoder.value_size)
        self.decoder = DECODERS[config.decoder.name](
            config.decoder,
            self.target_embedding,
            self.attention,
            value_size=self.encoder.value_size,
            summary_size=self.encoder.summary_size,
            tied=config.embedding.tie_output,
        )
        if self.attention.blind and not self.decoder.reads_ahead:
            raise UserError(
                "with decoder.start=zeros and attention.context=zeros nothing of the source reaches the decoder: set "
                "decoder.start=summary or attention.context=last"
            )
        for name, parameter in self.named_parameters():
            if parameter.dim() == 2 and not name.endswith("table.weight"):
                nn.init.uniform_(parameter, -config.init, config.init)

    @property
    def online(self) -> bool:
        """Whether, decoded hard, it can write while it reads: nothing depends on the source beyond the last stop."""
        return self.encoder.one_way and self.attention.monotonic and not self.decoder.reads_ahead

    @property
    def longest_source(self) -> int | None:
        """Most source tokens, EOS included, that it can read; None for any number."""
        limits = [part.longest_source for part in (self.encoder, self.attention) if part.longest_source is not None]
        return min(limits, default=None)

    def remember(self, source: Tensor, mask: Tensor) -> DecoderMemory:
        """source: [B, S] int64, padded on the right; mask: [B, S] bool, true on real tokens."""
        return self.decoder.remember(self.encoder(self.source_embedding(source), mask), mask)

    def start(self, memory: DecoderMemory) -> Any:
        return self.decoder.start(memory)

    def step(self, tokens: Tensor, memory: DecoderMemory, state: Any, *, hard: bool = False) -> Prediction:
        return self.decoder.step(tokens, memory, state, hard=hard)

    def forward(self, source: Tensor, mask: Tensor, target: Tensor, *, hard: bool = False) -> tuple[Tensor, Reads]:
        """Teacher forcing. target: [B, T], BOS first. Returns features [B, T, F] for `decoder.output`, and reads."""
        return self.decoder(target, self.remember(source, mask), hard=hard)
