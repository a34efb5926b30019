"""What a comparison reads of a finished run's files: typed, so that a damaged or foreign file is one sentence."""

import re
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, Field, TypeAdapter, ValidationError, model_validator

from mt.common.input_files import open_regular, read_bytes
from mt.errors import UserError
from mt.text_io import byte_lines

Curve = dict[int, float]
"""A value at each validation, by the number of updates before it."""

_LARGEST = 1e9
"""What can still be drawn; a diverged run's values, infinite ones too, are left out."""
_RECORD = TypeAdapter(dict[str, Any])
LATENCIES = {"ap": "AP", "al": "AL", "laal": "LAAL", "dal": "DAL", "yaal": "YAAL"}
"""The measures of latency, by their names in `results.json`, with their headings in a table."""
_UNIT = re.compile(r"\bunit:(\w+)")


class Search(BaseModel, frozen=True, strict=True, extra="allow"):
    """How the split was decoded, with all options of the search."""

    name: str
    mode: str
    """soft or hard."""
    beam_size: int | None = None
    k: int | None = None
    """Of wait-k."""

    def __str__(self) -> str:
        """`soft, beam 5`, `soft, wait_k 3`."""
        size = {"beam": self.beam_size, "wait_k": self.k}.get(self.name)
        return f"{self.mode}, {self.name}{'' if size is None else f' {size}'}"


class Score(BaseModel, frozen=True, strict=True):
    score: float
    signature: str = ""


class Results(BaseModel, frozen=True, strict=True):
    """`results.json`, as far as a table shows it. What a run does not say is None."""

    split: Literal["test", "dev"] = "test"
    """What was decoded: dev where the data have no test split."""
    search: Search
    scores: dict[str, Score] = {}
    """Of the metrics, and of latency where it was decoded online, by their keys."""
    perplexity: float | None = None
    aer: Score | None = None
    attention: dict[str, float] | None = None
    """Its statistics; empty for an attention that uses no source."""
    training_tokens_per_second: float | None = None
    tokens_per_second: float | None = None
    """Of decoding."""
    peak_memory_mb: float | None = None
    parameters: float | None = None
    training_seconds: float | None = None

    @model_validator(mode="before")
    @classmethod
    def _with_scores(cls, plain: Any) -> Any:
        """What has a score stands beside all else in the file, under keys that only metrics know."""
        if not isinstance(plain, dict):
            return plain
        return plain | {"scores": {key: value for key, value in plain.items() if _is_score(value)}}

    @property
    def latency(self) -> dict[str, float]:
        """Its measures, by their keys; empty unless decoded online."""
        return {key: self.scores[key].score for key in LATENCIES if key in self.scores}

    @property
    def latency_unit(self) -> str:
        """What of the target latency was counted in: `word`, or `token` where the signature does not say."""
        found = (_UNIT.search(self.scores[key].signature) for key in self.latency)
        return next((match[1] for match in found if match), "token")

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
        return Results.model_validate_json(read_bytes(path))
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
    for number, line in enumerate(_lines(path), start=1):
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


def _lines(path: Path) -> Iterator[bytes]:
    try:
        with open_regular(path) as file:
            yield from byte_lines(file, str(path))
    except FileNotFoundError:
        return
    except OSError as error:
        raise UserError(f"{path} cannot be read ({error.strerror}): copy the run again") from None


def _is_score(value: Any) -> bool:
    return isinstance(value, dict) and type(value.get("score")) in (int, float) and abs(value["score"]) < _LARGEST


def _first(error: ValidationError) -> str:
    """The first thing that is wrong: `search.mode: field required`."""
    first = error.errors(include_url=False, include_input=False, include_context=False)[0]
    place = ".".join(map(str, first["loc"]))
    message = first["msg"][0].lower() + first["msg"][1:]
    return f"{place}: {message}" if place else message
