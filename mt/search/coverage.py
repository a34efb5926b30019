"""Coverage and summary penalties: costs of attending too little to some source positions, or too much. Needs no torch.

With c_i the attention that a hypothesis Y of a source X has given to position i in all its steps,

    score(Y) = log P(Y | X) / length penalty + b_1 sum over i of log min(c_i, 1) - b_2 sum over i of max(c_i - 1, 0)

b_1 weighs the coverage penalty of Wu et al. (2016, equation 14), which only a complete hypothesis pays: an active one
may still say what it has left out. b_2 weighs the `summary` penalty of OpenNMT (Klein et al. 2017; its
`stepwise_penalty`), which can only rise. So active hypotheses pay it, too, and those that repeat themselves leave the
beam.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from mt.common.options import as_written
from mt.errors import UserError
from mt.search.hypothesis import on_host
from mt.step import Attended

_LEAST = float(np.finfo(np.float32).tiny)
"""The attention that a position without any counts as, so that its logarithm is finite."""


class Penalties(NamedTuple):
    """The weights of both penalties."""

    coverage: float = 0.0
    """b_1."""
    summary: float = 0.0
    """b_2."""

    def require_readable(self, *, hard: bool, uses_source: bool = True) -> None:
        """Raises UserError where the attention, which reads hard or soft, has nothing that these could weigh."""
        if self.coverage and hard:
            raise UserError(
                f"{as_written('search.coverage_penalty', f'{self.coverage:g}')} is of attention that gives each "
                "position some weight, and a hard one gives most of them none: choose "
                f"{as_written('search.mode', 'soft')}, or leave it out"
            )
        if any(self) and not uses_source:
            option, value = next((option, value) for option, value in self._asdict().items() if value)
            raise UserError(
                f"{as_written(f'search.{option}_penalty', f'{value:g}')} weighs what was attended to, and "
                "attention=none attends to nothing: leave it out"
            )


class Coverage(NamedTuple):
    """The attention that N hypotheses have given to each position so far."""

    penalties: Penalties
    received: np.ndarray
    """[N, S] float64; 1 on padding, which costs nothing."""

    @classmethod
    def before(cls, penalties: Penalties, positions: Sequence[int]) -> "Coverage":
        """Returns the coverage before the first step, when each source has one hypothesis.

        positions: how many positions the attention sees in each source.
        """
        return cls(penalties, (np.arange(max(positions)) >= np.array(positions)[:, None]).astype(np.float64))

    def after(self, parents: list[int], attended: Attended) -> "Coverage":
        """Returns the coverage of hypotheses that continue `parents`, after one more step."""
        received = self.received[parents]
        weights = on_host(attended.weights)
        if attended.first is None:
            # Column j of the weights is position j. They may be wider or narrower than the longest source.
            weights = weights[:, : received.shape[1]]
            received[:, : weights.shape[1]] += weights
        else:
            columns = attended.first[:, None] + np.arange(weights.shape[1])
            lines = np.arange(len(parents))[:, None]
            # Not `+=`, which would add only once where the clip has made columns equal.
            np.add.at(received, (lines, columns.clip(0, received.shape[1] - 1)), weights)  # beyond the end 0
        return Coverage(self.penalties, received)

    def costs(self) -> "Costs":
        """Returns the costs of each hypothesis."""
        if_active = self.penalties.summary * np.maximum(self.received - 1, 0).sum(1)
        # A complete hypothesis can attend to nothing more, so that it pays for what it left out.
        missing = -np.log(self.received.clip(_LEAST, 1)).sum(1)
        return Costs(if_active.tolist(), (if_active + self.penalties.coverage * missing).tolist())


class Costs(NamedTuple):
    """The costs of N hypotheses: they are taken from scores that are divided by the length penalty."""

    if_active: list[float]
    """[N]: what each pays while it is active; a longer one pays at least as much."""
    if_finished: list[float]
    """[N]: what each pays when it is finished."""
