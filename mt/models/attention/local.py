"""Local attention: a softmax over a window of 2 D + 1 positions around one (Luong et al. 2015, section 3.2).

    local-m:  p_t = t, or the last position that the step may attend to, where that comes before
    local-p:  p_t = (S - 1) sigmoid(v . tanh(W h_t)),  weights times exp(-(s - p_t)^2 / (2 sigma^2)),  sigma = D / 2

The softmax is taken inside the window, and the Gaussian multiplied after it, without normalising again. So the gradient
reaches p_t through the Gaussian alone. Positions count from 0 and p_t ends at the last one, the EOS. The window is
centred on floor(p_t) and cut at the sentence's edges. (So in the authors' code; the paper has S sigmoid(.).)
"""

from typing import Annotated, ClassVar, Literal

import torch
from jaxtyping import Float, Int
from pydantic import BaseModel, Field
from torch import Tensor

from mt.common.options import MAX_SIZE
from mt.kernels.linear import Linear
from mt.models.attention.base import AttentionOutput, Memory
from mt.models.attention.energy import EnergyConfig, GeneralConfig
from mt.models.attention.global_ import ScaledConfig, SoftmaxAttention


class LocalMConfig(ScaledConfig):
    name: Literal["local_m"] = "local_m"
    energy: EnergyConfig = GeneralConfig()
    window: Annotated[int, "positions"] = Field(10, gt=0, le=MAX_SIZE)
    """D: positions on either side of the centre (Luong et al. 2015: 10). The Gaussian of local_p has a deviation of D /
    2."""


class LocalPConfig(LocalMConfig):
    name: Literal["local_p"] = "local_p"  # type: ignore[assignment]


class LocalM(SoftmaxAttention):
    """The centre moves one position a step, as far as the last one that the step may attend to (local-m)."""

    supports_wait_k: ClassVar[bool] = True
    Config: ClassVar[type[BaseModel]] = LocalMConfig
    needs_order = True

    def __init__(self, config: LocalMConfig, query_size: int, value_size: int) -> None:
        super().__init__(config, query_size, value_size)
        self.window = config.window

    def _attend(self, queries: Float[Tensor, "B T Q"], memory: Memory, steps: Int[Tensor, "B T"]) -> AttentionOutput:
        visible = memory.visible(steps)  # [B, T or 1, S]
        centres = self._centres(queries, visible.sum(-1), steps)[..., None]  # [B, T, 1]
        # The softmax inside the window of each step, [B, T, S], times the Gaussian of local-p.
        positions = torch.arange(memory.mask.shape[1], device=queries.device)
        inside = ((positions - centres.floor()).abs() <= self.window) & visible
        weights = self._weights(self.energy(queries, memory.keys[0]), inside) * self._shape(positions - centres)
        return AttentionOutput(memory.contexts(weights), weights)

    def _centres(
        self, queries: Float[Tensor, "B T Q"], lengths: Int[Tensor, "B _"], steps: Int[Tensor, "B T"]
    ) -> Float[Tensor, "B T"]:
        """Returns p_t. lengths: the number of leading positions that each step, or all of them, may attend to. steps:
        the number of each step, from 0."""
        # Of a source that is still arriving, no position may be there yet.
        return torch.minimum(steps, (lengths - 1).clamp(min=0)).float()

    def _shape(self, distances: Float[Tensor, "B T W"]) -> Float[Tensor, "B T W"] | float:
        """Returns the factor of each weight. distances: of positions from the centre, signed."""
        return 1.0


class LocalP(LocalM):
    """The centre is predicted from the query, and positions near it weigh more (local-p). It is a share of the source's
    length, which is not known before its end."""

    Config = LocalPConfig
    supports_wait_k = False
    mass_preservation = False

    def __init__(self, config: LocalPConfig, query_size: int, value_size: int) -> None:
        super().__init__(config, query_size, value_size)
        self.project = Linear(query_size, query_size, bias=False)
        self.position = Linear(query_size, 1, bias=False)

    def _centres(
        self, queries: Float[Tensor, "B T Q"], lengths: Int[Tensor, "B _"], steps: Int[Tensor, "B T"]
    ) -> Float[Tensor, "B T"]:
        # In float32: with the 8 bits of bfloat16, a centre among 500 positions would be wrong by up to one.
        share = self.position(torch.tanh(self.project(queries)))[..., 0].float().sigmoid()
        return (lengths - 1).clamp(min=0) * share

    def _shape(self, distances: Float[Tensor, "B T W"]) -> Float[Tensor, "B T W"]:
        # 2 sigma^2 = D^2 / 2, as sigma = D / 2.
        return torch.exp(-2 * (distances / self.window).square())
