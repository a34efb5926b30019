"""The whole model: front-end, encoder, attention, decoder. It has the decoder's verbs, so that a search can use it.

It reads its source whole, while it arrives (`extend`), or behind a prefix mask (`wait`). `Loss` is the training
objective, and `CTC` the second task of an encoder.
"""

from typing import Any, NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn.functional import ctc_loss

from mt.batch import Batch
from mt.device import autocast
from mt.errors import UserError
from mt.kernels.cross_entropy import token_losses
from mt.models.aligner import Aligner
from mt.models.attention import build_attention
from mt.models.attention.base import AttentionOutput, Memory
from mt.models.config import ModelConfig, require_one_table
from mt.models.decoders import DECODERS, DecoderParts
from mt.models.encoders import ENCODERS, Encoded, EncoderState
from mt.models.frontends import FRONTENDS
from mt.models.frontends.base import State as FrontendState
from mt.models.frontends.embedding import Embedding
from mt.models.weights import init_matrices
from mt.ops.losses import coverage_loss, doubly_stochastic_loss, guided_alignment_loss
from mt.step import UNK, Prediction


class Loss(NamedTuple):
    """The loss of a batch. Training minimises (sum + auxiliary) over a count of tokens or sentences."""

    sum: Tensor
    """Cross entropy of all target tokens, in nats, label smoothing included; float32, differentiable."""
    auxiliary: Tensor
    """The losses of attention and encoder (`ctc_weight`), in nats; float32, differentiable where it is not 0."""
    tokens: Tensor
    """int64: real target tokens, EOS included."""
    token_losses: Tensor
    """[B, T] float32: the cross entropy of each token without smoothing, 0 on padding; no gradient."""
    source_mask: Tensor
    """[B, S] bool: the real ones of the encoder's S positions."""
    attention: AttentionOutput
    aligned: Tensor | None = None
    """[B, T, S] float32: the weights of the `Aligner`; None in a model without."""
    links: Tensor | None = None
    """The cross entropy of `Batch.linked` in nats, summed; float32, differentiable; None where nothing is linked."""


class CTC(nn.Linear):
    """Connectionist temporal classification (Graves et al. 2006) of the targets or, where these have a vocabulary, of
    transcripts. The last class is the blank."""

    def __init__(self, value_size: int, target_vocab_size: int, transcript_vocab_size: int | None) -> None:
        super().__init__(value_size, (transcript_vocab_size or target_vocab_size) + 1)
        self._transcribes = transcript_vocab_size is not None

    def loss(self, encoded: Encoded, batch: Batch) -> Float[Tensor, ""]:
        """Returns the loss of a batch in nats, summed (equation 8); EOS, which has no sound of its own, is left out. It
        is 0, without a gradient, for examples without the transcript that is learnt. So it is for those with fewer
        positions than labels and blanks between equal neighbours."""
        labels = batch.target_out.where(batch.target_out < len(self.weight) - 1, UNK)  # the blank is the last class
        mask = batch.target_mask
        if self._transcribes:
            if batch.transcript is None or batch.transcript_mask is None:
                return encoded.values.new_zeros((), dtype=torch.float32)
            labels = batch.transcript
            mask = batch.transcript_mask
        lengths = (encoded.mask.sum(1), mask[:, 1:].sum(1))
        log_probs = self(encoded.values.to(self.weight.dtype)).log_softmax(-1).transpose(0, 1)  # [S, B, V]
        blank = log_probs.shape[2] - 1
        losses = ctc_loss(log_probs, labels[:, :-1], *lengths, blank=blank, reduction="none", zero_infinity=True)
        return (losses.masked_fill(lengths[1] == 0, 0) if self._transcribes else losses).sum()


class SourceState(NamedTuple):
    """The state of sources that are still arriving, from which their next positions are encoded; batch-first
    tensors."""

    frontend: FrontendState
    encoder: EncoderState
    vectors: Tensor
    """[B] int64: the number of vectors of the front-end so far."""


