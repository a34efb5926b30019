"""The recurrent part of a decoder: a stack of LSTM or GRU layers with batch-first states."""

from typing import Literal

import torch
from jaxtyping import Float
from pydantic import Field, model_validator
from torch import Tensor, nn

from mt.common.options import MAX_SIZE
from mt.errors import UserError
from mt.kernels.linear import Linear
from mt.kernels.lstm import GRU, LSTM
from mt.models.decoders.output import CopyOptions


class LayersConfig(CopyOptions):
    """Options that all decoders have."""

    hidden_size: int = Field(512, gt=0, le=MAX_SIZE)
    """Cells of a layer (Luong et al. 2015, Bahdanau et al. 2015: 1000)."""
    num_layers: int = Field(1, gt=0, le=100)
    """Luong et al. 2015: 4."""
    readout_size: int = Field(256, gt=0, le=MAX_SIZE)
    """Size of the vector that predicts the token."""
    init_hidden: Literal["final_state", "zeros"] = "final_state"
    """First state: a projection of the encoder's final state (Luong et al. 2015: the encoder's last states), or zero,
    which online decoding needs, since the final state depends on all of the source."""
    dropout: float = Field(0.3, ge=0, lt=1)
    """Between layers and on the readout (Zaremba et al. 2014; Luong et al. 2015: 0.2)."""

    @property
    def step_by_step(self) -> bool:
        """Whether a step needs the context of the step before, so that teacher forcing takes them in turn, too."""
        return False


class RecurrenceConfig(LayersConfig):
    """Options of decoders of LSTMs or GRUs."""

    cell: Literal["lstm", "gru"] = "lstm"
    """Hochreiter & Schmidhuber 1997; Cho et al. 2014."""
    recurrent_dropout: float = Field(0.0, ge=0, lt=1)
    """Share of the weights between successive states that are zero in training, for all steps of a batch alike (Merity
    et al. 2018, section 2: 0.5)."""

    @model_validator(mode="after")
    def _drops_for_all_steps(self) -> "RecurrenceConfig":
        if self.recurrent_dropout and self.step_by_step:
            raise UserError(
                f"decoder.recurrent_dropout={self.recurrent_dropout:g} draws one mask for all steps, and this decoder "
                "takes them one after another: choose decoder=gnmt, or decoder=luong with decoder.input_feeding=false, "
                "or set it to 0"
            )
        return self


class FirstState(nn.Module):
    """Layers whose first state is made from the encoder's final state, or zero."""

    def __init__(self, config: LayersConfig, parts: int, final_state_size: int) -> None:
        """parts: how many tensors a state has, each [B, layers, H]."""
        super().__init__()
        self.parts = parts
        self.shape = (config.num_layers, config.hidden_size)
        self.needs_full_source = config.init_hidden == "final_state"
        states = parts * config.num_layers * config.hidden_size
        self.bridge = Linear(final_state_size, states, exact=True) if self.needs_full_source else None

    def init_state(self, final_state: Float[Tensor, "B U"]) -> tuple[Float[Tensor, "B layers H"], ...]:
        """Returns the first state, from the encoder's final state."""
        shape = (len(final_state), *self.shape)
        if self.bridge is None:
            return tuple(final_state.new_zeros(shape) for _ in range(self.parts))
        bridged = torch.tanh(self.bridge(final_state))
        return tuple(part.reshape(shape) for part in bridged.chunk(self.parts, -1))


class Recurrence(FirstState):
    """States are tuples of tensors [B, layers, H]: hidden and cell of an LSTM, hidden of a GRU."""

    def __init__(self, config: RecurrenceConfig, input_size: int, final_state_size: int) -> None:
        super().__init__(config, 2 if config.cell == "lstm" else 1, final_state_size)
        self.cells = {"lstm": LSTM, "gru": GRU}[config.cell](
            input_size,
            config.hidden_size,
            config.num_layers,
            dropout=config.dropout,
            recurrent_dropout=config.recurrent_dropout,
            int8=True,
        )

    @property
    def single_lstm(self) -> bool:
        """Whether the recurrence is one layer of an LSTM, computed as torch does."""
        return type(self) is Recurrence and type(self.cells) is LSTM and self.cells.num_layers == 1

    def forward(
        self, inputs: Float[Tensor, "B T I"], state: tuple[Float[Tensor, "B layers H"], ...]
    ) -> tuple[Float[Tensor, "B T H"], tuple[Float[Tensor, "B layers H"], ...]]:
        """Returns the top layer's states and the state after the last step."""
        return self.cells(inputs, state)
