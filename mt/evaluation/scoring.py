"""The metrics of a dataset, for training, evaluation, comparison and scripts. Needs no torch."""

from mt.data.dataset import DatasetConfig
from mt.decoding.minimum_bayes_risk import metric_settings
from mt.metrics import Metric, build, notes
from mt.metrics.base import References
from mt.metrics.latency import unsuited


def metrics_of(dataset: DatasetConfig, *, lowercase: bool = False) -> list[Metric]:
    """Builds the metrics of a dataset for its target language.

    lowercase: whether case is ignored, since the target's tokenizer lower-cases. Raises UserError if the tokenizer of a
    metric is not installed.
    """
    return build(dataset.metrics, metric_settings(dataset, lowercase=lowercase))


def notes_of(dataset: DatasetConfig, references: References, *, online: bool) -> list[str]:
    """Returns notes for the user: which metrics cannot judge texts like these, and why. online: whether latency is
    scored, too.
    """
    sentences = notes(metrics_of(dataset), references)
    latency = unsuited(dataset.latency_unit, [group[0] for group in references]) if online else None
    return sentences if latency is None else [*sentences, latency]
