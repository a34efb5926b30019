"""Recurrent encoders: LSTM (Hochreiter & Schmidhuber 1997) or GRU (Cho et al. 2014), left to right (Sutskever et al.
2014) or both ways (Schuster & Paliwal 1997; Bahdanau et al. 2015, section 3.2)."""

from collections.abc import Sequence
from typing import ClassVar, Literal

import torch
from jaxtyping import Bool, Float
from pydantic import BaseModel, Field, field_validator
from torch import Tensor, nn
from torch.nn.functional import dropout
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from mt.common.options import MAX_SIZE, Options
from mt.errors import UserError
from mt.kernels.lstm import run_layers, run_whole
from mt.models.encoders.base import Encoded, Encoder, State, last, mirrored
from mt.models.initialisation import open_forget_gates

LONG = 8
"""Positions from which a padded batch takes less time on a CPU than a packed one, which is computed cell by cell: three
quarters of it at 10 to 15 positions (one thread), half of it at 80, a third at 200."""


class RecurrentConfig(Options):
    """Options that all recurrent encoders have."""

    hidden_size: int = Field(512, gt=0, le=MAX_SIZE)
    """Size of the values: the cells of a layer. A bidirectional encoder has half of them in each direction, so that
    encoders of one hidden_size give values of one size."""
    num_layers: int = Field(1, gt=0, le=100)
    dropout: float = Field(0.3, ge=0, lt=1)
    """Between layers (Zaremba et al. 2014)."""


class WithForgetGates(Options):
    """Of LSTMs."""

    forget_bias: float = Field(0.0, ge=-100, le=100)
    """Added to the bias of the forget gates at the start (Gers et al. 2000; Jozefowicz et al. 2015): with 0 a cell
    begins by forgetting half of what it holds at each position, with 2 an eighth, which sound needs."""


class LSTMConfig(WithForgetGates, RecurrentConfig):
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


class BiLSTMConfig(WithForgetGates, BidirectionalConfig):
    name: Literal["bilstm"] = "bilstm"


class BiGRUConfig(BidirectionalConfig):
    name: Literal["bigru"] = "bigru"


class Recurrent(Encoder):
    """Values are the states of the top layer; the final state is its last one, of both directions where there are
    two. A subclass inherits no parent's `forward` (see `OwnShortcuts`)."""

    not_inherited = ("forward",)
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
        if isinstance(config, WithForgetGates):
            open_forget_gates(self.cells, config.forget_bias)

    def forward(self, vectors: Float[Tensor, "B S E"], mask: Bool[Tensor, "B S"]) -> Encoded:
        return self._encoded(*self._run(vectors, mask, None), mask)

    def _run(
        self, vectors: Float[Tensor, "B S E"], mask: Bool[Tensor, "B S"], state: State | None
    ) -> tuple[Float[Tensor, "B S V"], State]:
        """Values, and the state after the last position: the hidden vectors of all layers and, of an LSTM, the cell
        vectors, each [B, layers * directions, H]."""
        before = None if state is None else tuple(part.transpose(0, 1).contiguous() for part in state)
        # Packing makes the backward direction begin at each source's own end; a full batch has no need of it.
        if _full(mask):
            values, after = run_layers(self.cells, vectors, before)
        else:
            # Packing refuses rows without a position.
            lengths = mask.sum(1).clamp(min=1).cpu()
            packed = pack_padded_sequence(vectors, lengths, batch_first=True, enforce_sorted=False)
            packed_values, after = run_whole(self.cells, packed, before)
            values, _ = pad_packed_sequence(packed_values, batch_first=True, total_length=mask.shape[1])
        return values, tuple(part.transpose(0, 1) for part in after)

    def _encoded(self, values: Float[Tensor, "B S V"], state: State, mask: Bool[Tensor, "B S"]) -> Encoded:
        return Encoded(values, values, mask, state[0][:, -self.directions :].flatten(1))


