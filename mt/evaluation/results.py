"""The content of `results.json`: the meaning and unit of each key, whether higher is better, and how a comparison shows
it. Printed evaluations, comparisons and docs/results.md all come from this list."""

import re
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import BaseModel, ValidationError, model_validator

from mt.common.input_files import read_bytes
from mt.common.options import first_fault
from mt.errors import UserError, visible

LARGEST = 1e9
"""The largest number that is read; a diverged run may have larger ones, infinite ones too."""
_UNIT = re.compile(r"\bunit:(\w+)")


class Key(NamedTuple):
    """How a number of `results.json` is shown. `KEYS` has one for each number."""

    unit: str = ""
    better: Literal["↑", "↓", "–"] = "–"
    """Whether a higher or a lower value is better; – for neither."""
    heading: str = ""
    """The heading of the column in a comparison; empty if a comparison does not show the number."""
    form: str = ".1f"
    """The format of the column's cells."""
    scale: float = 1.0
    """The factor from the unit of the number to the unit of the column."""
    group: Literal["evaluation", "latency", "training"] = "evaluation"

    @property
    def higher_is_better(self) -> bool | None:
        """Returns None if neither direction is better."""
        return None if self.better == "–" else self.better == "↑"


class Search(BaseModel, frozen=True, strict=True, extra="allow"):
    """How the split was decoded, with all options of the search."""

    name: str
    mode: str
    """Whether the attention read soft or hard."""
    beam_size: int | None = None
    samples: int | None = None
    """The number of hypotheses that are drawn."""
    utility: str | None = None
    """The score that chooses among several hypotheses; None if the most probable one is chosen."""
    k: int | None = None
    """The number of source tokens that a wait-k search reads first."""
    f: int | None = None
    """The number of last source words to which AlignAtt lets no token attend."""
    n: int | None = None
    """The number of drafts that have to agree."""
    mask_k: int | None = None
    """The number of last words that re-translation holds back."""

    def __str__(self) -> str:
        """Returns such as `soft, beam 5`, `soft, sample 64, chrf` or `soft, wait_k 3`."""
        # The one number by which searches of a kind mostly differ.
        sizes = {"beam": self.beam_size, "sample": self.samples, "wait_k": self.k, "retranslate": self.mask_k}
        sizes |= {"alignatt": self.f, "agree": self.n}
        size = sizes.get(self.name)
        chosen = "" if self.utility is None else f", {self.utility}"
        return visible(f"{self.mode}, {self.name}{'' if size is None else f' {size}'}{chosen}")


class Score(BaseModel, frozen=True, strict=True):
    """A score, and the settings that it was computed with."""

    score: float
    signature: str = ""


Number = float | None
AnyScore = Score | None


