"""The whole model: front-end, encoder, attention, decoder. It has the decoder's verbs, so that a search can use it."""

from typing import Any, NamedTuple

import torch
from jaxtyping import Bool, Int
from torch import Tensor, nn

from mt.errors import UserError
from mt.models.attention import AttentionOutput, build_attention
from mt.models.batch import Batch
from mt.models.config import ModelConfig, require_one_table
from mt.models.ctc import CTC
from mt.models.decoders import DECODERS, DecoderMemory, DecoderParts, Prediction
from mt.models.encoders import ENCODERS, EncoderState
from mt.models.frontends import Embedding, FrontendState, build_frontend
from mt.models.initialisation import init_matrices
from mt.ops import doubly_stochastic_loss, token_losses


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


class SourceState(NamedTuple):
    """From where the next positions of sources that are still arriving are encoded; batch-first tensors."""

    frontend: FrontendState
    encoder: EncoderState
    vectors: Tensor
    """[B] int64: how many the front-end has given."""


class Seq2Seq(nn.Module):
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
        value_size, final_state_size = self.encoder.value_size, self.encoder.final_state_size
        attention = build_attention(config.attention, config.decoder.hidden_size, value_size)
        parts = DecoderParts(embedding, attention, value_size, final_state_size, config.embedding.tie_output)
        self.decoder = DECODERS[config.decoder.name](config.decoder, parts)
        if not (attention.uses_source or self.decoder.needs_full_source):
            raise UserError(
                "with decoder.init_hidden=zeros and attention.context=zeros nothing of the source reaches the decoder: "
                "set decoder.init_hidden=final_state or attention.context=last"
            )
        self.ctc_weight, self.doubly_stochastic_weight = config.ctc_weight, config.doubly_stochastic_weight
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

    def encode(self, source: Tensor, mask: Bool[Tensor, "B S"]) -> DecoderMemory:
        """source: [B, S, ...], what the front-end takes; mask: true on real positions, padding on the right."""
        return self.decoder.init_memory(self.encoder(*self.frontend(source, mask)))

    def encoded_lengths(self, lengths: Int[Tensor, " N"]) -> Int[Tensor, " N"]:
        """How many positions sources of these lengths, counted as their field does, have for the attention: of text its
        tokens, EOS included."""
        return self.encoder.output_lengths(self.frontend.output_lengths(lengths))

    def extend(
        self,
        source: Tensor,
        mask: Bool[Tensor, "B S"],
        complete: Bool[Tensor, " B"],
        before: tuple[DecoderMemory, SourceState] | None = None,
    ) -> tuple[DecoderMemory, SourceState]:
        """Encodes the next positions of sources that are still arriving, where front-end and encoder are incremental.

        source, mask: as in `encode`, of the new positions (see `Encoder.extend`); complete: which sources end with
        them; before: what the call before returned, None for the first positions.
        """
        memory, state = (None, None) if before is None else before
        first, second, count = (None, None, 0) if state is None else state
        vectors, places, first = self.frontend.extend(source, mask, complete, first)
        encoded, second = self.encoder.extend(vectors, places, second, complete)
        return self.decoder.extend(memory, encoded, complete), SourceState(first, second, places.sum(1) + count)

    def wait(self, memory: DecoderMemory, k: int) -> DecoderMemory:
        """The memory with a prefix mask (Ma et al. 2019, section 3.1): step t, counted from 1, attends to those
        positions alone whose values are known when k + t - 1 source tokens have been read. Where `supports_wait_k`."""
        return memory._replace(attention=memory.attention._replace(visible_from=self.read_for(memory) - k))

    def read_for(self, memory: DecoderMemory) -> Int[Tensor, "B S"]:
        """How many vectors of the front-end, of text tokens, must have come before the value of each position is known
        (see `Encoder.read_for`); more than there are, where the source must have ended. Of a memory from which nothing
        was dropped."""
        mask, complete = memory.attention.mask, memory.attention.complete
        lengths = mask.sum(1) + self.frontend.end
        if complete is not None:
            lengths = lengths.masked_fill(~complete, torch.iinfo(torch.int64).max)
        positions = torch.arange(mask.shape[1], device=mask.device).expand(mask.shape)
        return self.encoder.read_for(positions, lengths[:, None])

    def init_state(self, memory: DecoderMemory, *, hard: bool = False) -> Any:
        return self.decoder.init_state(memory, hard=hard)

    def step(self, tokens: Int[Tensor, " B"], memory: DecoderMemory, state: Any, *, hard: bool = False) -> Prediction:
        return self.decoder.step(tokens, memory, state, hard=hard)

    def forward(
        self, batch: Batch, *, label_smoothing: float = 0.0, hard: bool = False, wait_k: int | None = None
    ) -> Loss:
        """The loss of a batch under teacher forcing. label_smoothing: see `token_losses`; wait_k: see `wait`."""
        encoded = self.encoder(*self.frontend(batch.source, batch.source_mask))
        memory = self.decoder.init_memory(encoded)
        if wait_k is not None:
            memory = self.wait(memory, wait_k)
        readouts, attended = self.decoder(batch.target_in, memory, hard=hard)
        output, mask = self.decoder.output, batch.target_mask
        total, each = token_losses(
            readouts, output.weight, output.bias, batch.target_out, mask, smoothing=label_smoothing
        )
        attention, source_mask = self.decoder.attention, memory.attention.mask
        with torch.autocast(total.device.type, enabled=False):
            auxiliary = attention.auxiliary_loss(attended, each, source_mask, mask)
            auxiliary = total.new_zeros(()) if auxiliary is None else auxiliary
            if self.doubly_stochastic_weight:
                weights = attention.weights_for_loss(attended)
                spread = doubly_stochastic_loss(weights, source_mask, mask).sum()
                auxiliary = auxiliary + self.doubly_stochastic_weight * spread
            if self.ctc is not None:
                auxiliary = auxiliary + self.ctc_weight * self.ctc.loss(encoded, batch)
        return Loss(total, auxiliary, mask.sum(), each, source_mask, attended)

    def after_update(self, loss: float) -> None:
        """See `Attention.after_update`."""
        self.decoder.attention.after_update(loss)
