"""Where examples come from: what splits are called, the hub, recordings of single digits."""

from typing import Annotated, Self

from pydantic import Field, model_validator

from mt.common.options import MAX_SIZE, Options
from mt.errors import UserError

Digits = Annotated[int, Field(ge=1, le=100)]
Seconds = Annotated[float, Field(ge=0, le=10)]


class SplitNames(Options):
    """What a source of text calls its three splits."""

    train: str = "train"
    dev: str = "dev"
    test: str | None = "test"
    """null: there is none, and results are of dev."""

    def __getitem__(self, split: str) -> str:
        return {"train": self.train, "dev": self.dev, "test": self.test or ""}[split]


class HubConfig(Options):
    """A dataset of the Hugging Face hub, or a local copy of its repository."""

    id: str = ""
    """`owner/name`."""
    config: str | None = None
    """The subset (a language pair, a version), which is the folder of its tables in the repository; null: no folder.
    `{source}` and `{target}` stand for the two languages, tried in both orders."""
    revision: str = "main"
    """Branch, tag or commit. A commit makes the data reproducible; `refs/convert/parquet` has the hub's own conversion
    of a repository that is a program, which `datasets` runs no more."""
    splits: SplitNames = SplitNames(dev="validation")
    """The splits' names on the hub, or parts of them: `train[:-1000]`, `train[-1000:]`, `train[:90%]`."""


class MixedConfig(Options):
    """A further corpus to train on."""

    folder: str = Field(min_length=1, max_length=4000)
    """As `dataset.folder`; its train alone is read."""
    train: str = "train"
    """What its files are called before the ending."""
    weight: float = Field(default=1.0, gt=0, le=1_000)
    """How often each of its pairs comes in an epoch, on the average; see `dataset.weight`."""


class DigitsConfig(Options):
    """Which recordings make dev and test, and how strings are drawn from them; see `data_prep.sources.digits`."""

    lengths: tuple[Digits, Digits] = (3, 7)
    """Fewest and most digits of a string."""
    gaps: tuple[Seconds, Seconds] = (0.05, 0.4)
    """Shortest and longest quiet between two digits, in seconds; before the first and after the last, none to the
    longest."""
    singles: float = Field(default=0.5, ge=0, le=1)
    """Share of the strings to train on that are of one digit: from those one learns soon what each sounds like."""
    train: int | None = Field(default=9_000, ge=1, le=MAX_SIZE)
    """Strings to train on; null: each recording is used once."""
    dev: int | None = Field(default=300, ge=1, le=MAX_SIZE)
    """Strings of dev, likewise."""
    test: int | None = Field(default=600, ge=1, le=MAX_SIZE)
    """Strings of test, likewise."""
    test_recordings: int = Field(default=5, ge=1, le=1_000)
    """Recordings of each digit by each speaker that are test's alone: those of the lowest indices (in the whole Free
    Spoken Digit Dataset 0 to 4, its official split)."""
    dev_recordings: int = Field(default=3, ge=1, le=1_000)
    """Recordings, likewise, that are dev's alone: those of the next indices."""
    held_out: str | None = Field(default=None, min_length=1, max_length=100)
    """A speaker of whom all recordings are test's, and the others' none."""
    seed: int = Field(default=1, ge=0, lt=1 << 63)
    """The seed of the draws by which recordings are joined."""

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        for name in ("lengths", "gaps"):
            first, last = getattr(self, name)
            if first > last:
                raise UserError(f"dataset.digits.{name}=[{first:g},{last:g}] begins above its end: turn it round")
        return self