class Results(BaseModel, frozen=True, strict=True, use_attribute_docstrings=True):
    """The content of `results.json`; None for what the file does not hold. The scores of metrics stand beside these
    keys, and are collected in `scores`."""

    split: Literal["test", "dev"] = "test"
    """the split that was decoded"""
    scored_on: dict[str, Any] | None = None
    """which texts these are: the number of `examples`, and SHA-256 of the `sources` and of each column of
    `references`; also in `hypotheses/<split>.json`. `compare.py`, `score.py` and `evaluate.py` notice by it that a
    split has changed"""
    search: Search
    """the options of the search; `mode` is the one in use, `soft` or `hard`"""
    precision: str | None = None
    """the number format of the search's products, if `evaluate.py --precision` chose it"""
    checkpoint: dict[str, Any] | None = None
    """whose weights: `name` (`best`, `last`, `average` or `ema`), `update`, the last one in them, of an average the
    updates `averaged`, and of a moving average its `ema_decay`"""
    ensemble: list[Any] | None = None
    """in place of `checkpoint`, of an evaluation of several runs: of each its folder, `run`, and what `checkpoint`
    says"""
    attention: dict[str, float] | None = None
    """statistics of the attention under teacher forcing, as below; empty for an attention that uses no source"""
    loss: Annotated[Number, Key("nats per token", "↓")] = None
    """cross entropy of the references under teacher forcing, without label smoothing, in the mode of the search"""
    perplexity: Annotated[Number, Key("per token", "↓", "perplexity", ".2f")] = None
    """exp(`loss`)"""

    # What the texts are like.
    length_ratio: Annotated[Number, Key("words of hypotheses for each of references", "–", "length ratio", ".2f")] = (
        None
    )
    """words of all hypotheses for each word of the references, of each sentence the first; 1 is as long. Characters in
    scripts without blanks. Longer hypotheses of an online search raise `ap` and chrF"""
    repeated_trigrams: Annotated[Number, Key("% of hypotheses", "↓", "repeated trigrams, %")] = None
    """hypotheses in which three words in a row stand twice; to be compared with `repeated_trigrams_of_references`"""
    repeated_trigrams_of_references: Annotated[Number, Key("% of references")] = None
    """the same of the references, of each sentence the first"""
    deletions: Annotated[Number, Key("% of hypotheses")] = None
    """sentence compression: the share of hypotheses that are their sources with words deleted. Words are compared
    without case and punctuation. Reported if nearly all references are of this kind"""
    deletions_of_references: Annotated[Number, Key("% of references")] = None
    """the same of the references"""
    prefixes: Annotated[Number, Key("% of hypotheses", "–", "prefixes, %")] = None
    """there, hypotheses that are the beginning of their source"""
    prefixes_of_references: Annotated[Number, Key("% of references")] = None
    """the same of the references"""
    spans: Annotated[Number, Key("of the source", "–", "spans", ".2f")] = None
    """there, from how many runs of words of the source the hypotheses that delete are joined, on the average"""
    spans_of_references: Annotated[Number, Key("of the source")] = None
    """the same of the references"""
    cut: Annotated[Number, Key("hypotheses, by their limit", "↓")] = None
    """hypotheses that their [limit](#how-long-a-hypothesis-may-become) ended, and not the end of a sentence"""
    replaced_unknown: Annotated[Number, Key("words")] = None
    """unknown words of the hypotheses that `evaluate.py --replace-unknown` replaced by words of the source"""

    # Where the attention was.
    aer: Annotated[AnyScore, Key("%", "↓", "AER")] = None
    """alignment error rate (Och & Ney 2003) of the forced alignments over the pairs with gold links, with `precision`
    and `recall`. `unlinkable` counts the gold links that were left out: their words share a piece of the model with a
    neighbour. Attention that does not use the source has none"""
    pointing: Annotated[AnyScore, Key("%", "↑")] = None
    """of true captions that `truth` checks: the share of words for an object whose attention was largest on the
    object's box (Zhang et al. 2016)"""
    ap: Annotated[AnyScore, Key("share", "↓", "AP", ".3f", group="latency")] = None
    """average proportion of the source that was read before a word; with a [policy](tutorials/policies.md) as
    search, as all of latency that follow: [latency](latency.md)"""
    al: Annotated[AnyScore, Key("source words, or ms of sound", "↓", "AL", ".2f", group="latency")] = None
    """average lagging"""
    laal: Annotated[AnyScore, Key("source words, or ms of sound", "↓", "LAAL", ".2f", group="latency")] = None
    """its length-adaptive form"""
    dal: Annotated[AnyScore, Key("source words, or ms of sound", "↓", "DAL", ".2f", group="latency")] = None
    """its differentiable form"""
    yaal: Annotated[AnyScore, Key("source words, or ms of sound", "↓", "YAAL", ".2f", group="latency")] = None
    """the form of the words that were written before the source ended"""
    erasure: Annotated[AnyScore, Key("words", "↓", "NE", ".2f", group="latency")] = None
    """normalised erasure: target words taken back, for each word that stays; 0 but for `search=retranslate`"""
    swf: Annotated[AnyScore, Key("%")] = None
    """the share of the words that were written before the source ended"""
    efsw: Annotated[AnyScore, Key("%")] = None
    """the share that `yaal` lets one expect"""
    emission_ms: Annotated[AnyScore, Key("ms, median", "↓")] = None
    """time from the end of a letter or word in the sound until it is written, of the right ones. Only for data with
    times"""
    emission_ms_p95: Annotated[AnyScore, Key("ms, 95th percentile", "↓")] = None
    """the same"""
    stops_inside: Annotated[AnyScore, Key("%", "↑")] = None
    """share of the hard stops of such letters or words that lie within them"""

    # What confidences are worth, of a calibrated run.
    confidence_auc: Annotated[Number, Key("% of pairs of words", "↑")] = None
    """of a calibrated run ([confidence](confidence.md)): the probability that a right word has a higher confidence than
    a wrong one. `confidence.png` draws the wrong words among the surest ones"""
    confidence_error: Annotated[Number, Key("% of words", "↓")] = None
    """there, the expected calibration error in ten bins"""
    confidence_floor: Annotated[Number, Key("% of the words of the lowest bin")] = None
    """there, the share of right words in the lowest bin of the table; [below it](confidence.md) confidences are a
    guess"""
    confidence_in_sample: bool | None = None
    """there, whether the table was made of these very words, so that the figures flatter it"""

    # What it cost.
    updates: Annotated[Number, Key(group="training")] = None
    """updates of the optimizer in the whole run (the weights tested may be of an earlier one: `checkpoint`)"""
    training_tokens: Annotated[Number, Key(group="training")] = None
    """target tokens learned from, in all epochs"""
    training_tokens_per_second: Annotated[Number, Key("", "↑", "training tokens/s", ",.0f", group="training")] = None
    """mean over the whole run: `training_tokens` / `training_seconds`"""
    training_tokens_per_second_last: Annotated[Number, Key("", "↑", group="training")] = None
    """between the last two lines of the log: the speed at the end of the training"""
    tokens_per_second: Annotated[Number, Key("", "↑", "decoding tokens/s", ",.0f")] = None
    """target tokens written per second of decoding, the ends of sentences included"""
    seconds: Annotated[Number, Key("of decoding", "↓")] = None
    """of decoding the split"""
    peak_memory_mb: Annotated[Number, Key("MiB", "↓", "peak memory, MB", ",.0f", group="training")] = None
    """the most memory: allocated on the GPU, else resident in the process"""
    parameters: Annotated[Number, Key("", "–", "parameters, M", ".2f", 1e-6)] = None
    """trained numbers of the model"""
    training_seconds: Annotated[Number, Key("", "↓", "training, min", ".1f", 1 / 60, group="training")] = None
    """spent in updates, validations and checkpoints not included"""

    scores: dict[str, Score] = {}
    """All scores with signatures, those of metrics too."""

    @model_validator(mode="before")
    @classmethod
    def _with_scores(cls, plain: Any) -> Any:
        """Collects the scores; those that are no number, as of a run that diverged, are dropped."""
        if not isinstance(plain, dict):
            return plain
        # A metric has its score beside the other keys, under a name that this class need not know.
        scores = {key: value for key, value in plain.items() if isinstance(value, dict) and "score" in value}
        known = {key: value for key, value in scores.items() if _is_number(value["score"])}
        return {key: value for key, value in plain.items() if key not in scores} | known | {"scores": known}

    def number(self, key: str) -> float | None:
        """Returns the number of a key; of a score its value. None if the results do not hold it."""
        value = getattr(self, key)
        return value.score if isinstance(value, Score) else value

    @property
    def latency(self) -> dict[str, float]:
        """Returns the measures of latency by their keys; empty if the split was not decoded online."""
        return {key: self.scores[key].score for key in LATENCIES if key in self.scores}

    @property
    def latency_unit(self) -> str:
        """Returns the unit of the target in which latency was counted, from the signatures; by default `token`."""
        matches = (_UNIT.search(self.scores[key].signature) for key in self.latency)
        return next((match[1] for match in matches if match), "token")


