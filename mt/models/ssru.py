"""Layers of SSRU, the simpler simple recurrent unit (Kim, Junczys-Dowmunt, Hassan, Fikri Aji, Heafield, Grundkiewicz &
Bogoychev 2019, "From Research to Production and Back: Ludicrously Fast Neural Machine Translation").

    f_t = sigmoid(W_f x_t + b_f);  c_t = f_t c_{t-1} + (1 - f_t) W x_t;  h_t = relu(c_t)

Only the sum itself depends on the step before: all products are taken for all steps at once, and the state is one
vector. A block is that of a pre-norm Transformer, with the unit in place of self-attention (Vaswani et al. 2017; Xiong
et al. 2020): x + recurrence(norm(x)), then x + feed_forward(norm(x)).
"""

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from mt.kernels.linear import Linear
from mt.ops.scan import linear_scan


class SSRULayer(nn.Module):
    """The unit. Inputs are [B, T, I], or [B, I] for a single step."""

    def __init__(
        self, input_size: int, hidden_size: int, forget_bias: float, *, reverse: bool = False, int8: bool = False
    ) -> None:
        """forget_bias: the initial b_f. reverse: whether it goes from the last step to the first. int8: whether
        decoding in int8 rounds it."""
        super().__init__()
        self.project = Linear(input_size, 2 * hidden_size, bias=False, int8=int8)
        """W and, below it, W_f."""
        self.forget_bias = nn.Parameter(torch.full((hidden_size,), forget_bias))
        self.reverse = reverse

    def forward(
        self,
        inputs: Float[Tensor, "B *T I"],
        state: Float[Tensor, "B H"] | None = None,
        mask: Bool[Tensor, "B T"] | None = None,
    ) -> tuple[Float[Tensor, "B *T H"], Float[Tensor, "B H"]]:
        """Returns h of all steps, and c after the last one.

        state: c before the first step; zeros by default. mask: true on real steps; others leave the state as it is.
        """
        # W x and f: all products, of one step or of all, each [B, *T, H].
        entering, gates = self.project(inputs).chunk(2, -1)
        forget = torch.sigmoid(gates + self.forget_bias)
        # A single step, as in a search.
        if inputs.dim() == 2:
            entering = entering.type_as(forget)  # under autocast products and a first state are in half precision
            # lerp: entering + forget (state - entering) = (1 - f) W x + f c.
            after = (1 - forget) * entering if state is None else torch.lerp(entering, state.type_as(forget), forget)
            return after.relu(), after
        # All steps at once; padding forgets nothing, so that the last state is that of the last real step.
        if mask is not None:
            forget = forget.masked_fill(~mask[..., None], 1.0)
        cells = self.scan(forget, entering, state)
        # Reversed, the last step to be taken is the first of the source.
        return cells.relu(), cells[:, 0 if self.reverse else -1]

    def scan(
        self, forget: Float[Tensor, "B T H"], entering: Float[Tensor, "B T H"], state: Float[Tensor, "B H"] | None
    ) -> Float[Tensor, "B T H"]:
        """Returns c of all steps. entering: W x."""
        return linear_scan(forget, (1 - forget) * entering, state, reverse=self.reverse)


class BiSSRULayer(nn.Module):
    """Two units, one for each direction, with half of the hidden size each; as `SSRULayer`, without a state before."""

    def __init__(self, input_size: int, hidden_size: int, forget_bias: float) -> None:
        super().__init__()
        self.right = SSRULayer(input_size, hidden_size // 2, forget_bias)
        self.left = SSRULayer(input_size, hidden_size // 2, forget_bias, reverse=True)

    def forward(
        self, inputs: Float[Tensor, "B T I"], state: None, mask: Bool[Tensor, "B T"]
    ) -> tuple[Float[Tensor, "B T H"], Float[Tensor, "B H"]]:
        # Each direction has half of the units: twice [B, T, H / 2] and [B, H / 2].
        sides = (self.right(inputs, mask=mask), self.left(inputs, mask=mask))
        outputs, after = (torch.cat(both, -1) for both in zip(*sides, strict=True))
        return outputs, after


class Recurrent(nn.Module):
    """x + recurrence(norm(x))."""

    def __init__(self, recurrence: SSRULayer | BiSSRULayer, size: int, dropout: float) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(size)
        self.recurrence = recurrence
        self.dropout = nn.Dropout(dropout)

    def forward(
        self,
        inputs: Float[Tensor, "B *T H"],
        state: Float[Tensor, "B H"] | None = None,
        mask: Bool[Tensor, "B T"] | None = None,
    ) -> tuple[Float[Tensor, "B *T H"], Float[Tensor, "B H"]]:
        """Returns the outputs, and the recurrence's state after the last step."""
        outputs, after = self.recurrence(self.norm(inputs), state, mask)
        return inputs + self.dropout(outputs), after


class FeedForward(nn.Module):
    """x + W_2 relu(W_1 norm(x) + b_1) + b_2."""

    def __init__(self, size: int, inner_size: int, dropout: float, *, int8: bool = False) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(size)
        self.enter = Linear(size, inner_size, int8=int8)
        self.leave = Linear(inner_size, size, int8=int8)
        self.dropout = nn.Dropout(dropout)

    def forward(self, inputs: Float[Tensor, "B *T H"]) -> Float[Tensor, "B *T H"]:
        return inputs + self.dropout(self.leave(self.enter(self.norm(inputs)).relu()))
