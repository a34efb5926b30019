"""The verbs of a decoder, with the same law as an attention's.

First stand the options that decoders share, and their recurrence: LSTM or GRU layers with batch-first states. Then come
the records of memory and query, and `Decoder` with the verbs. `mt.models.decoders.output` predicts tokens.
"""

import warnings
from abc import ABC, abstractmethod
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, final

import torch
from jaxtyping import Bool, Float, Int
from pydantic import BaseModel, Field, model_validator
from torch import Tensor, nn

from mt.common.options import MAX_SIZE, Options
from mt.errors import UserError
from mt.kernels.linear import Linear
from mt.kernels.lstm import GRU, LSTM
from mt.models.attention import arriving
from mt.models.attention.base import Attention, AttentionOutput, AttentionStep, Memory, State
from mt.models.decoders.mixture import at_tokens, mixed
from mt.models.decoders.output import Copying, OutputLayer
from mt.models.encoders.base import Encoded
from mt.models.frontends.embedding import Embedding
from mt.step import Prediction

with warnings.catch_warnings():
    # The name `copy` is also that of a method of pydantic 1, which `model_copy` has replaced.
    warnings.filterwarnings("ignore", message='Field name "copy"')

    class LayersConfig(Options):
        """Options that all decoders have."""

        copy: bool = False  # type: ignore[assignment]
        """Whether a piece may also be copied from the source, by the attention's weights (See et al. 2017); needs a
        joint vocabulary."""
        hidden_size: Annotated[int, "units"] = Field(512, gt=0, le=MAX_SIZE)
        """Cells of a layer (Luong et al. 2015, Bahdanau et al. 2015: 1000)."""
        num_layers: Annotated[int, "layers"] = Field(1, gt=0, le=100)
        """Layers, each on top of the one before; the top one gives the query (Luong et al. 2015: 4)."""
        readout_size: Annotated[int, "units"] = Field(256, gt=0, le=MAX_SIZE)
        """Size of the vector that predicts the token: Luong's h~, the maxout layer of Bahdanau's decoder."""
        init_hidden: Literal["final_state", "zeros"] = "final_state"
        """The first state. final_state: a projection of the encoder's (Luong et al. 2015: the encoder's last states);
        zeros: as search=online and wait_k need, since the final state depends on all of the source."""
        dropout: Annotated[float, "share"] = Field(0.3, ge=0, lt=1)
        """Between layers and on the readout (Zaremba et al. 2014; Luong et al. 2015: 0.2)."""

        @property
        def step_by_step(self) -> bool:
            """Whether a step needs the context of the step before, so that teacher forcing takes them in turn, too."""
            return False

        @property
        def mixes_predictions(self) -> bool:
            """Whether it can mix the predictions of all positions: its states know nothing of contexts."""
            return False


class RecurrenceConfig(LayersConfig):
    """Options of decoders of LSTMs or GRUs."""

    cell: Literal["lstm", "gru"] = "lstm"
    """The recurrent cell (Hochreiter & Schmidhuber 1997; Cho et al. 2014)."""
    recurrent_dropout: Annotated[float, "share"] = Field(0.0, ge=0, lt=1)
    """The share of recurrent weights that are zero in training, for all steps of a batch alike (Merity et al. 2018,
    section 2: 0.5): 0.2 to 0.5 for little data. It is of decoders that take all steps at once in training: gnmt, and
    luong without input feeding."""

    @model_validator(mode="after")
    def _drops_for_all_steps(self) -> "RecurrenceConfig":
        if self.recurrent_dropout and self.step_by_step:
            raise UserError(
                f"decoder.recurrent_dropout={self.recurrent_dropout:g} draws one mask for all steps, and this decoder "
                "takes them in turn: choose decoder=gnmt, decoder=luong with decoder.input_feeding=false or set it to 0"
            )
        return self


class FirstState(nn.Module):
    """Layers whose first state is made from the encoder's final state, or zero."""

    def __init__(self, config: LayersConfig, tensors: int, final_state_size: int) -> None:
        """tensors: the number of tensors of a state, each [B, layers, H]."""
        super().__init__()
        self.tensors = tensors
        self.shape = (config.num_layers, config.hidden_size)
        states = tensors * config.num_layers * config.hidden_size
        self.bridge = Linear(final_state_size, states, exact=True) if config.init_hidden == "final_state" else None

    def init_state(self, final_state: Float[Tensor, "B U"]) -> tuple[Float[Tensor, "B layers H"], ...]:
        """Returns the first state, from the encoder's final state."""
        shape = (len(final_state), *self.shape)
        if self.bridge is None:
            return tuple(final_state.new_zeros(shape) for _ in range(self.tensors))
        # One projection gives all tensors of all layers.
        bridged = torch.tanh(self.bridge(final_state))
        # [B, tensors * layers * H] -> for each tensor [B, layers, H].
        return tuple(state.reshape(shape) for state in bridged.chunk(self.tensors, -1))


