"""Stochastic hard attention: one position is drawn from the softmax, and learnt about by REINFORCE (Xu et al. 2015).

In training each sentence reads either positions drawn from alpha, or their expectation (section 4.1: "with probability
0.5"). The gradient of what was drawn is that of section 4.1,

    d log p(y | s, x) / dW  +  lambda_r (log p(y | s, x) - b) d log p(s | x) / dW  +  lambda_e d H[s] / dW

with s the positions, b a moving average of log p(y | s, x), and H the entropy. Read soft, the attention gives the
expectation; read hard, the likeliest position.
"""

from typing import Literal

import torch
from pydantic import Field
from torch import Tensor

from mt.models.attention.base import Memory, Read, Reads, State, read_one, weighted
from mt.models.attention.global_ import Global, GlobalConfig
from mt.ops import masked_softmax


class HardConfig(GlobalConfig, frozen=True, extra="forbid", strict=True):
    name: Literal["hard"] = "hard"  # type: ignore[assignment]
    sampled: float = Field(0.5, ge=0, le=1)
    """Share of training sentences that read drawn positions; the others read the expected context (section 4.1)."""
    reinforce: float = Field(0.1, ge=0)
    """lambda_r: weight of the gradient by reward (the authors' code: 0.1)."""
    entropy: float = Field(0.002, ge=0)
    """lambda_e: weight of the entropy of the attention (the authors' code: 0.002)."""
    baseline: float = Field(0.9, ge=0, lt=1)
    """Decay of b, the moving average of the reward, per batch (section 4.1: 0.9)."""


class Hard(Global):
    Config = HardConfig
    can_be_hard = True
    width = 1
    average: Tensor

    def __init__(self, config: HardConfig, query_size: int, value_size: int) -> None:
        super().__init__(config, query_size, value_size)
        self.sampled, self.reinforce = config.sampled, config.reinforce
        self.entropy, self.decay = config.entropy, config.baseline
        # Not a number until there is a first reward to start from.
        self.register_buffer("average", torch.tensor(torch.nan))

    def start(self, memory: Memory) -> State:
        """Whether each sentence reads drawn positions: [B] bool."""
        chance = self.sampled if self.training else 0.0
        return (torch.rand(len(memory.mask), device=memory.mask.device) < chance,)

    def step(self, query: Tensor, memory: Memory, state: State, *, hard: bool = False) -> Read:
        reads = self._read(query[:, None], memory, state[0], hard)
        return read_one(reads, state, reads.weights[:, 0].argmax(-1) if hard else None)

    def reads(self, queries: Tensor, memory: Memory, *, hard: bool = False) -> Reads:
        return self._read(queries, memory, self.start(memory)[0], hard)

    def _read(self, queries: Tensor, memory: Memory, draws: Tensor, hard: bool) -> Reads:
        alpha = masked_softmax(self.energy(queries, memory.keys[0]), memory.mask[:, None])
        weights = alpha
        if hard:
            weights = torch.zeros_like(alpha).scatter(-1, alpha.argmax(-1, keepdim=True), 1.0)
        elif self.training and self.sampled:
            choice = alpha.detach().flatten(0, 1).multinomial(1).view(*alpha.shape[:2], 1)
            drawn = torch.zeros_like(alpha).scatter(-1, choice, 1.0)
            weights = torch.where(draws[:, None, None], drawn, alpha)
        return Reads(weighted(weights, memory.values), weights, alpha)

    def extra_loss(self, reads: Reads, losses: Tensor, source_mask: Tensor, target_mask: Tensor) -> Tensor | None:
        assert reads.alpha is not None
        alpha = reads.alpha.masked_fill(~target_mask[..., None], 0.0)
        log_alpha = alpha.clamp(min=torch.finfo(alpha.dtype).tiny).log()
        # log p(s | x) of drawn positions. Where the expectation was read its gradient is zero, the sum of d alpha.
        chosen = (reads.weights.detach() * target_mask[..., None] * log_alpha).sum((1, 2))
        reward = -losses.sum(1)
        baseline = torch.where(self.average.isnan(), reward.mean(), self.average)
        if self.training:
            self.average.copy_(torch.lerp(reward.mean(), baseline, self.decay))
        entropy = -(alpha * log_alpha).sum()
        return -self.reinforce * ((reward - baseline) * chosen).sum() - self.entropy * entropy
