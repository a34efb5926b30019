"""The four verbs of an attention mechanism, and their law."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar, NamedTuple

from jaxtyping import Bool, Float
from pydantic import BaseModel
from torch import Tensor, nn

from mt.kernels.input_feeding import DotProductAttention
from mt.models.attention.memory import Memory
from mt.models.attention.windows import stacked
from mt.models.encoders import Encoded
from mt.models.opt_in import OptIn
from mt.step import Attended

State = tuple[Tensor, ...]
"""What the next step needs to know of the steps before: batch-first tensors, so that a search can reorder them."""


class AttentionStep(NamedTuple):
    """The attention of one target step."""

    context: Tensor
    """[B, V]: the weighted sum of the values."""
    attended: Attended
    """Where it attended."""
    state: State
    alpha: Tensor | None = None
    """[B, S]: see `AttentionOutput`, as of p_choose; None also of a step that gives its stop alone."""
    p_choose: Tensor | None = None


class AttentionOutput(NamedTuple):
    """The attention of all target steps."""

    contexts: Tensor  # [B, T, V]
    weights: Tensor
    """[B, T, S] float32."""
    alpha: Tensor | None = None
    """[B, T, S]: the probability that a mechanism of one position selects each; None of other mechanisms."""
    p_choose: Tensor | None = None
    """[B, T, S]: the probability that a soft monotonic mechanism stops at a position, given that it reaches it."""

    @classmethod
    def stack(cls, steps: Sequence[AttentionStep], width: int) -> "AttentionOutput":
        """Stacks single steps over sources of `width` positions."""
        return cls(*stacked(steps, width))


class Attention(OptIn, nn.Module, ABC):
    """Law: `forward(queries)[i]` equals the i-th `step` from `init_state`, for any batch.
    Built as `Class(config, query_size, value_size)`. A subclass opts into what holds of `opt_in` (see `OptIn`)."""

    opt_in = ("forward", "as_dot_product", "monotonic", "supports_wait_k")
    Config: ClassVar[type[BaseModel]]
    """The options, a frozen pydantic class whose `name` is the key in the table."""
    supports_hard: ClassVar[bool] = False
    """Whether `hard=True` is defined: decoding by decisions in place of expectations."""
    monotonic: ClassVar[bool] = False
    """Whether a hard step attends to nothing after the position where it stops, nor stops before the last stop."""
    needs_order: ClassVar[bool] = False
    """Whether it takes positions one after another, as those of a picture do not come."""
    chunk_size: int | None = None
    """How many positions up to its stop a hard step attends to; None: one, or no fixed number."""
    max_source_length: int | None = None
    """Most source positions, EOS included, that it is defined for; None: any number."""
    supports_wait_k: ClassVar[bool] = False
    """Whether it respects `Memory.visible_from`, and depends on nothing of the source that is not visible."""
    uses_source: bool = True
    """Whether contexts depend on the source at all."""
    data_dependent_loop: ClassVar[bool] = False
    """Whether how often a step loops over positions depends on the source, so that no fixed graph is the step."""
    learns_weights: ClassVar[bool] = True
    """Whether its weights can be trained."""
    mass_preservation: bool = True
    """Whether the weights of each step sum to 1, but for rounding; else to less, and copying generates the rest."""

    @abstractmethod
    def init_memory(self, encoded: Encoded) -> Memory:
        """Projects the keys, once per source."""

    def init_state(self, memory: Memory, *, hard: bool = False) -> State:
        """Returns the state before the first target step. hard: whether the steps are."""
        return ()

    @abstractmethod
    def step(self, query: Float[Tensor, "B Q"], memory: Memory, state: State, *, hard: bool = False) -> AttentionStep:
        """Takes one target step. `hard` is legal where `supports_hard`."""

    def forward(self, queries: Float[Tensor, "B T Q"], memory: Memory, *, hard: bool = False) -> AttentionOutput:
        """Takes all target steps. This default is the law itself; an override is only faster."""
        state = self.init_state(memory, hard=hard)
        steps = []
        for query in queries.unbind(1):
            steps.append(self.step(query, memory, state, hard=hard))
            state = steps[-1].state
        return AttentionOutput.stack(steps, memory.mask.shape[1])

    def as_dot_product(self, memory: Memory, steps: int) -> DotProductAttention | None:
        """Returns a softmax over dot products, whose gradient a decoder can compute itself; None of others."""
        return None

    def first_needed(self, state: State) -> Sequence[int] | None:
        """Returns the first position that hard steps from `state` on can use, of each row; None where it is any."""
        return None

    def weights_for_loss(self, output: AttentionOutput) -> Float[Tensor, "B T S"]:
        """Returns the weights that a loss on them differentiates: those of the contexts, unless it samples."""
        return output.weights

    def auxiliary_loss(
        self,
        output: AttentionOutput,
        losses: Float[Tensor, "B T"],
        source_mask: Bool[Tensor, "B S"],
        target_mask: Bool[Tensor, "B T"],
    ) -> Float[Tensor, ""] | None:
        """Returns what training minimises besides the cross entropy, in nats summed over the batch; None for nothing.
        losses: the cross entropy of each target token, 0 on padding, without a gradient."""
        return None

    def after_update(self, loss: float) -> None:
        """Runs after each update in training. loss: mean cross entropy of all its tokens, without smoothing."""