class Recurrence(FirstState):
    """States are tuples of tensors [B, layers, H]: hidden and cell of an LSTM, hidden of a GRU."""

    def __init__(self, config: RecurrenceConfig, input_size: int, final_state_size: int) -> None:
        # An LSTM has the content of its cells beside its output.
        super().__init__(config, 2 if config.cell == "lstm" else 1, final_state_size)
        self.cells = {"lstm": LSTM, "gru": GRU}[config.cell](
            input_size,
            config.hidden_size,
            config.num_layers,
            dropout=config.dropout,
            recurrent_dropout=config.recurrent_dropout,
            int8=True,
        )

    def forward(
        self, inputs: Float[Tensor, "B *T I"], state: tuple[Float[Tensor, "B layers H"], ...]
    ) -> tuple[Float[Tensor, "B *T H"], tuple[Float[Tensor, "B layers H"], ...]]:
        """Returns the top layer's states, of all steps or one, and the state after the last step."""
        if inputs.dim() == 3:
            return self.cells(inputs, state)
        # A single step is a sequence of one.
        tops, after = self.cells(inputs[:, None], state)
        return tops[:, 0], after


Tree = Any
"""Nested tuples of batch-first tensors."""


class DecoderParts(NamedTuple):
    """The modules and sizes that a decoder is built of, beside its own options."""

    embedding: Embedding
    attention: Attention
    value_size: int
    """V of the encoder's values."""
    final_state_size: int
    """U of the encoder's final state."""
    tied: bool
    """Whether the output matrix is the embedding table (Press & Wolf 2017)."""


class DecoderState(NamedTuple):
    """The state between two steps."""

    recurrent: Tree
    """The state of the recurrence, and whatever else the decoder keeps from step to step."""
    attention: State
    log_probs: Tensor | None = None
    """[B, S, C]: the log-probabilities of the last step at each position, for an attention that mixes predictions; None
    with others."""


class DecoderQuery(NamedTuple):
    """A step before its attention. A stream keeps it while the attention waits for more of the source."""

    vector: Tensor
    """[B, Q]: compared with the source's positions by energies."""
    attention_state: State
    """The attention's state before the step."""
    decoder_state: Tree
    """The decoder's part of the step, for `Decoder.read_out`."""


