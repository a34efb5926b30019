"""The whole model: front-end, encoder, attention, decoder. It has the decoder's verbs, so that a search can use it."""

from typing import Any, NamedTuple

from jaxtyping import Int
from torch import Tensor

from mt.device import autocast
from mt.errors import UserError
from mt.kernels.cross_entropy import token_losses
from mt.models.attention import AttentionOutput, build_attention
from mt.models.batch import Batch
from mt.models.config import ModelConfig, require_one_table
from mt.models.ctc import CTC
from mt.models.decoders import DECODERS, DecoderMemory, DecoderParts
from mt.models.encoders import ENCODERS
from mt.models.frontends import Embedding, build_frontend
from mt.models.penalties import WeightPenalties
from mt.models.source import SourceReader
from mt.models.weights import init_matrices
from mt.step import Prediction


class Loss(NamedTuple):
    """What training minimises for a batch, (sum + auxiliary) over a count of tokens or sentences."""

    sum: Tensor
    """Cross entropy of all target tokens, in nats, label smoothing included; float32, differentiable."""
    auxiliary: Tensor
    """What attention and encoder (`ctc_weight`) add, in nats; float32, differentiable where it is not 0."""
    tokens: Tensor
    """int64: real target tokens, EOS included."""
    token_losses: Tensor
    """[B, T] float32: the cross entropy of each token without smoothing, 0 on padding; no gradient."""
    source_mask: Tensor
    """[B, S] bool: the real positions that are attended to, S those that the encoder gives."""
    attention: AttentionOutput


class Seq2Seq(SourceReader):
    """An encoder-decoder with attention over source and target vocabularies of the given sizes."""

    def __init__(
        self,
        config: ModelConfig,
        source_vocab_size: int,
        target_vocab_size: int,
        transcript_vocab_size: int | None = None,
    ) -> None:
        """transcript_vocab_size: where transcripts, and not targets, are what the CTC loss is of."""
        super().__init__()
        share = config.embedding.share
        if share:
            require_one_table(config, source_vocab_size, target_vocab_size)
        embedding = Embedding(config.embedding, target_vocab_size)
        self.frontend = build_frontend(
            config.frontend, lambda: embedding if share else Embedding(config.embedding, source_vocab_size)
        )
        self.encoder = ENCODERS[config.encoder.name](config.encoder, self.frontend.output_size)
        value_size = self.encoder.value_size
        final_state_size = self.encoder.final_state_size
        attention = build_attention(config.attention, config.decoder.hidden_size, value_size)
        parts = DecoderParts(embedding, attention, value_size, final_state_size, config.embedding.tie_output)
        self.decoder = DECODERS[config.decoder.name](config.decoder, parts)
        if not (attention.uses_source or self.decoder.needs_full_source):
            raise UserError(
                "with decoder.init_hidden=zeros and attention.context=zeros nothing of the source reaches the decoder: "
                "set decoder.init_hidden=final_state or attention.context=last"
            )
        self.ctc_weight = config.ctc_weight
        self.penalties = WeightPenalties(config.doubly_stochastic_weight, config.coverage_weight)
        self.ctc = CTC(value_size, target_vocab_size, transcript_vocab_size) if config.ctc_weight else None
        self.supports_hard = attention.supports_hard
        """Whether `hard=True` is defined; see `Attention`."""
        self.uses_source = attention.uses_source
        """Whether the attention depends on the source at all."""
        self.chunk_size = attention.chunk_size
        """How many positions a hard attention attends to; see `Attention`."""
        incremental = self.frontend.incremental and self.encoder.incremental and not self.decoder.needs_full_source
        self.online = incremental and attention.monotonic
        """Whether, in hard mode, it can write while it reads: nothing depends on more of the source than `read_for` of
        the last stop."""
        self.supports_wait_k = incremental and attention.supports_wait_k
        """Whether `wait` is defined: nothing depends on the source that is not visible."""
        limits = [part.max_source_length for part in (self.encoder, attention) if part.max_source_length is not None]
        self.max_source_length = min(limits, default=None)
        """Most `encoded_lengths` that it is defined for; None for any number."""
        init_matrices(self, config.init_range)

    @property
    def single(self) -> "Seq2Seq":
        """Itself: it is one model, and no ensemble (see `DecodableModel`)."""
        return self

    def init_state(self, memory: DecoderMemory, *, hard: bool = False) -> Any:
        return self.decoder.init_state(memory, hard=hard)

    def step(self, tokens: Int[Tensor, " B"], memory: DecoderMemory, state: Any, *, hard: bool = False) -> Prediction:
        return self.decoder.step(tokens, memory, state, hard=hard)

    def forward(
        self, batch: Batch, *, label_smoothing: float = 0.0, hard: bool = False, wait_k: int | None = None
    ) -> Loss:
        """Returns the loss under teacher forcing. label_smoothing: see `token_losses`; wait_k: see `wait`."""
        encoded = self.encoded(batch.source, batch.source_mask, batch.rows)
        memory = self.decoder.init_memory(encoded)
        if wait_k is not None:
            lengths = self.frontend.output_lengths(batch.source_mask.sum(1))
            memory = self.wait(memory, wait_k, lengths if batch.rows is None else lengths[batch.rows])
        readouts, attended = self.decoder(batch.target_in, memory, hard=hard)
        layer = self.decoder.output
        mask = batch.target_mask
        copying = self.decoder.copying
        target = batch.target_out
        mixture = None if copying is None else copying.mixture(readouts, attended, memory.attention, target)
        rows = readouts, layer.weight, layer.bias, target, mask, batch.weights
        total, each = token_losses(*rows, smoothing=label_smoothing, mixture=mixture, agreement=batch.agreement)
        source_mask = memory.attention.mask
        with autocast(total.device, "fp32"):
            auxiliary = self.decoder.attention.auxiliary_loss(attended, each, source_mask, mask)
            auxiliary = total.new_zeros(()) if auxiliary is None else auxiliary
            if any(self.penalties):
                weights = self.decoder.attention.weights_for_loss(attended)
                auxiliary = auxiliary + self.penalties.loss(weights, source_mask, mask)
            if self.ctc is not None:
                auxiliary = auxiliary + self.ctc_weight * self.ctc.loss(encoded, batch)
        return Loss(total, auxiliary, mask.sum(), each, source_mask, attended)

    def after_update(self, loss: float) -> None:
        """See `Attention.after_update`."""
        self.decoder.attention.after_update(loss)
