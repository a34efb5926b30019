"""Cross entropy with label smoothing, summed over real tokens, without ever holding all logits.

Logits are by far the largest tensor of a training step. They are made, turned into their own gradient and dropped block
by block, so that what is kept for the backward pass has the size of the readouts and of the output matrix.
"""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from mt.kernels.linear import matrix_product


def token_losses(
    readouts: Float[Tensor, "B T F"],
    weight: Float[Tensor, "V F"],
    bias: Float[Tensor, " V"],
    targets: Int[Tensor, "B T"],
    mask: Bool[Tensor, "B T"],
    *,
    smoothing: float = 0.0,
) -> tuple[Float[Tensor, ""], Float[Tensor, "B T"]]:
    """Returns the sum over real tokens of the cross entropy, in nats, float32; and that of each token, [B, T], 0 on
    padding, not smoothed and without a gradient.

    weight, bias: turn readouts into logits; mask: true on real tokens.
    smoothing: the share of probability given to all tokens alike (Szegedy et al. 2016, section 7).

    Differentiable once. Products are computed in the type of autocast, or of `readouts`; softmax and sums in float32.
    """
    device = readouts.device.type
    if torch.is_autocast_enabled(device):
        readouts = readouts.to(torch.get_autocast_dtype(device))
    rest = smoothing, torch.is_grad_enabled()
    if device == "cpu":
        total, each = _TokenLosses.apply(readouts[mask], weight, bias, targets[mask], None, *rest)
        return total, each.new_zeros(mask.shape).masked_scatter(mask, each)
    # A GPU would be waited for, to know how many are real, for longer than the few others take.
    real = mask.flatten().to(weight.dtype)
    total, each = _TokenLosses.apply(readouts.flatten(0, 1), weight, bias, targets.flatten(), real, *rest)
    return total, each.view(mask.shape)


class _TokenLosses(Function):
    @staticmethod
    def forward(
        ctx,
        readouts: Tensor,
        weight: Tensor,
        bias: Tensor,
        targets: Tensor,
        real: Tensor | None,
        smoothing: float,
        differentiable: bool,
    ) -> tuple[Tensor, Tensor]:
        """real: [N], 1 or 0: what each row counts; None: 1."""
        weight_cast = weight.to(readouts.dtype)
        bias_cast = bias.to(readouts.dtype)
        grad_readouts = torch.empty_like(readouts)
        grad_weight = torch.zeros_like(weight)
        grad_bias = torch.zeros_like(bias)
        each = weight.new_empty(len(readouts))
        loss = weight.new_zeros(())
        rows, alike = _block(readouts)
        for begin in range(0, len(readouts), rows):
            end = min(begin + rows, len(readouts))
            first = end - rows if alike else begin  # of the last block some rows have been in another
            again = begin - first
            block = readouts[first:end]
            wanted = targets[first:end, None]
            log_probs = matrix_product(block, weight_cast.T, bias_cast).to(weight.dtype).log_softmax(-1)
            counts = None if real is None else real[first:end, None]
            if counts is not None:
                log_probs *= counts
            each[begin:end] = -log_probs.gather(1, wanted)[again:, 0]
            loss += (1 - smoothing) * each[begin:end].sum()
            if smoothing:
                loss -= smoothing * log_probs[again:].mean(-1).sum()
            if not differentiable:
                continue
            grad = _gradient(log_probs, wanted, smoothing)
            if counts is not None:
                grad *= counts
            grad[:again] = 0
            grad_bias += grad.sum(0)
            grad_cast = grad.to(readouts.dtype)
            grad_readouts[begin:end] = _grad_readouts(grad_cast, weight_cast)[again:]
            if weight_cast is weight:  # added within the product, without a tensor of the size of the matrix
                grad_weight.addmm_(grad_cast.T, block)
            else:
                grad_weight += grad_cast.T @ block
        ctx.save_for_backward(grad_readouts, grad_weight, grad_bias)
        ctx.mark_non_differentiable(each)
        return loss, each

    @staticmethod
    @once_differentiable
    def backward(ctx, grad: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
        grad_readouts, grad_weight, grad_bias = ctx.saved_tensors
        return grad * grad_readouts, grad * grad_weight, grad * grad_bias, None, None, None, None


def _gradient(log_probs: Tensor, wanted: Tensor, smoothing: float) -> Tensor:
    """Returns the gradient of the logits [N, V], in the place of their log-probabilities. wanted: [N, 1] tokens."""
    grad = log_probs.exp_()
    if smoothing:
        grad -= smoothing / grad.shape[1]
    return grad.scatter_add_(1, wanted, grad.new_full(wanted.shape, smoothing - 1))


def _block(readouts: Tensor) -> tuple[int, bool]:
    """Returns the rows of a block, and whether the last one has as many, too."""
    # Few enough for a block of logits to stay in a CPU's cache; a GPU wants larger products.
    rows = 256 if readouts.device.type == "cpu" else 4096
    if not _compiled_by_shape(readouts) or len(readouts) <= rows:
        return rows, False
    # The programs for a block of another size take 20 ms.
    return 32 * -(-len(readouts) // (32 * -(-len(readouts) // rows))), True


def _grad_readouts(grad: Tensor, weight: Tensor) -> Tensor:
    """Returns grad @ weight, by its transpose where the program for that is made in an eighth of 12 ms."""
    return (weight.T @ grad.T).T if _compiled_by_shape(grad) else matrix_product(grad, weight)


def _compiled_by_shape(x: Tensor) -> bool:
    """Returns whether products are oneDNN's, which compiles a program for each shape and keeps few of them."""
    return x.device.type == "cpu" and x.dtype == torch.bfloat16
