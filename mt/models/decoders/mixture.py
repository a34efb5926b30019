"""Mixed predictions, for an attention that gives each position a prediction of its own: `mixes_predictions`.

    p(y) = sum over s of w_s p(y | value s)

The predictions of a step come first, then the likelihoods of all targets, and their loss. The logits of all positions
are B T S C numbers, C the size of the vocabulary: they are computed in blocks of tokens, and again for the gradient.
"""

from collections.abc import Callable

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn.functional import pad
from torch.utils.checkpoint import checkpoint

from mt.kernels.cross_entropy import selects_tokens
from mt.kernels.precision import result_dtype
from mt.models.attention.base import AttentionOutput
from mt.models.decoders.output import OutputLayer
from mt.step import PAD

BLOCK = 1 << 20
"""How many numbers a block of logits or readouts has on a CPU; on other devices 16 times as many."""


def mixed(
    logits: Float[Tensor, "B S C"], log_weights: Float[Tensor, "B S"]
) -> tuple[Float[Tensor, "B C"], Float[Tensor, "B S C"]]:
    """Returns the log-probabilities of a step, and those at each position."""
    log_probs = logits.to(result_dtype(logits)).log_softmax(-1)
    return (log_probs + log_weights[..., None]).logsumexp(1), log_probs


def at_tokens(scores: Float[Tensor, "N S C"], tokens: Int[Tensor, " N"]) -> Float[Tensor, "N S"]:
    """Returns the score of each row's token at each position."""
    return scores.gather(2, tokens[:, None, None].expand(-1, scores.shape[1], 1))[..., 0]


def target_likelihoods(
    summands: tuple[Float[Tensor, "B T F"], Float[Tensor, "B S F"]],
    readouts_of: Callable[[Tensor], Tensor],
    output: OutputLayer,
    targets: Int[Tensor, "B T"],
) -> tuple[Float[Tensor, "B T S"], Float[Tensor, "B T S"]]:
    """Returns the log-probability of each target at each position, and the mean over all tokens; both 0 on padding.

    summands: what queries and values add to the argument of `readouts_of`."""
    of_queries, of_values = summands
    batch, positions, size = of_values.shape
    steps = targets.shape[1]

    def of_block(queries: Tensor, sentences: Tensor, tokens: Tensor) -> Tensor:
        logits = output(readouts_of(queries[:, None] + of_values.index_select(0, sentences)))  # [n, S, C]
        logits = logits.to(result_dtype(logits))
        # Two numbers of each softmax are enough: the target's, and the mean for label smoothing.
        return torch.stack((at_tokens(logits, tokens), logits.mean(-1)), -1) - logits.logsumexp(-1, keepdim=True)

    # N real tokens, or all where the number of real ones is not asked for.
    chosen = torch.arange(batch * steps, device=targets.device)
    if selects_tokens(targets.device.type):
        chosen = chosen[targets.flatten() != PAD]
    inputs = of_queries.flatten(0, 1).index_select(0, chosen), chosen // steps, targets.flatten()[chosen]
    # In blocks, of which nothing is kept: 2 numbers for each position.
    most = BLOCK if targets.is_cpu else 16 * BLOCK
    tokens_of_block = max(1, most // (positions * max(size, output.out_features)))
    blocks = zip(*(part.split(tokens_of_block) for part in inputs), strict=True)
    # `checkpoint` restores the generators, so that dropout draws the same mask when a block is computed again.
    found = torch.cat([checkpoint(of_block, *block, use_reentrant=False) for block in blocks])  # [N, S, 2]
    of_all = found.new_zeros(batch * steps, positions, 2).index_copy(0, chosen, found)
    of_all = of_all.unflatten(0, (batch, steps)).masked_fill((targets == PAD)[..., None, None], 0.0)
    likelihoods, means = of_all.unbind(-1)
    return likelihoods, means


def next_tokens(tokens: Int[Tensor, "B T"]) -> Int[Tensor, "B T"]:
    """Returns the token after each; PAD after the last."""
    return pad(tokens[:, 1:], (0, 1), value=PAD)


def mixed_losses(
    attended: AttentionOutput, mask: Bool[Tensor, "B T"], smoothing: float
) -> tuple[Float[Tensor, ""], Float[Tensor, "B T"]]:
    """Computes `token_losses` for mixed predictions. Label smoothing applies to the prediction of each position."""
    assert attended.log_weights is not None and attended.log_likelihoods is not None
    assert attended.mean_log_probs is not None
    # The likelihood of a token is a sum over positions of weight times probability, here in logarithms.
    each = -(attended.log_weights + attended.log_likelihoods).logsumexp(-1).masked_fill(~mask, 0.0)
    total = each.sum()
    if smoothing:
        # The uniform part of the smoothed target: at each position the mean over the vocabulary.
        spread = -(attended.weights * attended.mean_log_probs).sum(-1).masked_fill(~mask, 0.0)
        total = (1 - smoothing) * total + smoothing * spread.sum()
    return total, each.detach()
