"""Recurrent encoders: LSTM (Hochreiter & Schmidhuber 1997) or GRU (Cho et al. 2014), left to right (Sutskever et al.
2014) or both ways (Schuster & Paliwal 1997; Bahdanau et al. 2015, section 3.2)."""

from typing import Annotated, ClassVar, Literal

import torch
from jaxtyping import Bool, Float
from pydantic import BaseModel, Field, field_validator
from torch import Tensor

from mt.common.options import MAX_SIZE, Options
from mt.errors import UserError
from mt.kernels import lstm
from mt.kernels.sequences import last
from mt.models.encoders.base import Encoded, Encoder, EncoderState, Mask, Vectors
from mt.models.weights import open_forget_gates


class RecurrentConfig(Options):
    """Options that all recurrent encoders have."""

    hidden_size: Annotated[int, "units"] = Field(512, gt=0, le=MAX_SIZE)
    """Size of the values: the cells of a layer. A bidirectional encoder has half of them in each direction, so an even
    number, and encoders of one hidden_size give values of one size."""
    num_layers: Annotated[int, "layers"] = Field(1, gt=0, le=100)
    """Layers, each on top of the one before."""
    dropout: Annotated[float, "share"] = Field(0.3, ge=0, lt=1)
    """Dropout between layers (Zaremba et al. 2014)."""


class WithForgetGates(Options):
    """The options of LSTMs alone."""

    forget_bias: float = Field(0.0, ge=-100, le=100)
    """Added to the initial bias of the forget gates (Gers et al. 2000; Jozefowicz et al. 2015). With 0 a cell begins by
    forgetting half of its content at each position, with 2 an eighth, which sound needs."""


class WithRecurrentDropout(Options):
    """The options of LSTMs and GRUs that read whole sources at once."""

    recurrent_dropout: Annotated[float, "share"] = Field(0.0, ge=0, lt=1)
    """The share of recurrent weights that are zero in training, for all positions of a batch alike (Merity et al. 2018,
    section 2: 0.5): 0.2 to 0.5 for little data. Gal & Ghahramani (2016) drop states by one mask for all positions."""


class LSTMConfig(WithForgetGates, WithRecurrentDropout, RecurrentConfig):
    name: Literal["lstm"] = "lstm"


class GRUConfig(WithRecurrentDropout, RecurrentConfig):
    name: Literal["gru"] = "gru"


class BidirectionalConfig(RecurrentConfig):
    @field_validator("hidden_size")
    @classmethod
    def _is_even(cls, hidden_size: int) -> int:
        if hidden_size % 2:
            raise UserError(
                f"encoder.hidden_size={hidden_size} is odd, and a bidirectional encoder has half of it in each "
                f"direction: choose {hidden_size + 1}"
            )
        return hidden_size


class BiLSTMConfig(WithForgetGates, WithRecurrentDropout, BidirectionalConfig):
    name: Literal["bilstm"] = "bilstm"


class BiGRUConfig(WithRecurrentDropout, BidirectionalConfig):
    name: Literal["bigru"] = "bigru"


class Recurrent(Encoder):
    """Values are the states of the top layer; the final state is its last one, of both directions where there are
    two."""

    cell: ClassVar[type[lstm.LSTM] | type[lstm.GRU]]
    directions: ClassVar[int] = 1

    def __init__(self, config: RecurrentConfig, input_size: int) -> None:
        super().__init__()
        self.value_size = self.final_state_size = config.hidden_size
        self.cells = self.cell(
            input_size,
            # Both directions together have the size of the values.
            config.hidden_size // self.directions,
            config.num_layers,
            dropout=config.dropout,
            recurrent_dropout=config.recurrent_dropout if isinstance(config, WithRecurrentDropout) else 0.0,
            bidirectional=self.directions == 2,
        )
        if isinstance(config, WithForgetGates):
            open_forget_gates(self.cells, config.forget_bias)

    def forward(self, vectors: Vectors, mask: Mask) -> Encoded:
        values, state = self.cells(vectors, mask=mask)
        return self._encoded(values, state, mask)

    def _encoded(self, values: Float[Tensor, "B S V"], state: EncoderState, mask: Mask) -> Encoded:
        # The hidden vectors of the top layer, [B, directions, H], of both directions side by side.
        return Encoded(values, mask, state[0][:, -self.directions :].flatten(1))


class Causal(Recurrent):
    """Reads from left to right."""

    incremental = True

    def forward(self, vectors: Vectors, mask: Mask) -> Encoded:
        # Padding comes last, so that packing, which takes five times as long on CPUs, is not needed.
        values, _ = self.cells(vectors)
        values = values.masked_fill(~mask[..., None], 0.0)
        # The outputs of the top layer are its hidden vectors, so that the last real one is the final state.
        return self._encoded(values, (last(values, mask.sum(1))[:, None],), mask)

    def extend(
        self, vectors: Vectors, mask: Mask, state: EncoderState | None, complete: Bool[Tensor, " B"]
    ) -> tuple[Encoded, EncoderState]:
        # Without padding there is nothing to undo afterwards.
        if mask.all():
            values, after = self.cells(vectors, state)
            return self._encoded(values, after, mask), after
        values, after = self.cells(vectors, state, mask)
        # A source without a new position keeps its state.
        # Packing gave such a source one position of padding, which must not count.
        previous = tuple(map(torch.zeros_like, after)) if state is None else state
        values = values.masked_fill(~mask[..., None], 0.0)
        grown = mask.any(1)[:, None, None]
        after = tuple(torch.where(grown, new, old) for new, old in zip(after, previous, strict=True))
        return self._encoded(values, after, mask), after


class LSTM(Causal):
    Config: ClassVar[type[BaseModel]] = LSTMConfig
    cell = lstm.LSTM


class BiLSTM(Recurrent):
    """Reads from left to right and from right to left."""

    Config: ClassVar[type[BaseModel]] = BiLSTMConfig
    directions = 2
    cell = lstm.LSTM


class GRU(Causal):
    Config: ClassVar[type[BaseModel]] = GRUConfig
    cell = lstm.GRU


class BiGRU(Recurrent):
    """Reads from left to right and from right to left."""

    Config: ClassVar[type[BaseModel]] = BiGRUConfig
    directions = 2
    cell = lstm.GRU
