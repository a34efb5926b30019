"""The latency-controlled bidirectional LSTM (Zhang, Chen, Yu, Yao, Khudanpur & Glass 2016, "Highway Long Short-Term
Memory RNNs for Distant Speech Recognition", section 4; Xue & Yan 2017).

The source is cut into chunks. A chunk and a few positions after it, its look-ahead, are a block. In each layer the
forward direction goes on from its state at the end of the chunk before. It goes through the look-ahead for the layers
above alone. The backward direction begins with zeros at the end of the look-ahead. So a value depends on all positions
up to the end of its block, however many layers there are.

First stands a layer over blocks, then the encoder, which cuts the blocks (`_run`) and keeps their state (`_Carried`).
"""

from typing import ClassVar, Literal, NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from pydantic import BaseModel, Field
from torch import Tensor, nn
from torch.nn.functional import pad

from mt.common.options import MAX_SIZE
from mt.kernels.lstm import LSTM
from mt.kernels.padding import append, last, mirrored
from mt.models.encoders.base import Encoded, Encoder, Mask, State, Vectors
from mt.models.encoders.recurrent import BidirectionalConfig, WithForgetGates
from mt.models.weights import open_forget_gates


class LCBiLSTMConfig(WithForgetGates, BidirectionalConfig):
    name: Literal["lc_bilstm"] = "lc_bilstm"
    chunk_size: int = Field(4, gt=0, le=MAX_SIZE)
    """Tokens of a chunk, whose values are known at the same time."""
    look_ahead: int = Field(2, ge=0, le=MAX_SIZE)
    """Tokens after a chunk that its values depend on, too. A value is known after look_ahead to chunk_size + look_ahead
    - 1 further tokens, or at the end of the source."""


class _Carried(NamedTuple):
    """The state from which the next chunk goes on."""

    vectors: Tensor  # [B, P, E]: of the positions that wait to be encoded
    mask: Tensor  # [B, P] bool
    hidden: Tensor  # [B, layers, H]: of the forward direction at the end of the last chunk
    cells: Tensor  # [B, layers, H]
    begun: Tensor  # [B] bool: whether any position is encoded
    final_state: Tensor  # [B, 2 H]: of the encoded positions


class _Layer(nn.Module):
    """Both directions over consecutive blocks of each source."""

    def __init__(self, input_size: int, hidden_size: int, chunk_size: int) -> None:
        super().__init__()
        self.chunk_size = chunk_size
        self.rightward = LSTM(input_size, hidden_size)
        self.leftward = LSTM(input_size, hidden_size)

    def forward(
        self, blocks: Float[Tensor, "B K W E"], mirrored: Int[Tensor, "B K W"], state: State, runs: Bool[Tensor, "B K"]
    ) -> tuple[Float[Tensor, "B K W V"], State]:
        """Returns the outputs of both directions, and the state of the forward one, (hidden, cells), each [B, H].

        mirrored: see `mirrored`. state: the one before; runs: false where a source lacks the block, which keeps its
        state.
        """
        turned = blocks.gather(2, mirrored[..., None].expand_as(blocks))
        left = self.leftward(turned.flatten(0, 1))[0].unflatten(0, blocks.shape[:2])  # [B, K, W, H]
        left = left.gather(2, mirrored[..., None].expand_as(left))
        outputs = []
        ends = []
        for chunk, run in zip(blocks[:, :, : self.chunk_size].unbind(1), runs.unbind(1), strict=True):
            output, after = self.rightward(chunk, tuple(vectors[:, None] for vectors in state))
            state = tuple(torch.where(run[:, None], new[:, 0], old) for new, old in zip(after, state, strict=True))
            outputs.append(output)
            ends.append(state)
        right = torch.stack(outputs, 1)  # [B, K, chunk, H]
        if blocks.shape[2] > self.chunk_size:
            # Through all look-aheads at once, each from the end of its chunk.
            begins = tuple(torch.stack(vectors, 1).flatten(0, 1)[:, None] for vectors in zip(*ends, strict=True))
            further, _ = self.rightward(blocks[:, :, self.chunk_size :].flatten(0, 1), begins)
            right = torch.cat((right, further.unflatten(0, blocks.shape[:2])), 2)
        return torch.cat((right, left), -1), state


