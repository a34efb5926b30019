"""The steps of a decoder with input feeding, forward and backward, as one function (Luong et al. 2015, section 3.3).

    h_t, c_t = LSTM([y_t; f_{t-1}], h_{t-1}, c_{t-1})
    a_t = softmax(g K h_t),  x_t = a_t V,  r_t = tanh(W_c [x_t; h_t]),  f_t = r_t d_t  (d: dropout)

The steps must be taken in turn, but not all of their work. The word vectors go through the LSTM's matrix at once. The
gradients of weights, keys and values are one product each over all steps, in place of a sum of T products. The matrices
of the steps are cast to the type of the products once, not at every step. The tensors of all steps are kept in one
piece (`_Run`).
"""

from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from mt.kernels.precision import result_dtype


class DotProductAttention(NamedTuple):
    """A softmax attention whose energies are products of a query with keys."""

    keys: Tensor
    """[B, S, H]"""
    gain: Tensor
    """[]: the factor of the products."""
    values: Tensor
    """[B, S, V]"""
    visible: Tensor
    """[B, T or 1, S] bool: the positions that each step may attend to."""


class Weights(NamedTuple):
    """The weights of the decoder."""

    input: Tensor
    """[4 H, E + F], of an LSTM in PyTorch's order of gates: i, f, g, o."""
    hidden: Tensor
    """[4 H, H]"""
    bias: Tensor
    """[4 H]"""
    combine: Tensor
    """[F, V + H]"""


def input_feeding(
    vectors: Float[Tensor, "B T E"],
    state: tuple[Float[Tensor, "B H"], Float[Tensor, "B H"]],
    attention: DotProductAttention,
    weights: Weights,
    drop: Float[Tensor, "B T F"] | None,
) -> tuple[Float[Tensor, "B T F"], Float[Tensor, "B T V"], Float[Tensor, "B T S"]]:
    """Returns the readouts f, the contexts, and the weights of the attention, which are float32 (or float64).

    state: hidden and cell before the first step, where f is 0. drop: the factors of dropout; None: 1.

    Products are computed in the type of autocast, or of `vectors`; cells, gates and softmax in float32, or float64
    where `vectors` are. Differentiable once, in all arguments but `visible` and `drop`.
    """
    kind = vectors.device.type
    dtype = torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else vectors.dtype
    return _InputFeeding.apply(vectors, *state, *attention, *weights, drop, dtype)


class _InputFeeding(Function):
    """Computes with time first, so that the numbers of a step lie together."""

    @staticmethod
    def forward(
        ctx, vectors, hidden, cell, keys, gain, values, visible, w_input, w_hidden, bias, w_combine, drop, dtype
    ) -> tuple[Tensor, ...]:
        weights = Weights(w_input, w_hidden, bias, w_combine)
        with torch.autocast(vectors.device.type, enabled=False):
            run = _Run(vectors, DotProductAttention(keys, gain, values, visible), weights, drop, dtype)
            outputs = run.forward(hidden, cell, bias)
        ctx.run = run
        # The gradient of an output that nobody used is None, rather than zeros of its size.
        ctx.set_materialize_grads(False)
        return outputs

    @staticmethod
    @once_differentiable
    def backward(ctx, *grads: Tensor | None) -> tuple[Tensor | None, ...]:
        run: _Run = ctx.run
        with torch.autocast(run.gain.device.type, enabled=False):
            run.backward(*(None if grad is None else grad.transpose(0, 1) for grad in grads))
            # The LSTM's matrices, from the gates of all steps: [4 H, T * B] @ [T * B, inputs].
            gates = run.grad_gates.flatten(0, 1).T
            by_vectors = gates @ run.vectors.flatten(0, 1)
            by_joined = gates @ run.joined[:-1].flatten(0, 1)
            w_input = torch.cat((by_vectors, by_joined[:, : run.fed]), 1)
            w_hidden = by_joined[:, run.fed :]
            bias = run.grad_gates.sum((0, 1), dtype=run.work)
            # Keys, gain and values of the attention: [B, S, T] @ [B, T, H or V].
            queries = run.read[:, :, run.context :].transpose(0, 1)
            by_energies = run.grad_energies.permute(1, 2, 0).to(run.keys.dtype)
            # Energies are (gain * key) . query: of that product this is the gradient, and both factors follow.
            keys = torch.bmm(by_energies, queries).to(run.work)
            values = torch.bmm(run.weights.permute(1, 2, 0).to(run.keys.dtype), run.grad_read.transpose(0, 1))
            attention = run.gain * keys, (keys * run.keys).sum(), values
            # The word vectors, [B, T, E], and the matrix of the readouts, [F, V + H].
            vectors = (run.grad_gates @ run.w_vectors).transpose(0, 1)
            combine = run.grad_tops.flatten(0, 1).T @ run.read.flatten(0, 1)
        by_state = run.grad_hidden, run.grad_cell
        return vectors, *by_state, *attention, None, w_input, w_hidden, bias, combine, None, None


