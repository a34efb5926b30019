"""The whole model: front-end, encoder, attention, decoder. It has the decoder's verbs, so that a search can use it.

It reads its source whole, while it arrives (`extend`), or behind a prefix mask (`wait`). In training it encodes,
decodes, and leaves the rest to `mt.models.losses`.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from jaxtyping import Bool, Int
from torch import Tensor, nn

from mt.batch import Batch
from mt.errors import UserError
from mt.models.attention import build_attention
from mt.models.attention.base import Memory
from mt.models.config import ModelConfig, require_one_table
from mt.models.decoders import DECODERS, DecoderParts
from mt.models.encoders import ENCODERS, Encoded, EncoderState
from mt.models.frontends import FRONTENDS
from mt.models.frontends.base import FrontendState
from mt.models.frontends.embedding import Embedding
from mt.models.losses import LOSSES, NOTHING_ADDED, Loss, Objective, Pass, loss_layers, loss_of
from mt.models.weights import init_matrices
from mt.step import Prediction


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
        # The losses beside the cross entropy, of which some have layers.
        self.config = config
        self.losses = {term: weight for term, weigh in LOSSES.items() if (weight := weigh(config))}
        sizes = (2 * config.decoder.readout_size + embedding.output_size, value_size + self.frontend.output_size)
        vocab_sizes = (target_vocab_size, transcript_vocab_size)
        for name, layer in loss_layers(config, value_size, sizes, vocab_sizes).items():
            self.add_module(name, layer)
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
        """The longest source, in encoded positions, that the attention is defined for; None for any length."""
        # Last, because it draws the matrices of all modules.
        init_matrices(self, config.init_range)

    @property
    def as_online_model(self) -> "Seq2Seq":
        """The model itself, which can decode online; an ensemble has None here (see `DecodableModel`)."""
        return self

    @property
    def after_update(self) -> Callable[[float], None] | None:
        """A function to call after each update in training, or None; see `Attention`."""
        return self.decoder.attention.after_update

    @property
    def mixes_predictions(self) -> bool:
        """Whether a step predicts tokens for each source position; see `Attention`."""
        return self.decoder.attention.mixes_predictions

    def encode(self, source: Tensor, mask: Bool[Tensor, "B S"]) -> Memory:
        """Returns the memory of sources.

        source: [B, S, ...], as the front-end takes it; mask: true on real positions, padding on the right."""
        return self.decoder.init_memory(self.encoder(*self.frontend(source, mask))._replace(source=source))

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
        after = SourceState(frontend_state, encoder_state, vector_mask.sum(1) + count)
        return self.decoder.extend(memory, encoded._replace(source=source), complete), after

    def wait(self, memory: Memory, k: int) -> Memory:
        """Returns the memory with a prefix mask (Ma et al. 2019, section 3.1), where `supports_wait_k`. Step t, counted
        from 1, attends to the first k + t - 1 positions alone. None of the memory's positions was dropped."""
        # Position j, counted from 1, is visible from step j - k on, counted from 0.
        read = torch.arange(1, memory.mask.shape[1] + 1, device=memory.mask.device)
        return memory._replace(visible_from=(read - k).expand(memory.mask.shape))

    def init_state(self, memory: Memory, *, hard: bool = False) -> Any:
        return self.decoder.init_state(memory, hard=hard)

    def step(self, tokens: Int[Tensor, " B"], memory: Memory, state: Any, *, hard: bool = False) -> Prediction:
        return self.decoder.step(tokens, memory, state, hard=hard)

    def forward(
        self, batch: Batch, *, hard: bool = False, wait_k: int | None = None, objective: Objective = NOTHING_ADDED
    ) -> Loss:
        """Returns the loss under teacher forcing. wait_k: see `wait`; objective: what training adds to it."""
        # The source, once per batch: [B, S, D] of the front-end, then keys and values.
        vectors, mask = self.frontend(batch.source, batch.source_mask)
        encoded: Encoded = self.encoder(vectors, mask)._replace(source=batch.source)
        memory = self.decoder.init_memory(encoded)
        memory = memory if wait_k is None else self.wait(memory, wait_k)
        readouts, attended = self.decoder(batch.target_in, memory, hard=hard, targets=batch.target_out)  # [B, T, F]
        return loss_of(self, Pass(batch, vectors, encoded, memory, readouts, attended), objective)