class Causal(Recurrent):
    """From left to right."""

    causal = incremental = True

    def forward(self, vectors: Float[Tensor, "B S E"], mask: Bool[Tensor, "B S"]) -> Encoded:
        # Nothing real comes after padding, so there is no need of packing, which takes five times as long on CPUs.
        values, _ = run_layers(self.cells, vectors, None)
        values = values.masked_fill(~mask[..., None], 0.0)
        return Encoded(values, values, mask, last(values, mask.sum(1)))

    def extend(
        self,
        vectors: Float[Tensor, "B S E"],
        mask: Bool[Tensor, "B S"],
        state: State | None,
        complete: Bool[Tensor, " B"],
    ) -> tuple[Encoded, State]:
        values, after = self._run(vectors, mask, state)
        # A source without a new position keeps its state.
        before = tuple(map(torch.zeros_like, after)) if state is None else state
        values, grown = values.masked_fill(~mask[..., None], 0.0), mask.any(1)[:, None, None]
        after = tuple(torch.where(grown, new, old) for new, old in zip(after, before, strict=True))
        return self._encoded(values, after, mask), after


class LSTM(Causal):
    Config: ClassVar[type[BaseModel]] = LSTMConfig
    cell = nn.LSTM
    causal = incremental = True
    forward, extend = Causal.forward, Causal.extend


class BothWays(Recurrent):
    """From left to right and from right to left."""

    directions = 2

    def forward(self, vectors: Float[Tensor, "B S E"], mask: Bool[Tensor, "B S"]) -> Encoded:
        # On a GPU, to ask whether there is padding would be to wait for it.
        if vectors.device.type != "cpu" or (not _full(mask) and vectors.shape[1] >= LONG):
            return self._whole(vectors, mask)
        return super().forward(vectors, mask)

    def _whole(self, vectors: Float[Tensor, "B S E"], mask: Bool[Tensor, "B S"]) -> Encoded:
        """Each direction over the padded batch, the backward one with each source turned around in its place."""
        lengths = mask.sum(1).clamp(min=1)
        turned = mirrored(lengths, mask.shape[1])[..., None]
        values, weights = vectors, iter(self.cells.all_weights)
        for layer in range(self.cells.num_layers):
            if layer:
                values = dropout(values, self.cells.dropout, self.training)
            right = self._rightward(values, next(weights))
            left = self._rightward(values.gather(1, turned.expand_as(values)), next(weights))
            left = left.gather(1, turned.expand_as(left))
            values = torch.cat((right, left), -1).masked_fill(~mask[..., None], 0.0)
        return Encoded(values, values, mask, torch.cat((last(right, lengths), left[:, 0]), -1))

    def _rightward(self, vectors: Tensor, weights: Sequence[Tensor]) -> Tensor:
        zeros, rest = vectors.new_zeros(1, len(vectors), self.cells.hidden_size), (True, 1, 0.0, self.training, False)
        if self.cell is nn.LSTM:
            return torch.lstm(vectors, (zeros, zeros), list(weights), *rest, batch_first=True)[0]
        return torch.gru(vectors, zeros, list(weights), *rest, batch_first=True)[0]


def _full(mask: Bool[Tensor, "B S"]) -> bool:
    """Whether nothing is padding: so it is in a graph that is exported, which reads one source."""
    return torch.compiler.is_compiling() or bool(mask.all())


class BiLSTM(BothWays):
    Config: ClassVar[type[BaseModel]] = BiLSTMConfig
    cell = nn.LSTM
    forward = BothWays.forward


class GRU(Causal):
    """torch's GRU applies the reset gate after the recurrent product (cuDNN's form); Cho et al. (2014) before it."""

    Config: ClassVar[type[BaseModel]] = GRUConfig
    cell = nn.GRU
    causal = incremental = True
    forward, extend = Causal.forward, Causal.extend


class BiGRU(BothWays):
    Config: ClassVar[type[BaseModel]] = BiGRUConfig
    cell = nn.GRU
    forward = BothWays.forward