KEYS = {name: key for name, field in Results.model_fields.items() for key in field.metadata if isinstance(key, Key)}
"""The numbers of `results.json`, in the order of the columns of a comparison."""
LATENCIES = {name: key.heading for name, key in KEYS.items() if key.group == "latency"}
"""The headings of the measures of latency, and of normalised erasure."""
OF_TRAINING = tuple(name for name, key in KEYS.items() if key.group == "training")
"""The numbers about a run's training, which stay when the run is evaluated again."""


def read_results(path: Path) -> Results:
    """Reads `results.json`. Raises UserError if the file holds anything but results."""
    try:
        return Results.model_validate_json(read_bytes(path))
    except OSError as error:
        reason = error.strerror or str(error)
    except ValidationError as error:
        reason = first_fault(error)
    raise UserError(
        f"{path} does not hold the results of a run ({reason}): copy the run again, or leave it out of the comparison"
    )


def documentation() -> str:
    """Returns the keys as a table in Markdown."""
    lines = ["| key | unit | better | what it is |", "|---|---|---|---|"]
    for name, field in Results.model_fields.items():
        if name != "scores":
            key = KEYS.get(name, Key())
            meaning = " ".join((field.description or "").split())
            lines.append(f"| `{name}` | {key.unit} | {key.better} | {meaning} |")
    return "\n".join(lines) + "\n"


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < LARGEST
