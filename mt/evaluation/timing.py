"""When and where a model attends: first at the times of spoken words, then at the places of named objects."""

import math
from collections.abc import Sequence

import numpy as np
import torch

from mt.data.split import Split
from mt.data.tokenizer import Tokenizer, Unit, units as tokenizer_units
from mt.decoding.delays import written_units
from mt.decoding.translation import Translation
from mt.decoding.translator import Translator
from mt.errors import UserError
from mt.metrics.base import Score
from mt.metrics.truth import Truth, pointing
from mt.metrics.wer import Span, Timed, parse_spans, timing
from mt.text_io import comparable

# The times at which words were written, against the times at which the words of the target were spoken.

_LONG = 1 << 16
"""A long source, from which the number of input positions for each encoded position is computed."""


def timing_scores(translator: Translator, translations: Sequence[Translation], split: Split) -> dict[str, Score]:
    """Computes the scores of `mt.metrics.wer.timing`; nothing if it is not known when the units of the targets were
    spoken.

    Units are words between blanks if each target has as many words as times, else characters. Raises UserError if the
    numbers fit neither.
    """
    lines = split.times()
    numbers = [number for number, line in enumerate(lines) if line]
    if not numbers:
        return {}
    targets = split.column("target")
    spans = [parse_spans(lines[i], f"times of example {i + 1}") for i in numbers]
    unit = _unit([targets[i] for i in numbers], [len(each) for each in spans])
    # How many milliseconds of sound an encoded position stands for.
    positions = _LONG / int(translator.model.frontend.output_lengths(torch.tensor([_LONG])))
    duration = positions * (translator.field.milliseconds or 1)
    target = translator.tokenizers.target
    timed = [
        _timed(target, translations[i], unit, duration, units(targets[i], unit), spans_of_units)
        for i, spans_of_units in zip(numbers, spans, strict=True)
    ]
    return timing(timed, unit, lowercase=target.lowercases)


def boundaries(split: Split, count: int) -> list[list[float]]:
    """Returns for each of the first examples the seconds at which the units of its target end; empty if they are not
    known."""
    lines = enumerate(split.times()[:count], start=1)
    return [[end / 1000 for _, end in parse_spans(line, f"times of example {number}")] for number, line in lines]


def units(text: str, unit: Unit) -> list[str]:
    """Returns the words of a text between blanks, or its characters."""
    return tokenizer_units(text, "white_space" if unit == "word" else unit)


def _unit(targets: Sequence[str], counts: Sequence[int]) -> Unit:
    """Returns the unit of which each target has as many as `counts` says. Raises UserError if neither unit fits."""
    choices: tuple[Unit, Unit] = ("word", "char")
    for unit in choices:
        if all(len(units(text, unit)) == count for text, count in zip(targets, counts, strict=True)):
            return unit
    raise UserError(
        "the times of the examples are neither of the words of their targets nor of their characters: give one for "
        "each word, or each character"
    )


def _timed(
    tokenizer: Tokenizer,
    translation: Translation,
    unit: Unit,
    duration: float,
    reference: Sequence[str] = (),
    spans: Sequence[Span] = (),
) -> Timed:
    """Returns a hypothesis with its times, and its reference. duration: of an encoded position, in milliseconds."""
    hypothesis = written_units(tokenizer, translation.ids, unit)
    if unit == "char":  # a token may have several
        hypothesis = [each._replace(text=letter) for each in hypothesis for letter in each.text.strip()]
    # The times at which units were written (online), and at which a hard attention stopped for them.
    written = stops = None
    if (timing := translation.timing) is not None:
        end = float(timing.source_words)
        written = [end if each.last is None else float(timing.words_read[each.last]) for each in hypothesis]
    if translation.stops is not None:
        middles = [math.nan if stop < 0 else duration * (stop + 0.5) for stop in translation.stops.tolist()]
        stops = [[middles[i] for i in each.tokens] for each in hypothesis]
    # If the tokenizer lower-cases, case is ignored.
    texts, reference = (
        [comparable(text, lowercase=True) for text in side] if tokenizer.lowercases else side
        for side in ([each.text for each in hypothesis], reference)
    )
    return Timed(texts, written, stops, reference, spans)


# Where the attention is while an object is named, against where the object is; for captions that are scored by truth.


def pointing_score(translator: Translator, translations: Sequence[Translation], split: Split) -> dict[str, Score]:
    """Computes `pointing`: the percentage of object names in true captions for which attention was largest on the
    object's box, see `mt.metrics.truth.pointing`. Nothing if captions are not scored by `truth`, if the model has no
    attention, or if no caption is true."""
    if Truth.name not in translator.config.dataset.metrics or not translator.model.uses_source:
        return {}
    tokenizer = translator.tokenizers.target
    hits: list[bool] = []
    side = 0
    for translation, picture, references in zip(
        translations, split.column("source"), split.column("references"), strict=True
    ):
        # A word has the attention of its last token.
        steps = [word.tokens[-1] for word in written_units(tokenizer, translation.ids, "word")]
        side = math.isqrt(translation.alignment.shape[1])
        hits += pointing(translation.text, translation.alignment[steps], picture, references, (side, side))
    if not hits:
        return {}
    signature = f"n:{len(hits)}|of:objects of true captions|grid:{side}x{side}"
    return {"pointing": Score(100 * float(np.mean(hits)), signature)}
