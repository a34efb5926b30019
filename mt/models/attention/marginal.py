"""Exact hard attention: each token is predicted from one position, and the sum over all alignments is computed (Wu,
Shapiro & Cotterell 2018, "Hard non-monotonic attention for character-level transduction"; Wu & Cotterell 2019, "Exact
hard monotonic attention for character-level transduction").

    p(y | x) = sum over a of the product over t of  p(a_t | a_{t-1}, y_<t, x) p(y_t | a_t, y_<t, x)

A prediction is a mixture of the predictions of all positions, not the prediction of a mixture of their values. The
forward algorithm sums in logarithms, with all mass on the first position before the first token:

    g_t(s) = logsumexp over s' of (f_{t-1}(s') + log p(a_t = s | a_{t-1} = s'))
    log p(y_t | y_<t, x) = logsumexp over s of (g_t(s) + log p(y_t | s)) - logsumexp over s of g_t(s)
    f_t(s) = g_t(s) + log p(y_t | s)

The four models differ in p(a_t = s | a_{t-1} = s'):

    order 0 (0-HARD)             alpha_t(s), the softmax of the energies, whatever s' is
    order 0, monotonic (0-MONO)  alpha_t(s) for s >= s', divided by its sum over these
    order 1 (1-HARD)             softmax over the offsets s - s' from -w to w of U q_t + U' v_{s'}
    order 1, monotonic (1-MONO)  the same over the offsets from 0 to w

U' stands for the paper's product of two matrices, which has no other values. Positions may be kept and skipped.
"""

from typing import Annotated, Any, ClassVar, Literal

import torch
from jaxtyping import Bool, Float, Int
from pydantic import Field
from torch import Tensor
from torch.nn.functional import pad

from mt.common.options import MAX_SIZE
from mt.kernels.linear import Linear
from mt.kernels.precision import log_cumulated, result_dtype
from mt.kernels.sequences import shift_left, shift_right
from mt.models.attention.base import Attention, AttentionOutput, AttentionStep, Memory, State
from mt.models.attention.energy import EnergyConfig, GeneralConfig, Scaled, build_energy
from mt.models.attention.global_ import ScaledConfig
from mt.models.encoders.base import Encoded

NEVER = -1e30
"""The logarithm of 0. Its exponential is 0 as that of -inf is, and no difference of two of them is NaN."""


class MarginalConfig(ScaledConfig):
    name: Literal["marginal"] = "marginal"
    order: Literal[0, 1] = 0
    """0: a position is chosen by its energy (Wu et al. 2018; with `monotonic` Wu & Cotterell 2019, section 3). 1: it is
    chosen by how far it is from the position of the token before (Wu & Cotterell 2019, section 3)."""
    monotonic: bool = True
    """Whether no position comes before that of the token before, as for the sounds of letters. Positions may be kept
    and skipped."""
    energy: EnergyConfig = GeneralConfig()
    """The energy of a position, with order=0 (Wu et al. 2018: general)."""
    window: Annotated[int, "positions"] = Field(4, gt=0, le=MAX_SIZE)
    """w, the most positions between those of two neighbouring tokens, with order=1 (Wu & Cotterell 2019: 4)."""


