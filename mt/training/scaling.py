"""What a loss in float16 is multiplied by, so that its gradients are numbers that float16 has."""

from typing import Annotated

import pydantic.dataclasses
from pydantic import ConfigDict, Field

from mt.parsing import MAX_COUNT

PATIENCE = 2000
"""Updates in a row with a finite gradient, after which the factor is doubled."""
LEAST, MOST = 2.0**-10, 2.0**60
"""Bounds of the factor. A gradient that float16 cannot hold even at the lower one has diverged."""


# Read from checkpoints, as `Window` and `Progress`.
@pydantic.dataclasses.dataclass(config=ConfigDict(extra="forbid", allow_inf_nan=False))
class LossScale:
    """Dynamic loss scaling (Micikevicius et al. 2018, section 3.2), with the numbers of torch.amp.GradScaler, whose
    state would be on the device, and which would ask each gradient whether it is finite: here its norm is known."""

    factor: Annotated[float, Field(ge=LEAST, le=MOST)] = 65536.0
    """Of the next update."""
    good: Annotated[int, Field(ge=0, lt=PATIENCE)] = 0
    """Updates with a finite gradient since the factor last changed."""
    left_out: Annotated[int, Field(ge=0, le=MAX_COUNT)] = 0
    """Updates without one, in the whole run."""

    @property
    def can_fall(self) -> bool:
        return self.factor / 2 >= LEAST

    def after(self, finite: bool) -> None:
        """An update. finite: whether its gradient was; it is learnt from then, else left out."""
        if not finite:
            self.factor, self.good, self.left_out = self.factor / 2, 0, self.left_out + 1
            return
        self.good += 1
        if self.good == PATIENCE:
            self.factor, self.good = min(2 * self.factor, MOST), 0

    def notice(self, update: int) -> str:
        """What to say of the first update that was left out."""
        return (
            f"update {update} was left out: float16 had no numbers for its gradient, and the loss is now multiplied by "
            f"{self.factor:g}; some such updates are usual, most of them at the beginning (this is said once)"
        )