class LCBiLSTM(Encoder):
    """Values are the states of the top layer. The final state is that of its forward direction at the last position and
    of its backward direction at the first one. A source within one block is encoded as by a BiLSTM."""

    Config: ClassVar[type[BaseModel]] = LCBiLSTMConfig
    data_dependent_loop = True
    incremental = True

    def __init__(self, config: LCBiLSTMConfig, input_size: int) -> None:
        super().__init__()
        self.value_size = self.final_state_size = config.hidden_size
        self.chunk_size = config.chunk_size
        self.look_ahead = config.look_ahead
        sizes = [input_size, *[config.hidden_size] * (config.num_layers - 1)]
        half = config.hidden_size // 2
        self.layers = nn.ModuleList(_Layer(size, half, config.chunk_size) for size in sizes)
        self.dropout = nn.Dropout(config.dropout)
        open_forget_gates(self.layers, config.forget_bias)

    def read_for(self, positions: Int[Tensor, "*shape"], lengths: Int[Tensor, "*#shape"]) -> Int[Tensor, "*shape"]:
        return torch.minimum((positions // self.chunk_size + 1) * self.chunk_size + self.look_ahead, lengths)

    def forward(self, vectors: Vectors, mask: Mask) -> Encoded:
        encoded, _ = self.extend(vectors, mask, None, torch.ones_like(mask[:, 0]))
        values = pad(encoded.values, (0, 0, 0, mask.shape[1] - encoded.values.shape[1]))
        return Encoded(values, values, mask, encoded.final_state)

    def extend(
        self, vectors: Vectors, mask: Mask, state: State | None, complete: Bool[Tensor, " B"]
    ) -> tuple[Encoded, State]:
        # The waiting positions and the new ones, of which whole chunks with their look-ahead are encoded.
        carried = self._begin(vectors) if state is None else _Carried(*state)
        vectors = vectors.masked_fill(~mask[..., None], 0.0)
        (vectors,), mask = append((carried.vectors,), carried.mask, (vectors,), mask)
        lengths = mask.sum(1)
        whole = (lengths - self.look_ahead).clamp(min=0) // self.chunk_size
        chunks = torch.where(complete, -(-lengths // self.chunk_size), whole)
        counts = torch.minimum(chunks * self.chunk_size, lengths)
        values, hidden, cells = self._run(vectors, lengths, chunks, carried)
        # Their values, and the state with the positions that wait now.
        mask = torch.arange(int(counts.max()), device=mask.device) < counts[:, None]
        values = values[:, : mask.shape[1]].masked_fill(~mask[..., None], 0.0)
        final_state = _final_state(values, counts, carried)
        after = _Carried(*_tail(vectors, counts, lengths), hidden, cells, carried.begun | (counts > 0), final_state)
        return Encoded(values, values, mask, final_state), tuple(after)

    def _begin(self, vectors: Vectors) -> _Carried:
        batch = len(vectors)
        size = self.value_size
        nothing = vectors[:, :0]
        begun = torch.zeros(batch, dtype=torch.bool, device=vectors.device)
        state = vectors.new_zeros(batch, len(self.layers), size // 2)
        return _Carried(nothing, begun[:, None][:, :0], state, state, begun, vectors.new_zeros(batch, size))

    def _run(
        self, vectors: Float[Tensor, "B N E"], lengths: Int[Tensor, " B"], chunks: Int[Tensor, " B"], carried: _Carried
    ) -> tuple[Float[Tensor, "B M V"], Float[Tensor, "B L H"], Float[Tensor, "B L H"]]:
        """Returns the values of the next `chunks` chunks of each source, and the states of the forward direction after
        them.

        vectors: of all positions that are not encoded yet, zero on padding; lengths: the number of real ones.
        """
        count = int(chunks.max())
        batch, width, _ = vectors.shape
        if count == 0:
            return vectors.new_zeros(batch, 0, self.value_size), carried.hidden, carried.cells
        size = self.chunk_size + self.look_ahead if count > 1 else min(self.chunk_size + self.look_ahead, width)
        starts = self.chunk_size * torch.arange(count, device=vectors.device)
        # Blocks overlap by the look-ahead. Where a source ends they end with padding, which each direction reads last.
        padded = pad(vectors, (0, 0, 0, self.chunk_size * (count - 1) + size - width))
        blocks = padded.unfold(1, size, self.chunk_size).transpose(2, 3)  # [B, count, size, E]
        turned = mirrored((lengths[:, None] - starts).clamp(0, size), size)  # [B, count, size]
        runs = torch.arange(count, device=vectors.device) < chunks[:, None]  # [B, count]
        hidden = []
        cells = []
        for index, layer in enumerate(self.layers):
            blocks = self.dropout(blocks) if index else blocks
            state = carried.hidden[:, index], carried.cells[:, index]
            blocks, (last_hidden, last_cells) = layer(blocks, turned, state, runs)
            hidden.append(last_hidden)
            cells.append(last_cells)
        values = blocks[:, :, : self.chunk_size].flatten(1, 2)  # [B, M, V]
        return values, torch.stack(hidden, 1), torch.stack(cells, 1)


def _tail(
    vectors: Float[Tensor, "B N E"], begins: Int[Tensor, " B"], ends: Int[Tensor, " B"]
) -> tuple[Float[Tensor, "B P E"], Bool[Tensor, "B P"]]:
    """Returns the positions of each source from `begins` to `ends`, and their mask."""
    offsets = torch.arange(int((ends - begins).max()), device=vectors.device)
    index = (begins[:, None] + offsets).clamp(max=max(0, vectors.shape[1] - 1))  # [B, P]
    return vectors.gather(1, index[..., None].expand(-1, -1, vectors.shape[2])), offsets < (ends - begins)[:, None]


def _final_state(values: Float[Tensor, "B S V"], counts: Int[Tensor, " B"], carried: _Carried) -> Float[Tensor, "B V"]:
    """Returns the final state. values: of the next positions; counts: their number in each source."""
    if not values.shape[1]:
        return carried.final_state
    # The forward direction at the last position, the backward one at the first.
    forward, backward = carried.final_state.chunk(2, -1)
    forward = torch.where(counts[:, None] > 0, last(values, counts).chunk(2, -1)[0], forward)
    backward = torch.where(carried.begun[:, None], backward, values[:, 0].chunk(2, -1)[1])
    return torch.cat((forward, backward), -1)