class _Run:
    """The tensors of all steps. The operands of products have their type; all others have the wider type `work`."""

    def __init__(
        self, vectors: Tensor, attention: DotProductAttention, weights: Weights, drop: Tensor | None, dtype: torch.dtype
    ) -> None:
        size = weights.hidden.shape[1]
        batch, steps, width = vectors.shape
        self.work = result_dtype(vectors)
        self.visible = attention.visible
        self.fed = weights.combine.shape[0]
        self.context = attention.values.shape[2]
        new = vectors.new_empty
        # [T, B, E], so that the vectors of a step lie side by side.
        self.vectors = vectors.transpose(0, 1).to(dtype, memory_format=torch.contiguous_format)
        self.keys = attention.keys.to(dtype)
        self.values = attention.values.to(dtype)
        self.gain = attention.gain.to(self.work)
        self.w_vectors = weights.input[:, :width].to(dtype)
        # [f; h] of the step before goes through one matrix.
        self.w_steps = torch.cat((weights.input[:, width:], weights.hidden), 1).to(dtype)
        self.w_combine = weights.combine.to(dtype)
        self.drop = None if drop is None else drop.transpose(0, 1).to(self.work)
        # Time first: [f; h] and c of T + 1 steps, [x; h] and a of T steps.
        self.joined = new(steps + 1, batch, self.fed + size, dtype=dtype)
        self.read = new(steps, batch, self.context + size, dtype=dtype)
        self.cells = new(steps + 1, batch, size, dtype=self.work)
        self.weights = new(steps, batch, self.keys.shape[1], dtype=self.work)
        self.gates: list[Tensor] = []
        self.tops: list[Tensor] = []

    def forward(self, hidden: Tensor, cell: Tensor, bias: Tensor) -> tuple[Tensor, ...]:
        """Returns readouts, contexts and weights, batch first."""
        size = hidden.shape[1]
        # Before the loop: the products of all word vectors, the first state, the masks of energies.
        of_vectors = torch.nn.functional.linear(self.vectors, self.w_vectors, bias.to(self.vectors.dtype))
        self.joined[0, :, : self.fed] = 0
        self.joined[0, :, self.fed :] = hidden
        self.cells[0] = cell
        unseen = torch.zeros_like(self.visible, dtype=self.work)
        # Not -inf, which would make NaN of a step that sees nothing.
        unseen.masked_fill_(~self.visible, torch.finfo(self.work).min)
        for step in range(len(of_vectors)):
            # The LSTM's cell.
            gates = torch.addmm(of_vectors[step], self.joined[step], self.w_steps.T).to(self.work)
            gates[:, : 2 * size].sigmoid_(), gates[:, 2 * size : 3 * size].tanh_(), gates[:, 3 * size :].sigmoid_()
            i, f, g, o = gates.chunk(4, 1)
            cell = torch.mul(f, self.cells[step], out=self.cells[step + 1]).addcmul_(i, g)
            self.read[step, :, self.context :] = self.joined[step + 1, :, self.fed :] = o * torch.tanh(cell)
            # The attention asks with the new state; a sentence without any visible position has weights of zero.
            column = step if unseen.shape[1] > 1 else 0
            energies = torch.bmm(self.keys, self.read[step, :, self.context :, None])[:, :, 0].to(self.work)
            weights = self.weights[step]
            torch.softmax(torch.addcmul(unseen[:, column], self.gain, energies), -1, out=weights)
            weights *= self.visible[:, column]
            self.read[step, :, : self.context] = torch.bmm(weights[:, None].to(self.values.dtype), self.values)[:, 0]
            # The readout is fed to the next step.
            top = torch.tanh_((self.read[step] @ self.w_combine.T).to(self.work))
            self.joined[step + 1, :, : self.fed] = top if self.drop is None else top * self.drop[step]
            self.gates.append(gates)
            self.tops.append(top)
        readouts = self.joined[1:, :, : self.fed]
        contexts = self.read[:, :, : self.context]
        # [T, B, ...] -> [B, T, ...].
        return tuple(x.transpose(0, 1).contiguous() for x in (readouts, contexts, self.weights))

    def backward(self, by_readout: Tensor | None, by_context: Tensor | None, by_weight: Tensor | None) -> None:
        """Computes the gradients within all steps, from the gradients of the outputs, time first."""
        steps = len(self.gates)
        size = self.cells.shape[2]
        self.grad_gates = self.joined.new_empty(steps, *self.gates[0].shape)
        self.grad_energies = torch.empty_like(self.weights)
        self.grad_read = torch.empty_like(self.read[:, :, : self.context])
        self.grad_tops = self.read.new_empty(steps, *self.tops[0].shape)
        # The gradients that a step gets from the next one: of [f; h], and of its cell.
        joined = torch.zeros_like(self.joined[0], dtype=self.work)
        by_cell = torch.zeros_like(self.cells[0])
        for step in reversed(range(steps)):
            # Of the readout, and of its inputs: the context and the state.
            top = joined[:, : self.fed] if by_readout is None else joined[:, : self.fed] + by_readout[step]
            top = top if self.drop is None else top * self.drop[step]
            self.grad_tops[step] = torch.ops.aten.tanh_backward(top, self.tops[step])
            read = (self.grad_tops[step] @ self.w_combine).to(self.work)
            context = read[:, : self.context]
            self.grad_read[step] = context if by_context is None else context + by_context[step]
            by_hidden = read[:, self.context :] + joined[:, self.fed :]
            # Of the weights, their energies, and the query, which is the state.
            weights = self.weights[step]
            grad = torch.bmm(self.values, self.grad_read[step, :, :, None])[:, :, 0].to(self.work)
            # A softmax's gradient: of each energy a (g - sum of a g).
            product = weights * (grad if by_weight is None else grad + by_weight[step])
            energies = torch.addcmul(product, weights, product.sum(-1, keepdim=True), value=-1)
            self.grad_energies[step] = energies
            by_hidden += torch.bmm((self.gain * energies)[:, None].to(self.keys.dtype), self.keys)[:, 0].to(self.work)
            # Of the cell and its gates.
            gates = self.gates[step]
            tanh_cell = torch.tanh(self.cells[step + 1])
            i, f, g, o = gates.chunk(4, 1)
            by_cell = by_cell + torch.ops.aten.tanh_backward(by_hidden * o, tanh_cell)
            # In PyTorch's order i, f, g, o. All as if they had sigmoids; g is put right below.
            by_gates = torch.cat((by_cell * g, by_cell * self.cells[step], by_cell * i, by_hidden * tanh_cell), 1)
            candidate = slice(2 * size, 3 * size)  # g, the one gate with a tanh
            by_tanh = torch.ops.aten.tanh_backward(by_gates[:, candidate], g)
            by_gates = torch.ops.aten.sigmoid_backward(by_gates, gates)
            by_gates[:, candidate] = by_tanh
            self.grad_gates[step] = by_gates
            by_cell = by_cell * f
            joined = (self.grad_gates[step] @ self.w_steps).to(self.work)
        self.grad_hidden = joined[:, self.fed :]
        self.grad_cell = by_cell
