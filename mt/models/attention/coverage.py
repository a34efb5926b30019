"""Coverage: the attention that each position has had so far joins the additive energy, so that an output repeats and
omits less (See et al. 2017; Tu et al. 2016, section 3.1.2, linguistic coverage of a fertility of 1).

    c_i = sum over t < i of a_t,   e_ij = v . tanh(W s_i + U h_j + w c_ij + b)    (See et al. 2017, equations 10 and 11)

The energies of a step depend on the weights of all steps before, so that steps are taken one after another in training,
too. Each step keeps the hidden units [B, S, H] of its keys for the backward pass. The paper trains it with the loss of
`coverage_weight`.
"""

from typing import Literal

from jaxtyping import Float
from torch import Tensor

from mt.kernels.linear import Linear
from mt.kernels.sequences import masked_softmax
from mt.models.attention.base import Attention, AttentionStep, Memory, State
from mt.models.attention.energy import Concat, ConcatConfig
from mt.models.encoders.base import Encoded
from mt.step import Attended


class CoverageConfig(ConcatConfig):
    name: Literal["coverage"] = "coverage"  # type: ignore[assignment]


class Coverage(Attention):
    Config = CoverageConfig

    def __init__(self, config: CoverageConfig, query_size: int, value_size: int) -> None:
        super().__init__()
        # Named as in bahdanau, so that a run can start from one of that (`init_from`).
        self.energy = Concat(config, query_size, value_size)
        self.project_coverage = Linear(1, config.attention_dim)

    def init_memory(self, encoded: Encoded) -> Memory:
        return Memory((self.energy.keys(encoded),), encoded.values, encoded.mask)

    def init_state(self, memory: Memory, *, hard: bool = False) -> State:
        """Returns the coverage, [B, S]: the sum of the weights of the steps before."""
        return (memory.mask.new_zeros(memory.mask.shape).float(),)

    def step(self, query: Float[Tensor, "B Q"], memory: Memory, state: State, *, hard: bool = False) -> AttentionStep:
        # The coverage of each position joins its key, [B, S, A].
        (coverage,) = state
        keys = memory.keys[0] + self.project_coverage(coverage[..., None])
        weights = masked_softmax(self.energy(query[:, None], keys), memory.mask[:, None])  # [B, 1, S]
        return AttentionStep(memory.contexts(weights)[:, 0], Attended(weights[:, 0]), (coverage + weights[:, 0],))
