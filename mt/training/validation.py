"""What happens at a validation: the dev split is scored, and the scores are logged, shown and compared."""

from mt.evaluation.attention_stats import warnings
from mt.evaluation.report import samples
from mt.evaluation.score import Validation, dev_scores
from mt.evaluation.timing import boundaries
from mt.training.console import scores_shown
from mt.training.run import Run
from mt.training.selection import advice, improves

_ALIGNED = 100
"""Updates before which an attention cannot be expected to align, so that nothing is said of it; nor in a warm-up."""
_SETTLED = 3
"""Validations after which a score that is still near zero is spoken of."""


def measure(run: Run) -> Validation:
    limit = run.config.training.validate_limit
    with run.signals.at_once():
        return dev_scores(run.translator, run.corpus.split("dev"), limit, progress=run.console.bars)


def validate(run: Run) -> bool:
    """Scores the dev split, tells and draws; returns whether this is the best validation so far."""
    progress, log, count = run.progress, run.log, run.config.training.plots
    validation = measure(run)
    scores, translations, stats = validation
    is_best = improves(scores, progress.best, run.metric)
    progress.validations.append(progress.update)
    if is_best:
        progress.best = scores
        progress.bad_validations.append(0)
    else:
        progress.bad_validations[-1] += 1
    log.scalars("dev", progress.update, scores | {"cut": validation.cut})
    log.scalars("attention", progress.update, stats)
    note = ("  (best)" if is_best else "") + cut_shown(validation)
    run.console.say(scores_shown(f"update {progress.update}", scores, note))
    if progress.update >= max(_ALIGNED, run.config.optimizer.warmup):
        for warning in warnings(stats):
            run.console.say(f"  warning: {warning}")
    say_advice(run)
    log.text("dev/translations", progress.update, samples(run.corpus.split("dev"), translations[:count]))
    draws = run.model.uses_source and run.processes.is_first
    drawn = zip(translations, boundaries(run.corpus.split("dev"), count), strict=False) if draws else []
    for number, (translation, marked) in enumerate(drawn):
        if translation.tokens:
            log.figure(f"dev/alignment_{number}", progress.update, translation.figure(boundaries=marked))
    return is_best


def cut_shown(validation: Validation) -> str:
    """How many hypotheses were cut, where any was."""
    return f"  ({validation.cut:,} of {len(validation.translations):,} cut)" if validation.cut else ""


def say_advice(run: Run, *, at_the_end: bool = False) -> None:
    """Says once in a run, after some validations or at its end, that its metric cannot choose, where that is so."""
    best, count = run.progress.best, len(run.progress.validations)
    if best is not None and (count < _SETTLED if at_the_end else count == _SETTLED):
        found = advice(best, run.metric, run.config.metrics(), run.corpus.split("dev").column("references"))
        if found:
            run.console.say(f"  warning: {found}")
