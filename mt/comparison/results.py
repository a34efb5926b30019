"""Reads the scores that a finished run left, with types: a damaged or foreign file is refused in one sentence."""

import re
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, Field, TypeAdapter, ValidationError, model_validator

from mt.common.input_files import open_regular, read_bytes
from mt.common.options import first_fault
from mt.errors import UserError
from mt.text_io import byte_lines

Curve = dict[int, float]
"""The value of a score at each validation, by the number of updates before it."""

_LARGEST = 1e9
"""The largest value that is drawn; larger ones of a diverged run, infinite ones too, are left out."""
_RECORD = TypeAdapter(dict[str, Any])
LATENCIES = {"ap": "AP", "al": "AL", "laal": "LAAL", "dal": "DAL", "yaal": "YAAL"}
"""The headings of the measures of latency, by their names in `results.json`."""
_UNIT = re.compile(r"\bunit:(\w+)")


class Search(BaseModel, frozen=True, strict=True, extra="allow"):
    """How the split was decoded, with all options of the search."""

    name: str
    mode: str
    """Whether the attention read soft or hard."""
    beam_size: int | None = None
    samples: int | None = None
    """Hypotheses that are drawn."""
    utility: str | None = None
    """The score by which one of several hypotheses is chosen, where it is not the most probable."""
    k: int | None = None
    """Source tokens that a wait-k search reads first."""

    def __str__(self) -> str:
        """Returns such as `soft, beam 5`, `soft, sample 64, chrf` or `soft, wait_k 3`."""
        size = {"beam": self.beam_size, "sample": self.samples, "wait_k": self.k}.get(self.name)
        chosen = "" if self.utility is None else f", {self.utility}"
        return f"{self.mode}, {self.name}{'' if size is None else f' {size}'}{chosen}"


class Score(BaseModel, frozen=True, strict=True):
    """A score of a metric, and the settings that it was computed with."""

    score: float
    signature: str = ""


class Results(BaseModel, frozen=True, strict=True):
    """The part of `results.json` that a table shows. What the file does not hold is None."""

    split: Literal["test", "dev"] = "test"
    """The split that was decoded: dev where the data have no test split."""
    search: Search
    scores: dict[str, Score] = {}
    """The scores of the metrics, and of latency where the split was decoded online, by their keys."""
    perplexity: float | None = None
    repeated_trigrams: float | None = None
    prefixes: float | None = None
    spans: float | None = None
    aer: Score | None = None
    attention: dict[str, float] | None = None
    """Statistics of the attention; empty where it uses no source."""
    training_tokens_per_second: float | None = None
    tokens_per_second: float | None = None
    """The speed of decoding."""
    peak_memory_mb: float | None = None
    parameters: float | None = None
    training_seconds: float | None = None

    @model_validator(mode="before")
    @classmethod
    def _with_scores(cls, plain: Any) -> Any:
        """Collects the scores, which stand beside all else in the file, under keys that only metrics know."""
        if not isinstance(plain, dict):
            return plain
        return plain | {"scores": {key: value for key, value in plain.items() if _is_score(value)}}

    @property
    def latency(self) -> dict[str, float]:
        """Returns the measures of latency, by their keys; none where the split was not decoded online."""
        return {key: self.scores[key].score for key in LATENCIES if key in self.scores}

    @property
    def latency_unit(self) -> str:
        """Returns the unit of the target in which latency was counted, as the signatures say; by default `token`."""
        matches = (_UNIT.search(self.scores[key].signature) for key in self.latency)
        return next((match[1] for match in matches if match), "token")

    @property
    def attends(self) -> bool:
        """Returns whether the attention uses the source, so that there is an alignment to look at."""
        return self.attention != {}

    @property
    def alignment_error_rate(self) -> float | None:
        """Returns the alignment error rate, in percent; None where there is none, or the attention uses no source."""
        return self.aer.score if self.aer is not None and self.attends else None


class LoggedScores(BaseModel, frozen=True, strict=True):
    """The scores of one validation, as a line of `metrics.jsonl` has them."""

    update: int = Field(ge=0, le=2**53)
    scores: dict[str, float]


def read_results(path: Path) -> Results:
    """Reads `results.json`. Raises UserError where the file cannot be read, or holds anything else than results."""
    try:
        return Results.model_validate_json(read_bytes(path))
    except OSError as error:
        reason = error.strerror or str(error)
    except ValidationError as error:
        reason = first_fault(error)
    raise UserError(
        f"{path} does not hold the results of a run ({reason}): copy the run again, or leave it out of the comparison"
    )


def read_curves(path: Path, names: Collection[str]) -> dict[str, Curve]:
    """Reads the curves of these scores from a `metrics.jsonl`, of those of them that were logged.

    Without the file there are none. Raises UserError where a line is no record of a run.
    """
    curves: dict[str, Curve] = {}
    for number, line in enumerate(_lines(path), start=1):
        try:
            record = _RECORD.validate_json(line)
            if record.get("kind") != "dev":
                continue
            scores = {name: record[name] for name in names if name in record}
            validation = LoggedScores.model_validate({"update": record.get("update"), "scores": scores})
        except ValidationError as error:
            raise UserError(
                f"{path}, line {number} is no record of a run ({first_fault(error)}): copy the run again"
            ) from None
        for name, value in validation.scores.items():
            if abs(value) < _LARGEST:
                curves.setdefault(name, {})[validation.update] = value
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
