"""The log of simultaneous decoding that the field's tools exchange: `instances.log` of SimulEval 1.1.4, a JSON object
for each sentence, with `config.yaml` beside it. `simuleval --score-only` and OmniSTEval read what is written here."""

import json
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path

from pydantic import BaseModel, Field, ValidationError

from mt.errors import UserError
from mt.metrics.latency import LatencyUnit, Timing, latency
from mt.metrics.score import Score
from mt.storage import write_text
from mt.text_io import file_lines

LOG = "instances.log"

Count = Callable[[str], int]
"""The length of a reference."""


class Instance(BaseModel, frozen=True, strict=True):
    """A line of the log."""

    index: int = Field(ge=0)
    prediction: str
    """Detokenised."""
    delays: tuple[int | float, ...]
    """For each target word, character or subword what had been read of the source: words of text, or ms of speech."""
    reference: str | None
    """A raw line, its newline included as SimulEval has it."""
    source: str | list[str] = ""
    source_length: int | float = Field(ge=0, allow_inf_nan=False)
    """As the delays: words between blanks, or ms."""
    prediction_spm: tuple[str, ...] | None = None
    """The subwords, where they are what is counted."""

    speech: bool = False
    """Whether it is of speech, where that is known."""

    def units(self, unit: LatencyUnit) -> int:
        """The length of the prediction."""
        if unit == "subword":
            return -1 if self.prediction_spm is None else len(self.prediction_spm)
        return len(self.prediction.split()) if unit == "word" else len("".join(self.prediction.split()))

    def line(self) -> str:
        """As SimulEval writes it. Nothing is said of the time that computing took: `elapsed` is 0 for text, and the
        delays for speech, as if computing took none."""
        plain = {
            "index": self.index,
            "prediction": self.prediction,
            "delays": self.delays,
            "elapsed": self.delays if self.speech else [0] * len(self.delays),
            "prediction_length": len(self.delays),
            "reference": self.reference,
            "source": self.source,
            "source_length": self.source_length,
        }
        return json.dumps(plain if self.prediction_spm is None else plain | {"prediction_spm": self.prediction_spm})


def write_log(folder: Path, instances: Sequence[Instance]) -> None:
    """Writes `instances.log` and `config.yaml`."""
    source = "speech" if any(instance.speech for instance in instances) else "text"
    write_text(folder / LOG, [instance.line() for instance in instances])
    write_text(folder / "config.yaml", [f"source_type: {source}", "target_type: text"])


def read_log(path: Path, unit: LatencyUnit = "word") -> list[Instance]:
    """The sentences of a log, of ours or of SimulEval's, in the order of their lines.

    Raises UserError where it cannot be read, or a line is none of such a log, with its number.
    """
    instances: dict[int, Instance] = {}
    for number, line in enumerate(file_lines(path, pipes=True), start=1):
        try:
            instance = Instance.model_validate_json(line)
            wrong = _wrong(instance, unit) or (instance.index in instances and f"index {instance.index} is there twice")
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False, include_context=False)[0]
            place = ".".join(str(part) for part in first["loc"][:2])
            wrong = f"{place + ': ' if place else ''}{first['msg'][0].lower()}{first['msg'][1:]}"
        if wrong:
            raise UserError(
                f"{path}, line {number} is no line of an {LOG} ({wrong}): give a log as SimulEval writes it"
            )
        instances[instance.index] = instance
    if not instances:
        raise UserError(f"{path} is empty: give a log as SimulEval writes it, one sentence a line")
    return [*instances.values()]


def _wrong(instance: Instance, unit: LatencyUnit) -> str | None:
    """What speaks against a line whose values are of the right types."""
    delays = instance.delays
    units = instance.units(unit)
    if units < 0:
        return "it has no prediction_spm: it counts words or characters, not subwords"
    if len(delays) != units:
        return f"it has {len(delays)} delays for {units} {unit}s: it is damaged, or counts in another unit"
    finite = all(0 <= delay < float("inf") for delay in delays)
    if not finite or any(after < before for before, after in pairwise(delays)):
        return "its delays do not rise from 0"
    return "its source is empty, but its prediction is not" if delays and not instance.source_length else None


def score_latency(
    instances: Sequence[Instance], unit: LatencyUnit = "word", *, subwords: Count = len, reference_length: bool = True
) -> dict[str, Score]:
    """The latency of a log, by the lengths that SimulEval and OmniSTEval give to its references.

    subwords: counts those of a reference, for that unit. The rest as in `mt.metrics.latency.latency`.
    """
    # A word more for every further blank in a row, and one in an empty line: so do both. Blanks are characters.
    counts: dict[LatencyUnit, Count] = {
        "word": lambda text: len(text.split(" ")),
        "char": lambda text: len(text.strip()),
        "subword": subwords,
    }
    count = counts[unit]
    timings = [
        Timing(i.delays, i.source_length, None, None)
        if i.reference is None
        else Timing(i.delays, i.source_length, count(i.reference), count(i.reference.strip()))
        for i in instances
    ]
    speech = any(instance.speech for instance in instances)
    return latency(timings, unit=unit, source="ms" if speech else "word", reference_length=reference_length)