class Seq2Seq(nn.Module):
    """An encoder-decoder with attention over source and target vocabularies of the given sizes."""

    def __init__(
        self,
        config: ModelConfig,
        source_vocab_size: int,
        target_vocab_size: int,
        transcript_vocab_size: int | None = None,
    ) -> None:
        """transcript_vocab_size: where the CTC loss is of transcripts, and not of targets."""
        super().__init__()
        require_one_table(config, source_vocab_size, target_vocab_size)
        # The modules in the order of the data flow, each with the sizes of the one before.
        embedding = Embedding(config.embedding, target_vocab_size)
        options: Any = config.frontend
        if config.frontend.name == "embedding":
            options = embedding if config.embedding.share else Embedding(config.embedding, source_vocab_size)
        self.frontend = FRONTENDS[config.frontend.name](options)
        self.encoder = ENCODERS[config.encoder.name](config.encoder, self.frontend.output_size)
        value_size = self.encoder.value_size
        attention = build_attention(config.attention, config.decoder.hidden_size, value_size)
        sizes = (value_size, self.encoder.final_state_size)
        parts = DecoderParts(embedding, attention, *sizes, config.embedding.tie_output)
        self.decoder = DECODERS[config.decoder.name](config.decoder, parts)
        if not (attention.uses_source or self.decoder.needs_full_source):
            raise UserError(
                "with decoder.init_hidden=zeros and attention.context=zeros nothing of the source reaches the decoder: "
                "set decoder.init_hidden=final_state or attention.context=last"
            )
        # The losses beside the cross entropy.
        self.ctc_weight = config.ctc_weight
        self.penalties = (config.doubly_stochastic_weight, config.coverage_weight)
        self.ctc = CTC(value_size, target_vocab_size, transcript_vocab_size) if config.ctc_weight else None
        sizes = (2 * config.decoder.readout_size + embedding.output_size, value_size + self.frontend.output_size)
        self.aligner = Aligner(config.aligner_size, *sizes) if config.aligner_size else None
        # The properties that searches and streams ask for follow from all modules.
        self.supports_hard = attention.supports_hard
        """Whether `hard=True` is defined; see `Attention`."""
        self.uses_source = attention.uses_source
        """Whether the attention depends on the source at all."""
        self.chunk_size = attention.chunk_size
        """The number of positions that a hard step attends to; see `Attention`."""
        incremental = self.frontend.incremental and self.encoder.incremental and not self.decoder.needs_full_source
        self.online = incremental and attention.monotonic
        """Whether it can write while it reads, in hard mode: a step depends on the source up to its last stop alone."""
        self.supports_wait_k = incremental and attention.supports_wait_k
        """Whether `wait` is defined: a step depends on visible positions alone."""
        self.max_source_length = attention.max_source_length
        """The most `encoded_lengths` that it is defined for; None for any number."""
        # At last, since it is of the matrices of all modules.
        init_matrices(self, config.init_range)

    @property
    def as_online_model(self) -> "Seq2Seq":
        """Itself: it is one model, and no ensemble (see `DecodableModel`)."""
        return self

    @property
    def copies(self) -> bool:
        """Whether the decoder copies tokens of the source."""
        return self.decoder.copying is not None

    def encode(self, source: Tensor, mask: Bool[Tensor, "B S"]) -> Memory:
        """Returns the memory of sources.

        source: [B, S, ...], as the front-end takes it; mask: true on real positions, padding on the right."""
        return self.decoder.init_memory(self.encoded(source, mask))

    def encoded(self, source: Tensor, mask: Bool[Tensor, "B S"]) -> Encoded:
        """Returns the encoded source, with its tokens where the decoder copies; see `encode`."""
        encoded = self.encoder(*self.frontend(source, mask))
        return encoded if self.decoder.copying is None else encoded._replace(tokens=source)

    def encoded_lengths(self, lengths: Int[Tensor, " N"]) -> Int[Tensor, " N"]:
        """Returns the number of encoded positions of sources of these lengths, counted as their field does: of text its
        tokens, EOS included."""
        return self.frontend.output_lengths(lengths)

    def extend(
        self,
        source: Tensor,
        mask: Bool[Tensor, "B S"],
        complete: Bool[Tensor, " B"],
        earlier: tuple[Memory, SourceState] | None = None,
    ) -> tuple[Memory, SourceState]:
        """Encodes the next positions of sources that are still arriving, where front-end and encoder are incremental.

        source, mask: as in `encode`, of the new positions (see `Encoder.extend`); complete: which sources end with
        them; earlier: the result of the call before, None for the first positions.
        """
        memory, state = (None, None) if earlier is None else earlier
        frontend_state, encoder_state, count = (None, None, 0) if state is None else state
        vectors, vector_mask, frontend_state = self.frontend.extend(source, mask, complete, frontend_state)
        encoded, encoder_state = self.encoder.extend(vectors, vector_mask, encoder_state, complete)
        if self.decoder.copying is not None:
            encoded = encoded._replace(tokens=source)
        after = SourceState(frontend_state, encoder_state, vector_mask.sum(1) + count)
        return self.decoder.extend(memory, encoded, complete), after

    def wait(self, memory: Memory, k: int) -> Memory:
        """Returns the memory with a prefix mask (Ma et al. 2019, section 3.1), where `supports_wait_k`. Step t, counted
        from 1, attends to the first k + t - 1 positions alone. None of the memory's positions was dropped."""
        read = torch.arange(1, memory.mask.shape[1] + 1, device=memory.mask.device)
        return memory._replace(visible_from=(read - k).expand(memory.mask.shape))

    def init_state(self, memory: Memory, *, hard: bool = False) -> Any:
        return self.decoder.init_state(memory, hard=hard)

    def step(self, tokens: Int[Tensor, " B"], memory: Memory, state: Any, *, hard: bool = False) -> Prediction:
        return self.decoder.step(tokens, memory, state, hard=hard)

    def forward(
        self, batch: Batch, *, label_smoothing: float = 0.0, hard: bool = False, wait_k: int | None = None
    ) -> Loss:
        """Returns the loss under teacher forcing. label_smoothing: see `token_losses`; wait_k: see `wait`."""
        encoded = self.encoded(batch.source, batch.source_mask)
        memory = self.decoder.init_memory(encoded)
        memory = memory if wait_k is None else self.wait(memory, wait_k)
        readouts, attended = self.decoder(batch.target_in, memory, hard=hard)  # [B, T, F]
        # The cross entropy, with or without copying.
        layer = self.decoder.output
        copying = self.decoder.copying
        target = batch.target_out
        mixture = None if copying is None else copying.mixture(readouts, attended, memory, target)
        mask = batch.target_mask
        total, each = token_losses(
            readouts,
            layer.weight,
            layer.bias,
            target,
            mask,
            smoothing=label_smoothing,
            mixture=mixture,
            r_drop_weight=batch.r_drop_weight,
        )
        # The auxiliary losses of attention and encoder.
        source_mask = memory.mask
        with autocast(total.device, "fp32"):
            auxiliary = self.decoder.attention.auxiliary_loss(attended, each, source_mask, mask)
            auxiliary = total.new_zeros(()) if auxiliary is None else auxiliary
            weights = self.decoder.attention.weights_for_loss(attended)
            for factor, penalty in zip(self.penalties, (doubly_stochastic_loss, coverage_loss), strict=True):
                if factor:
                    auxiliary = auxiliary + factor * penalty(weights, source_mask, mask).sum()
            if self.ctc is not None:
                auxiliary = auxiliary + self.ctc_weight * self.ctc.loss(encoded, batch)
            # Links teach the weights of the aligner, or of the attention: alpha of mechanisms that select a position.
            aligned = links = None
            if self.aligner is not None:
                sources, _ = self.frontend(batch.source, batch.source_mask)
                aligned = self.aligner(readouts, self.decoder.embedding(target), encoded, sources)
            if batch.linked is not None:
                attending = attended.weights if attended.alpha is None else attended.alpha
                links = guided_alignment_loss(attending if aligned is None else aligned, batch.linked).sum()
        return Loss(total, auxiliary, mask.sum(), each, source_mask, attended, aligned, links)

    def after_update(self, loss: float) -> None:
        """See `Attention.after_update`."""
        self.decoder.attention.after_update(loss)
