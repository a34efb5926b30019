"""Recurrent encoders: LSTM (Hochreiter & Schmidhuber 1997) or GRU (Cho et al. 2014), left to right (Sutskever et al.
2014) or both ways (Schuster & Paliwal 1997; Bahdanau et al. 2015, section 3.2)."""

from typing import ClassVar, Literal

from pydantic import BaseModel, Field, field_validator
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from mt.errors import UserError
from mt.models.encoders.base import Encoded, Encoder, State
from mt.parsing import MAX_SIZE, Options


class RecurrentConfig(Options):
    """Options that all recurrent encoders have."""

    hidden_size: int = Field(512, gt=0, le=MAX_SIZE)
    """Size of the values: the cells of a layer. A bidirectional encoder has half of them in each direction, so that
    encoders of one hidden_size give values of one size."""
    num_layers: int = Field(1, gt=0, le=100)
    dropout: float = Field(0.3, ge=0, lt=1)
    """Between layers (Zaremba et al. 2014)."""


class LSTMConfig(RecurrentConfig):
    name: Literal["lstm"] = "lstm"


class GRUConfig(RecurrentConfig):
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


class BiLSTMConfig(BidirectionalConfig):
    name: Literal["bilstm"] = "bilstm"


class BiGRUConfig(BidirectionalConfig):
    name: Literal["bigru"] = "bigru"


class Recurrent(Encoder):
    """Values are the states of the top layer; the final state is its last one, of both directions where there are
    two."""

    cell: ClassVar[type[nn.LSTM] | type[nn.GRU]]
    directions: ClassVar[int] = 1

    def __init__(self, config: RecurrentConfig, input_size: int) -> None:
        super().__init__()
        self.value_size = self.final_state_size = config.hidden_size
        self.cells = self.cell(
            input_size,
            config.hidden_size // self.directions,
            config.num_layers,
            batch_first=True,
            dropout=config.dropout if config.num_layers > 1 else 0.0,
            bidirectional=self.directions == 2,
        )

    def forward(self, vectors: Tensor, mask: Tensor) -> Encoded:
        return self._encode(vectors, mask, None)[0]

    def _encode(self, vectors: Tensor, mask: Tensor, state: State | None) -> tuple[Encoded, State]:
        """state: the hidden vectors of all layers and, of an LSTM, the cell vectors; each [B, layers, H]."""
        before = None if state is None else [part.transpose(0, 1).contiguous() for part in state]
        initial = None if before is None else (before[0] if len(before) == 1 else tuple(before))
        # Packing makes the backward direction begin at each source's own end; a full batch has no need of it.
        if bool(mask.all()):
            values, after = self.cells(vectors, initial)
        else:
            packed = pack_padded_sequence(vectors, mask.sum(1).cpu(), batch_first=True, enforce_sorted=False)
            packed_values, after = self.cells(packed, initial)
            values, _ = pad_packed_sequence(packed_values, batch_first=True, total_length=mask.shape[1])
        state = tuple(part.transpose(0, 1) for part in ((after,) if isinstance(after, Tensor) else after))
        final_state = state[0][:, -self.directions :].flatten(1)
        return Encoded(values, values, mask, final_state), state


class Causal(Recurrent):
    """From left to right."""

    causal = True

    def extend(self, vectors: Tensor, mask: Tensor, state: State | None = None) -> tuple[Encoded, State]:
        return self._encode(vectors, mask, state)


class LSTM(Causal):
    Config: ClassVar[type[BaseModel]] = LSTMConfig
    cell = nn.LSTM


class BiLSTM(Recurrent):
    Config: ClassVar[type[BaseModel]] = BiLSTMConfig
    cell = nn.LSTM
    directions = 2


class GRU(Causal):
    """torch's GRU applies the reset gate after the recurrent product (cuDNN's form); Cho et al. (2014) before it."""

    Config: ClassVar[type[BaseModel]] = GRUConfig
    cell = nn.GRU


class BiGRU(Recurrent):
    Config: ClassVar[type[BaseModel]] = BiGRUConfig
    cell = nn.GRU
    directions = 2
