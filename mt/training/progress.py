"""How far a training is: what a checkpoint keeps of it besides weights, moments and random generators.

It is read from checkpoints, so what they hold is checked. (Strict parsing would take no mapping for a part of it.)
"""

from dataclasses import field
from itertools import pairwise
from typing import Annotated

import pydantic.dataclasses
from pydantic import ConfigDict, Field

from mt.common.options import MAX_COUNT
from mt.metrics.score import without_mode
from mt.training.scaling import LossScale
from mt.training.update import Update

Count = Annotated[int, Field(ge=0, le=MAX_COUNT)]
Score = Annotated[float, Field(allow_inf_nan=True)]


@pydantic.dataclasses.dataclass(config=ConfigDict(extra="forbid", allow_inf_nan=False))
class LogWindow:
    """Sums over the updates since the last line of the log."""

    updates: Count = 0
    """Updates that changed the weights; see `LossScale`."""
    tokens: Count = 0
    loss: float = 0.0
    """Sum over all tokens, in nats, as are the next two."""
    smoothed_loss: float = 0.0
    auxiliary_loss: float = 0.0
    gradient_norm: float = 0.0
    """Sum over the updates that changed the weights."""
    seconds: Annotated[float, Field(ge=0)] = 0.0

    def add(self, update: Update, seconds: float) -> None:
        """Counts one update, which took so many seconds."""
        self.tokens += update.tokens
        self.loss += update.loss * update.tokens
        self.smoothed_loss += update.smoothed_loss * update.tokens
        self.auxiliary_loss += update.auxiliary_loss * update.tokens
        if not update.left_out:
            self.updates += 1
            self.gradient_norm += update.gradient_norm
        self.seconds += seconds

    def means(self) -> dict[str, float]:
        """Returns the means of losses over tokens (one at least) and of norms over updates, and the speed."""
        return {
            "loss": self.loss / self.tokens,
            "smoothed_loss": self.smoothed_loss / self.tokens,
            "auxiliary_loss": self.auxiliary_loss / self.tokens,
            "gradient_norm": self.gradient_norm / max(self.updates, 1),
            "tokens_per_second": self.tokens / max(self.seconds, 1e-9),
        }


@pydantic.dataclasses.dataclass(config=ConfigDict(strict=True, extra="forbid", allow_inf_nan=False))
class Progress:
    """How far a run is: with the weights, the optimizer and the random state, all that resuming needs."""

    update: Count = 0
    epoch: Annotated[int, Field(ge=1, le=MAX_COUNT)] = 1
    position: Count = 0
    """Updates done in this epoch."""
    tokens: Count = 0
    """Target tokens learnt from."""
    seconds: Annotated[float, Field(ge=0)] = 0.0
    """Spent in updates."""
    window: LogWindow = field(default_factory=LogWindow)
    last_speed: Annotated[float, Field(ge=0)] = 0.0
    """Target tokens a second between the last two lines of the log."""
    validation_due: bool = False
    """Whether the run stopped after its last update and before the validation that was due."""
    validations: list[Count] = field(default_factory=list)
    """The updates after which there was a validation."""
    best: dict[str, Score] | None = None
    """All scores of the best validation, or of the average of weights where that is better."""
    bad_validations: Annotated[list[Count], Field(min_length=1)] = field(default_factory=lambda: [0])
    """Lengths of the runs of validations without a new best; the last run is the present one."""
    loss_scale: LossScale | None = None
    """The loss scale of a run in float16, from its first update on; None in other precisions."""

    def advance(self, update: Update) -> None:
        """Counts an update that was made."""
        self.update += 1
        self.position += 1
        self.tokens += update.tokens

    def next_epoch(self) -> None:
        """Goes on to the first update of the next epoch."""
        self.epoch += 1
        self.position = 0

    @property
    def best_update(self) -> int | None:
        """Returns the update whose validation was the best so far."""
        return self.validations[-1 - self.bad_validations[-1]] if self.validations else None

    def fault(self, metric: str) -> str | None:
        """Says where the parts contradict one another; None where they do not. metric: chooses the best validation."""
        ordered = all(earlier < later for earlier, later in pairwise([-1, *self.validations, self.update + 1]))
        if not ordered or self.position > self.update:
            return "updates out of order"
        if (self.best is None) != (not self.validations) or self.bad_validations[-1] >= max(1, len(self.validations)):
            return "validations that do not add up"
        if self.best is not None and not {metric, "loss" + metric.removeprefix(without_mode(metric))} <= set(self.best):
            return f"a best validation without {metric} or loss"
        return None
