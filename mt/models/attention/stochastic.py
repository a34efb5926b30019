"""Stochastic hard attention: one position is sampled from the softmax, and learnt by REINFORCE (Xu et al. 2015).

In training each sentence attends either to positions sampled from alpha, or to their expectation (section 4.1: "with
probability 0.5"). The gradient through a sample is that of section 4.1. But each step has its return in place of the
whole reward, since a position does not change the tokens before it:

    d log p(y | s, x) / dW  +  lambda_r sum over t of R_t d log p(s_t | x) / dW  +  lambda_e d H[s] / dW
    R_t = sum over n >= t of (log p(y_n | y_<n, s, x) - b)

with s_t the position of step t, b a moving average of log p(y_n | .) per token, and H the entropy. The paper's moving
average of sums over sentences mostly tells long sentences from short ones. In soft mode the context is the expectation,
in hard mode the value of the most probable position. The loss is `reinforce` in `mt.models.losses`.
"""

from typing import Annotated, Literal

import torch
from jaxtyping import Bool, Float
from pydantic import Field
from torch import Tensor

from mt.models.attention.base import AttentionOutput, AttentionStep, Memory, State
from mt.models.attention.energy import EnergyConfig, GeneralConfig
from mt.models.attention.global_ import ScaledConfig, SoftmaxAttention
from mt.step import Attended


class StochasticConfig(ScaledConfig):
    name: Literal["stochastic"] = "stochastic"
    energy: EnergyConfig = GeneralConfig()
    sample_ratio: Annotated[float, "share"] = Field(0.5, ge=0, le=1)
    """Share of training sentences that attend to sampled positions; the others use the expectation (section 4.1)."""
    reinforce_weight: Annotated[float, "nats per nat"] = Field(0.1, ge=0, le=1e6)
    """lambda_r: weight of REINFORCE's gradient (the authors' code: 0.1)."""
    entropy_weight: Annotated[float, "nats per nat"] = Field(0.002, ge=0, le=1e6)
    """lambda_e: weight of the entropy of the attention (the authors' code: 0.002)."""
    baseline_decay: Annotated[float, "share"] = Field(0.9, ge=0, lt=1)
    """Decay of b, the moving average of the reward, per update (section 4.1: 0.9)."""


class Stochastic(SoftmaxAttention):
    Config = StochasticConfig
    supports_hard = True
    baseline: Tensor

    def __init__(self, config: StochasticConfig, query_size: int, value_size: int) -> None:
        super().__init__(config, query_size, value_size)
        self.sample_ratio = config.sample_ratio
        self.baseline_decay = config.baseline_decay
        # NaN, which counts as 0, until the first update. The mean of the current samples would be no baseline: it
        # depends on them, and would leave a single token without any gradient.
        self.register_buffer("baseline", torch.tensor(torch.nan))

    def init_state(self, memory: Memory, *, hard: bool = False) -> State:
        """Returns whether each sentence attends to sampled positions: [B] bool."""
        count = len(memory.mask)
        device = memory.mask.device
        if not self.training:  # Nothing is drawn: a translation leaves the generators of its caller alone.
            return (torch.zeros(count, dtype=torch.bool, device=device),)
        # Drawn once for a sentence and kept as state, so that all its steps are sampled, or none.
        return (torch.rand(count, device=device) < self.sample_ratio,)

    def step(self, query: Float[Tensor, "B Q"], memory: Memory, state: State, *, hard: bool = False) -> AttentionStep:
        step = self._sample(query[:, None], memory, state[0], hard).only_step(state)
        if not hard:
            return step
        weights = step.attended.weights
        stops = weights.argmax(-1)
        # A window of one column, as a hard step of `Monotonic` returns it.
        return step._replace(attended=Attended(weights.gather(1, stops[:, None]), stops, first=stops))

    def forward(self, queries: Float[Tensor, "B T Q"], memory: Memory, *, hard: bool = False) -> AttentionOutput:
        return self._sample(queries, memory, self.init_state(memory)[0], hard)

    def _sample(
        self, queries: Float[Tensor, "B T Q"], memory: Memory, sampled: Bool[Tensor, " B"], hard: bool
    ) -> AttentionOutput:
        # Soft: the expectation. Hard: the most probable position. In training: samples, for some of the sentences.
        alpha = self._weights(self.energy(queries, memory.keys[0]), memory.mask[:, None])  # [B, T, S]
        weights = alpha
        if hard:
            weights = torch.zeros_like(alpha).scatter(-1, alpha.argmax(-1, keepdim=True), 1.0)
        elif self.training and self.sample_ratio:
            choice = alpha.detach().flatten(0, 1).multinomial(1).view(*alpha.shape[:2], 1)  # [B, T, 1]
            one_hot = torch.zeros_like(alpha).scatter(-1, choice, 1.0)
            weights = torch.where(sampled[:, None, None], one_hot, alpha)  # [B, T, S]
        return AttentionOutput(memory.contexts(weights), weights, alpha)

    def after_update(self, loss: float) -> None:
        # The first reward replaces NaN; later ones move the average.
        reward = torch.full_like(self.baseline, -loss)
        moved = torch.lerp(reward, self.baseline, self.baseline_decay)
        self.baseline.copy_(torch.where(self.baseline.isnan(), reward, moved))
