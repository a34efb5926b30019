"""Metrics of decoded text. To add one: a class in a file here, and its name in the table `METRICS`."""

from collections.abc import Sequence

from mt.errors import UserError, require_choice
from mt.metrics.base import DEFAULT, Metric, References, Settings, without_mode
from mt.metrics.bleu import Bleu, Chrf, Ter
from mt.metrics.captions import Cider, CocoBleu, CocoRouge
from mt.metrics.rouge import Rouge
from mt.metrics.truth import Truth
from mt.metrics.wer import Accuracy, Cer, Per, PronunciationWer, Wer

METRICS: dict[str, type[Metric]] = {
    metric.name: metric
    for metric in (
        *(Bleu, Chrf, Ter, Rouge, Wer, Cer, Accuracy, PronunciationWer, Per),
        *(CocoBleu, CocoRouge, Cider, Truth),
    )
}
DEFAULTS = {"translation": ("bleu", "chrf"), "summarization": ("rouge",), "simultaneous": ("bleu", "chrf")}
"""The metrics of a task, if the user names none."""


def require_known(names: Sequence[str], where: str) -> None:
    """Raises UserError for names of unknown metrics, or if there are no names. where: the option, as written."""
    if not names:
        raise UserError(f"{where} is empty: name at least one of {', '.join(METRICS)}")
    for name in names:
        require_choice(where, name, METRICS)


def build(names: Sequence[str], settings: Settings = DEFAULT) -> list[Metric]:
    """Makes the metrics of these names, each once. Raises UserError if the tokenizer of one is missing."""
    return [METRICS[name](settings) for name in dict.fromkeys(names)]


def notes(metrics: Sequence[Metric], references: References) -> list[str]:
    """Returns notes for the user: how metrics were set up, and which do not suit such texts."""
    sentences = [note for metric in metrics for note in (metric.notice, metric.unsuited(references)) if note]
    # Several metrics may give the same note.
    return [*dict.fromkeys(sentences)]


def score_names(names: Sequence[str]) -> list[str]:
    """Returns the names of the scores of these metrics; rouge has rouge1, rouge2, rougeL and rougeLsum."""
    return [score for name in names for score in METRICS[name].headings()]


def higher_is_better(score: str) -> bool:
    """Returns whether a higher value of a score is better, also for the score of a mode (`bleu_hard`). False for
    losses."""
    return any(metric.higher_is_better for metric in METRICS.values() if without_mode(score) in metric.headings())
