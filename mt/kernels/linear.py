"""Linear layers. In training in bfloat16 on a CPU, their rows are multiplied in blocks of one size.

Products in bfloat16 are oneDNN's there, which compiles a program for every shape that it meets, in one to five
milliseconds, and batches of text are of ever new shapes: a tenth of an update was spent on it.
"""

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.autograd import Function
from torch.autograd.function import once_differentiable
from torch.nn.functional import pad

ROWS = 256
"""Of a block. Fewer are multiplied as they are: in a loop of steps their number, and the program, stays."""


def linear(
    rows: Float[Tensor, "*N I"], weight: Float[Tensor, "O I"], bias: Float[Tensor, " O"] | None = None
) -> Float[Tensor, "*N O"]:
    """`torch.nn.functional.linear`, differentiable once where it is by blocks."""
    if not _by_blocks(rows, weight):
        return nn.functional.linear(rows, weight, bias)
    flat = rows.flatten(0, -2).to(torch.bfloat16)
    return _Blocks.apply(flat, weight, bias).unflatten(0, rows.shape[:-1])


class Linear(nn.Linear):
    def forward(self, input: Float[Tensor, "*N I"]) -> Float[Tensor, "*N O"]:
        return linear(input, self.weight, self.bias)


def _by_blocks(rows: Tensor, weight: Tensor) -> bool:
    if rows.device.type != "cpu" or not torch.is_grad_enabled() or torch.compiler.is_compiling():
        return False
    bfloat16 = torch.is_autocast_enabled("cpu") and torch.get_autocast_dtype("cpu") == torch.bfloat16
    return bfloat16 and weight.dtype == torch.float32 and rows.numel() >= ROWS * rows.shape[-1]


class _Blocks(Function):
    """Of rows [N, I] in bfloat16, and a matrix [O, I] and a bias [O] in float32."""

    @staticmethod
    def forward(ctx, rows: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        ctx.biased = bias is not None
        weight, bias = weight.to(rows.dtype), None if bias is None else bias.to(rows.dtype)
        products = _room(rows, len(weight))
        for out, (block,) in zip(products.split(ROWS), _blocks(rows), strict=True):
            if bias is None:
                torch.mm(block, weight.T, out=out)
            else:
                torch.addmm(bias, block, weight.T, out=out)
        ctx.save_for_backward(rows, weight)
        return products[: len(rows)]

    @staticmethod
    @once_differentiable
    def backward(ctx, grad: Tensor) -> tuple[Tensor, Tensor, Tensor | None]:
        rows, weight = ctx.saved_tensors
        grad_rows = _room(rows, rows.shape[1])
        grad_weight = torch.zeros_like(weight, dtype=torch.float32)
        for out, (grad_block, block) in zip(grad_rows.split(ROWS), _blocks(grad, rows), strict=True):
            torch.mm(grad_block, weight, out=out)
            grad_weight += grad_block.T @ block
        grad_bias = grad.sum(0, dtype=torch.float32) if ctx.biased else None
        return grad_rows[: len(rows)], grad_weight, grad_bias


def _room(rows: Tensor, width: int) -> Tensor:
    """For whole blocks of as many rows."""
    return rows.new_empty(ROWS * -(-len(rows) // ROWS), width)


def _blocks(*parts: Tensor) -> list[tuple[Tensor, ...]]:
    """Of all parts [N, .] the same rows, zeros after the last."""
    found = list(zip(*(part.split(ROWS) for part in parts), strict=True))
    if missing := -len(parts[0]) % ROWS:
        found[-1] = tuple(pad(part, (0, 0, 0, missing)) for part in found[-1])
    return found
