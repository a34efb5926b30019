"""The log of simultaneous decoding that the field's tools exchange: `instances.log` of SimulEval 1.1.4, a JSON object
for each sentence, with `config.yaml` beside it. `simuleval --score-only` and OmniSTEval read what is written here."""

import json
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path

from pydantic import BaseModel, Field, ValidationError

from mt.common.options import first_fault
from mt.errors import UserError
from mt.metrics.latency import LatencyUnit, Timing, latency
from mt.metrics.score import Score
from mt.storage import write_text
from mt.text_io import file_lines

LOG = "instances.log"

Measure = Callable[[str], int]
"""Returns the length of a reference."""


class Instance(BaseModel, frozen=True, strict=True):
    """A line of the log."""

    index: int = Field(ge=0)
    prediction: str
    """The hypothesis, detokenised."""
    delays: tuple[int | float, ...]
    """How much of the source had been read before each target word, character or subword: words of text, ms of
    speech."""
    reference: str | None
    """The raw line, with its newline, as SimulEval has it."""
    source: str | list[str] = ""
    source_length: int | float = Field(ge=0, allow_inf_nan=False)
    """The length of the source in the unit of the delays: words between blanks, or ms."""
    prediction_spm: tuple[str, ...] | None = None
    """The subwords of the prediction, where they are counted."""
    speech: bool = False
    """Whether the source is known to be speech."""

    def units(self, unit: LatencyUnit) -> int:
        """Returns the length of the prediction; -1 where it is not known."""
        if unit == "subword":
            return -1 if self.prediction_spm is None else len(self.prediction_spm)
        return len(self.prediction.split()) if unit == "word" else len("".join(self.prediction.split()))

    def line(self) -> str:
        """Writes the line as SimulEval does. The time that computing took is left out: `elapsed` is 0 for text, and the
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
    """Reads the sentences of a log, of ours or of SimulEval's, in the order of their lines.

    Raises UserError where it cannot be read, or a line is none of such a log, with its number.
    """
    instances: dict[int, Instance] = {}
    for number, line in enumerate(file_lines(path, pipes=True), start=1):
        try:
            instance = Instance.model_validate_json(line)
            wrong = _fault(instance, unit) or (instance.index in instances and f"index {instance.index} is there twice")
        except ValidationError as error:
            wrong = first_fault(error, depth=2)
        if wrong:
            raise UserError(
                f"{path}, line {number} is no line of an {LOG} ({wrong}): give a log as SimulEval writes it"
            )
        instances[instance.index] = instance
    if not instances:
        raise UserError(f"{path} is empty: give a log as SimulEval writes it, one sentence a line")
    return [*instances.values()]


def _fault(instance: Instance, unit: LatencyUnit) -> str | None:
    """Returns what is wrong with a line whose values are of the right types; None where nothing is."""
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
    instances: Sequence[Instance], unit: LatencyUnit = "word", *, subwords: Measure = len, reference_length: bool = True
) -> dict[str, Score]:
    """Computes the latency of a log, with the lengths that SimulEval and OmniSTEval give to its references.

    subwords: counts those of a reference, for the unit `subword`. The other arguments are those of
    `mt.metrics.latency.latency`.
    """
    # A word more for every further blank in a row, and one in an empty line: so do both. Blanks are characters.
    measures: dict[LatencyUnit, Measure] = {
        "word": lambda text: len(text.split(" ")),
        "char": lambda text: len(text.strip()),
        "subword": subwords,
    }
    length = measures[unit]
    timings = [
        Timing(i.delays, i.source_length, None, None)
        if i.reference is None
        else Timing(i.delays, i.source_length, length(i.reference), length(i.reference.strip()))
        for i in instances
    ]
    speech = any(instance.speech for instance in instances)
    return latency(timings, unit=unit, source="ms" if speech else "word", reference_length=reference_length)
