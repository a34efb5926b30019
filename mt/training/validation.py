"""A validation: the dev split is scored, scores are logged, and the best checkpoint is chosen.

First comes the comparison of validations (`rank`), with advice where the metric cannot tell them apart, then
`validate`."""

import math
from collections.abc import Mapping, Sequence

from mt.decoding.translation import Translation
from mt.evaluation.drawings import drawings
from mt.evaluation.report import samples
from mt.evaluation.score import Validation, count_cut, dev_scores
from mt.evaluation.scoring import metrics_of
from mt.evaluation.teacher_forcing import warnings
from mt.metrics import Metric, higher_is_better
from mt.metrics.advice import NEAR_ZERO
from mt.metrics.base import References, without_mode
from mt.training.log import Log, scores_shown
from mt.training.run import Run

# The order of validations.
#
# The run's metric decides; among equal scores the lower dev loss. A score below NEAR_ZERO (of 100) is chance. BLEU,
# which counts four words in a row, stays at 0 for outputs of single words, and near 0 early in training. There chrF
# decides, where it is measured and at least STAND_IN, else the loss. Any score from NEAR_ZERO on is better than all
# below it.

STAND_IN = 10.0
"""In percent: unrelated sentences of one language share character n-grams enough for a chrF of about this."""


def rank(scores: Mapping[str, float], metric: str) -> tuple[float, ...]:
    """Returns the key that orders validations from worst to best.

    scores: all of a validation; metric: the name of one of them.
    """
    mode = metric.removeprefix(without_mode(metric))
    loss = _number(-scores[f"loss{mode}"])
    if not higher_is_better(metric):
        return _number(-scores[metric]), loss
    # By the metric where it tells something, else by chrF, else by the loss alone; the first number says which.
    for worth, name, least in ((2, metric, NEAR_ZERO), (1, f"chrf{mode}", STAND_IN)):
        if scores.get(name, 0.0) >= least:
            return worth, scores[name], loss
    return 0, loss


def improves(scores: Mapping[str, float], best: Mapping[str, float] | None, metric: str) -> bool:
    """Returns whether a validation is better than the best one so far, as the first validation always is."""
    return best is None or rank(scores, metric) > rank(best, metric)


def advice(best: Mapping[str, float], metric: str, metrics: Sequence[Metric], references: References) -> str | None:
    """Returns a sentence of advice if the metric's scores are too low to tell checkpoints apart, else None.

    best: all scores of the best validation; metrics: of the run; references: of the dev split.
    """
    if not higher_is_better(metric) or best[metric] >= NEAR_ZERO:
        return None
    # By what `rank` goes where the metric is near 0.
    by = "the dev loss" if rank(best, metric)[0] == 0 else "chrF"
    reasons = [each.unsuited(references) for each in metrics if without_mode(metric) in each.headings()]
    reason = next(filter(None, reasons), "wait, or choose chrf (for single words accuracy or cer)")
    return (
        f"{metric} is {best[metric]:.2f} in the best validation, too low to tell checkpoints apart, so {by} does until "
        f"it reaches {NEAR_ZERO:g}: {reason} by training.metric, and measure it by dataset.metrics"
    )


def _number(value: float) -> float:
    """Returns the value, or minus infinity for NaN, so that NaN is worse than any number."""
    return -math.inf if math.isnan(value) else value


# The validation itself, and its notices.

_ALIGNED = 100
"""Updates before which, as in a warm-up, no warning speaks of the attention, since it has not learnt to align."""
_SETTLED = 3
"""Validations after which a warning speaks of a score that is still near zero."""


def measure(run: Run) -> Validation:
    """Decodes and scores the dev split; a signal cuts it short."""
    limit = run.config.training.validate_limit
    with run.signals.at_once():
        return dev_scores(run.translator, run.corpus.split("dev"), limit, progress=run.console.bars)


def validate(run: Run) -> bool:
    """Scores the dev split, logs and shows the scores; returns whether this is the best validation so far."""
    # The run counts its validations without a new best.
    progress = run.progress
    validation = measure(run)
    scores, translations, stats = validation
    is_best = improves(scores, progress.best, run.metric)
    progress.validations.append(progress.update)
    if is_best:
        progress.best = scores
        progress.bad_validations.append(0)
    else:
        progress.bad_validations[-1] += 1
    # Records, then the console, with advice where the numbers ask for some.
    if run.log:
        run.log.scalars("dev", progress.update, scores | validation.counts())
        run.log.scalars("attention", progress.update, stats)
    note = ("  (best)" if is_best else "") + cut_shown(validation)
    run.console.say(scores_shown(f"update {progress.update}", scores, note))
    if progress.update >= max(_ALIGNED, run.config.optimizer.warmup):
        for warning in warnings(stats):
            run.console.say(f"  warning: {warning}")
    say_advice(run)
    if run.log:
        _log_translations(run, run.log, translations)
    return is_best


def _log_translations(run: Run, log: Log, translations: Sequence[Translation]) -> None:
    """Logs the first translations, and draws their alignments."""
    count = run.config.training.plots
    update = run.progress.update
    dev = run.corpus.split("dev")
    log.board.add_text("dev/translations", samples(dev, translations[:count]), update)
    for number, _, figure in drawings(run.translator, translations, dev):
        log.board.add_figure(f"dev/alignment_{number}", figure, update, close=False)


def cut_shown(validation: Validation) -> str:
    """Returns a note of the hypotheses that were cut at the limit of their length; "" without any."""
    count = count_cut(validation.translations)
    return f"  ({count:,} of {len(validation.translations):,} cut)" if count else ""


def say_advice(run: Run, *, at_the_end: bool = False) -> None:
    """Warns if the metric's scores are too low to choose a checkpoint. A run does so once: after its third validation,
    or at its end if it has fewer."""
    best = run.progress.best
    count = len(run.progress.validations)
    if best is not None and (count < _SETTLED if at_the_end else count == _SETTLED):
        sentence = advice(
            best, run.metric, metrics_of(run.config.dataset), run.corpus.split("dev").column("references")
        )
        if sentence:
            run.console.say(f"  warning: {sentence}")
