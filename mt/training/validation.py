"""What happens at a validation: the dev split is scored, and the scores are logged, shown and compared."""

from collections.abc import Sequence

from mt.decoding.translation import Translation
from mt.evaluation.attention_stats import warnings
from mt.evaluation.drawings import drawings
from mt.evaluation.report import samples
from mt.evaluation.score import Validation, dev_scores
from mt.evaluation.scoring import metrics_of
from mt.training.console import scores_shown
from mt.training.log import Log
from mt.training.run import Run
from mt.training.selection import advice, improves

_ALIGNED = 100
"""Updates before which an attention cannot be expected to align, so that nothing is said of it; nor in a warm-up."""
_SETTLED = 3
"""Validations after which a score that is still near zero is spoken of."""


def measure(run: Run) -> Validation:
    """Decodes and scores the dev split; a signal cuts it short."""
    limit = run.config.training.validate_limit
    with run.signals.at_once():
        return dev_scores(run.translator, run.corpus.split("dev"), limit, progress=run.console.bars)


def validate(run: Run) -> bool:
    """Scores the dev split, logs and shows the scores; returns whether this is the best validation so far."""
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
    log.text("dev/translations", update, samples(dev, translations[:count]))
    for number, _, figure in drawings(run.translator, translations, dev):
        log.figure(f"dev/alignment_{number}", update, figure)


def cut_shown(validation: Validation) -> str:
    """Says how many hypotheses were cut at the limit of their length; "" where none was."""
    return f"  ({validation.cut:,} of {len(validation.translations):,} cut)" if validation.cut else ""


def say_advice(run: Run, *, at_the_end: bool = False) -> None:
    """Says once in a run, after some validations or at its end, that its metric cannot choose, where that is so."""
    best = run.progress.best
    count = len(run.progress.validations)
    if best is not None and (count < _SETTLED if at_the_end else count == _SETTLED):
        sentence = advice(
            best, run.metric, metrics_of(run.config.dataset), run.corpus.split("dev").column("references")
        )
        if sentence:
            run.console.say(f"  warning: {sentence}")