class Marginal(Attention):
    """Its state is log f_t, [B, S], up to a constant, and the number of steps so far, [B] int64."""

    Config = MarginalConfig
    needs_order: ClassVar[bool] = True
    supports_wait_k: ClassVar[bool] = True
    mixes_predictions: ClassVar[bool] = True

    def __init__(self, config: MarginalConfig, query_size: int, value_size: int) -> None:
        super().__init__()
        self.monotonic_alignment = config.monotonic
        self.offsets = range(0 if config.monotonic else -config.window, config.window + 1)
        # Order 0 scores positions by an energy, order 1 offsets by two linear layers.
        self.energy: Any = None
        if config.order == 0:
            energy = build_energy(config.energy, query_size, value_size, normalized=config.scaled)
            self.max_source_length = energy.max_source_length
            self.energy = Scaled(energy) if config.scaled else energy
        else:
            self.offset_of_query = Linear(query_size, len(self.offsets))
            self.offset_of_value = Linear(value_size, len(self.offsets), bias=False)

    def init_memory(self, encoded: Encoded) -> Memory:
        keys = self.offset_of_value(encoded.values) if self.energy is None else self.energy.keys(encoded)
        return Memory((keys,), encoded.values, encoded.mask)

    def init_state(self, memory: Memory, *, hard: bool = False) -> State:
        steps = memory.mask.new_zeros(len(memory.mask), dtype=torch.int64)
        return torch.zeros_like(memory.mask, dtype=result_dtype(memory.keys[0])), steps

    def observe(self, state: State, log_likelihoods: Float[Tensor, "B S"]) -> State:
        return state[0] + log_likelihoods, state[1]

    def step(self, query: Float[Tensor, "B Q"], memory: Memory, state: State, *, hard: bool = False) -> AttentionStep:
        log_forward, steps = state
        # The source may have grown since the step before.
        log_forward = pad(log_forward, (0, memory.mask.shape[1] - log_forward.shape[1]), value=NEVER)
        output = self._attend(query[:, None], memory, log_forward, steps[:, None])
        assert output.log_weights is not None
        return output.only_step((output.log_weights[:, 0], steps + 1))

    def forward(
        self,
        queries: Float[Tensor, "B T Q"],
        memory: Memory,
        *,
        hard: bool = False,
        log_likelihoods: Float[Tensor, "B T S"] | None = None,
    ) -> AttentionOutput:
        steps = torch.arange(queries.shape[1], device=queries.device).expand(queries.shape[:2])  # [B, T]
        return self._attend(queries, memory, self.init_state(memory)[0], steps, log_likelihoods)

    def _attend(
        self,
        queries: Float[Tensor, "B T Q"],
        memory: Memory,
        log_forward: Float[Tensor, "B S"],
        steps: Int[Tensor, "B T"],
        log_likelihoods: Float[Tensor, "B T S"] | None = None,
    ) -> AttentionOutput:
        """Attends with the queries of some steps. log_forward: log f before the first of them. steps: their
        numbers."""
        # Before the first token all mass is on the first position, later on those that the step before could see.
        first = steps[:, :1]
        begin = torch.arange(memory.mask.shape[1], device=first.device) == 0  # [S]
        came = (first == 0) & begin | (first > 0) & memory.visible(first - 1)[:, 0]
        log_forward = log_forward.masked_fill(~came, NEVER)
        # The alignment of each step, by the tokens before it.
        visible = memory.visible(steps)  # [B, T or 1, S]
        transitions = self._transitions(queries, memory, visible)
        log_weights = self._forward_algorithm(transitions, log_forward, log_likelihoods)
        # A step that sees no position has a softmax that is even over those that it does not see.
        weights = log_weights.exp().masked_fill(~visible, 0.0)
        output = AttentionOutput(memory.contexts(weights), weights, log_weights=log_weights)
        if log_likelihoods is None or self.training:
            return output
        # And by all tokens: the gradient of log p(y | x) in the log-likelihoods of the tokens. Copies can have one,
        # also of what a caller computes in inference mode.
        with torch.inference_mode(False), torch.enable_grad():
            variable = log_likelihoods.detach().clone().requires_grad_()
            moves, before = (tensor.detach().clone() for tensor in (transitions, log_forward))
            log_joint = self._forward_algorithm(moves, before, variable) + variable
            (posterior,) = torch.autograd.grad(log_joint.logsumexp(-1).sum(), variable)
        return output._replace(posterior=posterior)

    def _forward_algorithm(
        self, transitions: Tensor, log_forward: Float[Tensor, "B S"], log_likelihoods: Float[Tensor, "B T S"] | None
    ) -> Float[Tensor, "B T S"]:
        """Returns the logarithms of p(a_t = s | y_<t, x): g_t, normalised. transitions: see `_transitions`."""
        log_weights = []
        for step, of_step in enumerate(transitions.unbind(1)):
            # Normalised at each step, or the sums of likelihoods grow with T; a sum of NEVER is one again.
            log_weights.append(self._advanced(log_forward, of_step).log_softmax(-1).clamp(min=NEVER))
            log_forward = log_weights[-1] if log_likelihoods is None else log_weights[-1] + log_likelihoods[:, step]
        return torch.stack(log_weights, 1)

    def _transitions(self, queries: Float[Tensor, "B T Q"], memory: Memory, visible: Bool[Tensor, "B _ S"]) -> Tensor:
        """Returns log alpha, [B, T, S]; or of order 1, for each position and offset, the logarithm of the probability
        of arriving there by that offset, [B, T, S, W]."""
        keys = memory.keys[0]
        if self.energy is not None:
            energies = self.energy(queries, keys)
            return energies.to(result_dtype(energies)).masked_fill(~visible, NEVER).log_softmax(-1)
        scores = self.offset_of_query(queries)[:, :, None] + keys[:, None]  # [B, T, S, W]
        # From each position, the offsets that lead to a visible one.
        allowed = torch.stack([_moved(visible.float(), -offset) for offset in self.offsets], -1) > 0
        log_probs = scores.to(result_dtype(scores)).masked_fill(~allowed, NEVER).log_softmax(-1)
        return _each_moved(log_probs, self.offsets)

    def _advanced(self, log_forward: Float[Tensor, "B S"], transitions: Tensor) -> Float[Tensor, "B S"]:
        """Returns log g of a step. transitions: of the step, see `_transitions`."""
        if self.energy is None:
            arriving = _each_moved(log_forward[..., None].expand_as(transitions), self.offsets) + transitions
            return arriving.logsumexp(-1)
        if not self.monotonic_alignment:
            return transitions
        # The share of alpha that is left from a position on divides what comes from it.
        left = log_cumulated(transitions.flip(-1)).flip(-1)
        # On padding both are NEVER: their difference would be 0, a probability of 1.
        divided = torch.where(log_forward > NEVER / 2, log_forward - left, NEVER)
        return transitions + log_cumulated(divided)


def _moved(values: Float[Tensor, "*B S"], offset: int, fill: float = 0.0) -> Float[Tensor, "*B S"]:
    """Returns the values of positions `offset` positions further right."""
    return shift_right(values, offset, fill) if offset >= 0 else shift_left(values, -offset, fill)


def _each_moved(values: Float[Tensor, "*B S W"], offsets: range) -> Float[Tensor, "*B S W"]:
    """Returns the values of each offset at the positions that it leads to; the logarithm of 0 where nothing comes."""
    pairs = zip(values.unbind(-1), offsets, strict=True)
    return torch.stack([_moved(of_offset, offset, NEVER) for of_offset, offset in pairs], -1)
