"""The output layer, and copying: a mixture of its probabilities with the pieces of the source.

With `decoder.copy` the next token is generated or copied (See et al. 2017, section 2.2, equations 8 and 9; Gu et al.
2016):

    p(y) = g p_vocabulary(y) + (1 - g) sum of alpha_s over the positions s with x_s = y,  g = sigmoid(w [r; c] + b)

The weights alpha are the attention's, soft or hard, and c is their context. In the gate, the readout r stands for state
and input. The weights of a step may sum to A < 1, as where a monotonic attention selects nothing. Then the generator
has g + (1 - g) (1 - A) of the probability, which always sums to 1. Where the weights preserve their mass, 1 - A is
rounding, which may be more than a small g, and is left out.
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from mt.errors import UserError
from mt.kernels.cross_entropy import LEAST_SHARE, Mixture
from mt.kernels.linear import Linear
from mt.kernels.precision import result_dtype
from mt.models.attention.base import AttentionOutput, AttentionStep, Memory
from mt.models.frontends.embedding import Embedding
from mt.step import Attended


class OutputLayer(Linear):
    """Turns readouts [..., F] into logits [..., vocabulary]."""

    def __init__(self, readout_size: int, embedding: Embedding, *, tied: bool) -> None:
        """tied: whether the matrix is the embedding table (Press & Wolf 2017). Raises UserError where sizes differ."""
        if tied and readout_size != embedding.output_size:
            raise UserError(
                f"embedding.tie_output makes the output matrix the embedding table, but decoder.readout_size is "
                f"{readout_size} and embedding.embedding_dim is {embedding.output_size}: make them equal or set "
                f"embedding.tie_output=false"
            )
        super().__init__(readout_size, embedding.vocab_size, int8=True)
        # One parameter, which both uses train, and which a checkpoint has once.
        if tied:
            self.weight = embedding.table.weight


class Copying(nn.Module):
    """The gate between generating and copying, and the mixture of both."""

    def __init__(self, readout_size: int, value_size: int, *, mass_preservation: bool) -> None:
        """mass_preservation: whether the weights of the attention always sum to 1."""
        super().__init__()
        self.gate = Linear(readout_size + value_size, 1)
        self.mass_preservation = mass_preservation

    def mixture(
        self, readouts: Float[Tensor, "B T F"], attended: AttentionOutput, memory: Memory, targets: Int[Tensor, "B T"]
    ) -> Mixture:
        """Returns the share of the generator and the probability of a copy, for each target of teacher forcing. No
        tensor is larger than the attention's weights."""
        generated, copied = self._shares(readouts, attended.contexts, attended.weights)
        copies = copied[..., None] * attended.weights
        # Padding matches padding, with a weight of 0 and a target that does not count.
        matches = memory.keys[-1][:, None] == targets[..., None]  # [B, T, S]
        return Mixture(generated, (copies * matches).sum(-1), copies)

    def log_probs(
        self, logits: Float[Tensor, "B C"], readout: Float[Tensor, "B F"], step: AttentionStep, memory: Memory
    ) -> Float[Tensor, "B _"]:
        """Returns the log-probabilities of the mixture for each token of the vocabulary, of one step. logits: the
        generator's. For decoding alone: it has no gradient, which would be NaN wherever a token has no copy."""
        # log p of generating each token, [B, C], and p of copying each attended position, [B, W].
        weights = step.attended.weights
        generated, copied = self._shares(readout, step.context, weights)
        log_probs = logits.to(result_dtype(logits)).log_softmax(-1) + generated.log()[:, None]  # [B, C]
        sources = _attended_tokens(step.attended, memory)
        copies = (copied[:, None] * weights).to(log_probs.dtype)  # [B, W]
        # Copies of one token are summed, and each sum is added to the token's generated probability.
        summed = torch.zeros_like(log_probs).scatter_add(1, sources, copies).gather(1, sources)
        generator = log_probs.gather(1, sources)  # [B, W]
        copier = summed.log()
        # Not `logaddexp`: exported, that would lose whatever is less probable than the smallest float32.
        mixed = torch.maximum(generator, copier) + (-(generator - copier).abs()).exp().log1p()
        # The places of a token that stands twice in the source both have the whole sum.
        return log_probs.scatter(1, sources, mixed)

    def _shares(
        self, readout: Float[Tensor, "*N F"], context: Float[Tensor, "*N V"], weights: Float[Tensor, "*N W"]
    ) -> tuple[Float[Tensor, "*N"], Float[Tensor, "*N"]]:
        """Returns the probability that a token is generated, which is never 0, and the factor of weights as copies."""
        logit = self.gate(torch.cat((readout, context.to(readout.dtype)), -1))[..., 0].to(weights.dtype)
        # A share of 0 would have no logarithm. A clamped gate keeps its gradient, so that it can come back.
        logit = logit + (logit.clamp(-LEAST_SHARE, LEAST_SHARE) - logit).detach()
        generated = logit.sigmoid()
        # Not 1 - generated, which rounds to 0 long before the gate is closed.
        copied = (-logit).sigmoid()
        if self.mass_preservation:
            return generated, copied
        # Rounded, weights may sum to a little more than 1.
        return generated + copied * (1 - weights.sum(-1)).clamp(min=0), copied


def _attended_tokens(attended: Attended, memory: Memory) -> Int[Tensor, "B W"]:
    """Returns the token of each position with a weight of the step. Beyond the end, where weights are 0, it repeats the
    last one."""
    tokens = memory.keys[-1]  # [B, S]
    if attended.first is None:
        return tokens
    columns = attended.first if memory.first is None else attended.first - memory.first
    window = columns[:, None] + torch.arange(attended.weights.shape[1], device=tokens.device)  # [B, W]
    return tokens.gather(1, window.clamp(0, tokens.shape[1] - 1))
