"""What a comparison reads of a finished run's files: typed, so that a damaged or foreign file is one sentence."""

from collections.abc import Collection
from pathlib import Path
from typing import Any

from pydantic import BaseModel, Field, TypeAdapter, ValidationError

from mt.errors import UserError

Curve = dict[int, float]
"""A value at each validation, by the number of updates before it."""

_LARGEST = 1e9
"""What can still be drawn; a diverged run's values, infinite ones too, are left out."""
_RECORD = TypeAdapter(dict[str, Any])


class Search(BaseModel, frozen=True, strict=True):
    """How the test split was decoded."""

    name: str
    mode: str
    """soft or hard."""
    beam_size: int | None = None

    def __str__(self) -> str:
        """`soft, beam 5`."""
        size = f" {self.beam_size}" if self.name == "beam" and self.beam_size is not None else ""
        return f"{self.mode}, {self.name}{size}"


class Error(BaseModel, frozen=True, strict=True):
    score: float


class Results(BaseModel, frozen=True, strict=True):
    """`results.json`, as far as a table shows it. What a run does not say is None."""

    search: Search
    perplexity: float | None = None
    aer: Error | None = None
    attention: dict[str, float] | None = None
    """Its statistics; empty for an attention that uses no source."""
    training_tokens_per_second: float | None = None
    tokens_per_second: float | None = None
    """Of decoding."""
    peak_memory_mb: float | None = None
    parameters: float | None = None
    training_seconds: float | None = None

    @property
    def attends(self) -> bool:
        """Whether there is an alignment to look at."""
        return self.attention != {}

    @property
    def alignment_error_rate(self) -> float | None:
        return self.aer.score if self.aer is not None and self.attends else None


class Validation(BaseModel, frozen=True, strict=True):
    """A line of `metrics.jsonl`."""

    update: int = Field(ge=0, le=2**53)
    scores: dict[str, float]


def read_results(path: Path) -> Results:
    """Raises UserError where the file cannot be read, or holds anything else than results."""
    try:
        return Results.model_validate_json(path.read_bytes())
    except OSError as error:
        reason = error.strerror or str(error)
    except ValidationError as error:
        reason = _first(error)
    raise UserError(
        f"{path} does not hold the results of a run ({reason}): copy the run again, or leave it out of the comparison"
    )


def read_curves(path: Path, names: Collection[str]) -> dict[str, Curve]:
    """The values of these names at the validations of a `metrics.jsonl`, where they were logged.

    A run without the file has no curves. Raises UserError where a line is no record of a run.
    """
    curves: dict[str, Curve] = {}
    try:
        lines = path.read_bytes().splitlines()
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise UserError(f"{path} cannot be read ({error.strerror}): copy the run again") from None
    for number, line in enumerate(lines, start=1):
        try:
            record = _RECORD.validate_json(line)
            if record.get("kind") != "dev":
                continue
            scores = {name: record[name] for name in names if name in record}
            found = Validation.model_validate({"update": record.get("update"), "scores": scores})
        except ValidationError as error:
            raise UserError(
                f"{path}, line {number} is no record of a run ({_first(error)}): copy the run again"
            ) from None
        for name, value in found.scores.items():
            if abs(value) < _LARGEST:
                curves.setdefault(name, {})[found.update] = value
    return curves


def _first(error: ValidationError) -> str:
    """The first thing that is wrong: `search.mode: field required`."""
    first = error.errors(include_url=False, include_input=False, include_context=False)[0]
    place, message = ".".join(map(str, first["loc"])), first["msg"][0].lower() + first["msg"][1:]
    return f"{place}: {message}" if place else message