class Decoder(nn.Module, ABC):
    """A language model conditioned on a source. Law: `forward` equals `step` in a loop.

    A step makes its query, attends and reads out. On an incomplete source the attention may return NEEDS_MORE_SOURCE.
    Then the query is kept, with the state that the attention returned, and attends again later.

    Constructed as `Class(config, parts)`. A subclass defines `_make_query` and `_read_out`. The verbs that are made
    of these are final: training, search and streams each call other ones of them.
    """

    Config: ClassVar[type[BaseModel]]
    recurrence_type: ClassVar[Any] = Recurrence

    def __init__(self, config: LayersConfig, parts: DecoderParts, *, fed_size: int = 0) -> None:
        """fed_size: the size of the vector that joins the word vector at the input of the recurrence."""
        super().__init__()
        embedding = parts.embedding
        self.embedding = embedding
        self.attention = parts.attention
        self.recurrence = self.recurrence_type(config, embedding.output_size + fed_size, parts.final_state_size)
        self.needs_full_source = config.init_hidden == "final_state"
        """Whether the first state depends on the whole source."""
        self.dropout = nn.Dropout(config.dropout)
        self.output = OutputLayer(config.readout_size, embedding, tied=parts.tied)
        self.copying = None
        if config.copy:
            preserves = parts.attention.mass_preservation
            self.copying = Copying(config.readout_size, parts.value_size, mass_preservation=preserves)

    def init_memory(self, encoded: Encoded) -> Memory:
        """Returns the memory of all steps, once per source."""
        memory = self.attention.init_memory(encoded)._replace(final_state=encoded.final_state)
        if self.copying is None:
            return memory
        # Tokens that may be copied grow and are dropped with the keys.
        assert encoded.source is not None
        return memory._replace(keys=(*memory.keys, encoded.source))

    def extend(self, memory: Memory | None, encoded: Encoded, complete: Bool[Tensor, " B"]) -> Memory:
        """Returns the memory of sources that have grown; see `arriving.extend`."""
        return arriving.extend(self.init_memory, memory, encoded, complete)

    def init_state(self, memory: Memory, *, hard: bool = False) -> DecoderState:
        """Returns the state before the first token. hard: whether the steps will be hard."""
        assert memory.final_state is not None
        log_probs = None
        if self.attention.mixes_predictions:  # BOS tells nothing of positions
            log_probs = self.output.bias.new_zeros(*memory.mask.shape, self.output.out_features)
        recurrent = self._first_state(memory.final_state)
        return DecoderState(recurrent, self.attention.init_state(memory, hard=hard), log_probs)

    def _first_state(self, final_state: Float[Tensor, "B U"]) -> Tree:
        """Returns the decoder's own state before the first token. final_state: the encoder's."""
        return self.recurrence.init_state(final_state)

    @final
    def make_query(self, tokens: Int[Tensor, " B"], state: DecoderState) -> DecoderQuery:
        """Returns the query of one step. tokens: the previous token of each target (BOS first)."""
        vector, carried = self._make_query(self.embedding(tokens), state.recurrent)
        attention_state = state.attention
        if state.log_probs is not None:
            attention_state = self.attention.observe(attention_state, at_tokens(state.log_probs, tokens))
        return DecoderQuery(vector, attention_state, carried)

    @abstractmethod
    def _make_query(self, vectors: Float[Tensor, "B E"], state: Tree) -> tuple[Float[Tensor, "B Q"], Tree]:
        """Returns the query vector, and the part of the step that `_read_out` needs (`DecoderQuery.decoder_state`).
        vectors: the embedded tokens."""

    @final
    def attend(self, query: DecoderQuery, memory: Memory, *, hard: bool = False) -> AttentionStep:
        """Returns the attention of one step."""
        return self.attention.step(query.vector, memory, query.attention_state, hard=hard)

    def _gated(self, query: DecoderQuery, step: AttentionStep) -> AttentionStep:
        """Returns the attention with its context scaled by the decoder's gate; unchanged in a decoder without gate."""
        return step

    @final
    def read_out(self, query: DecoderQuery, step: AttentionStep, memory: Memory) -> Prediction:
        """Returns the prediction of a step, from its query and its attention."""
        # The decoder's part: the context, gated, enters the state, the readout and the logits, [B, vocabulary].
        step = self._gated(query, step)
        inputs, recurrent = self._read_out(query, step.context)
        readout = self._readouts(inputs)
        if step.log_weights is not None:
            mixing: Any = self  # of a kind that `LayersConfig.mixes_predictions` names
            of_query, of_values = mixing.summands(query.vector, memory.values)
            logits, log_probs = mixed(self.output(mixing.readouts_of(of_query[:, None] + of_values)), step.log_weights)
            return Prediction(logits, step.attended, DecoderState(recurrent, step.state, log_probs), normalized=True)
        logits = self.output(readout)
        if self.copying is not None:
            logits = self.copying.log_probs(logits, readout, step, memory)
        state = DecoderState(recurrent, step.state)
        # A mixture with copies is normalised already, and plain logits are not.
        return Prediction(logits, step.attended, state, normalized=self.copying is not None)

    @abstractmethod
    def _read_out(self, query: DecoderQuery, context: Float[Tensor, "B V"]) -> tuple[Float[Tensor, "B J"], Tree]:
        """Returns the input of the readout of a step, and the decoder's own state after the step."""

    def _readouts(self, inputs: Float[Tensor, "*steps J"]) -> Float[Tensor, "*steps F"]:
        """Returns the readouts of one or all steps from the results of `_read_out`; here, these are the readouts. No
        state depends on them, so that they are computed for all steps at once."""
        return inputs

    @final
    def step(self, tokens: Int[Tensor, " B"], memory: Memory, state: DecoderState, *, hard: bool = False) -> Prediction:
        """Returns the prediction of one step. tokens: the previous token of each target (BOS first)."""
        query = self.make_query(tokens, state)
        return self.read_out(query, self.attend(query, memory, hard=hard), memory)

    def forward(
        self,
        tokens: Int[Tensor, "B T"],
        memory: Memory,
        *,
        hard: bool = False,
        targets: Int[Tensor, "B T"] | None = None,
    ) -> tuple[Float[Tensor, "B T F"], AttentionOutput]:
        """Takes all steps under teacher forcing (BOS first). This default is the law; an override is only faster.

        targets: what the steps predict, of which an attention that mixes predictions learns; None: the next tokens."""
        # Step by step, as in `step`, but without predictions.
        # No attention that mixes predictions comes here: `ModelConfig` gives it a decoder with a `forward` of its own.
        state = self.init_state(memory, hard=hard)
        inputs = []
        steps = []
        for vectors in self.embedding(tokens).unbind(1):
            vector, carried = self._make_query(vectors, state.recurrent)
            query = DecoderQuery(vector, state.attention, carried)
            steps.append(self._gated(query, self.attend(query, memory, hard=hard)))
            of_step, recurrent = self._read_out(query, steps[-1].context)
            inputs.append(of_step)
            state = DecoderState(recurrent, steps[-1].state)
        # The readouts of all steps at once: T times [B, J] -> [B, T, F].
        output = AttentionOutput.stack(steps, memory.mask.shape[1])
        return self._readouts(torch.stack(inputs, 1)), output
