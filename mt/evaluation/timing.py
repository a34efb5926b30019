"""Hypotheses beside what is known of when their targets were spoken."""

from collections.abc import Sequence
from typing import NamedTuple

import torch

from mt.common.comparable import comparable
from mt.data.split import Split
from mt.data.tokenizer import Tokenizer, Unit, normalize
from mt.decoding.streaming.words import TargetWords
from mt.decoding.translation import Translation
from mt.decoding.translator import Translator
from mt.errors import UserError
from mt.metrics.score import Score
from mt.metrics.timing import Timed, parse_spans, timing

_LONG = 1 << 16
"""Positions of a source that show how many of them a place stands for."""


class WrittenUnit(NamedTuple):
    """A unit of a hypothesis."""

    text: str
    last: int | None
    """With which token it was certain; None: with the end of the source."""
    tokens: list[int]
    """Which tokens it is made of."""


def timing_scores(translator: Translator, translations: Sequence[Translation], split: Split) -> dict[str, Score]:
    """Returns the scores of `mt.metrics.timing.timing`; none where it is not known when the units of the targets were
    spoken.

    The units of a split are words between blanks where there are as many of them as there are times, or else
    characters. Raises UserError where they are neither.
    """
    lines = split.times()
    known = [number for number, line in enumerate(lines) if line]
    if not known:
        return {}
    targets = split.column("target")
    spans = [parse_spans(lines[i], f"times of example {i + 1}") for i in known]
    unit = _unit([targets[i] for i in known], [len(each) for each in spans])
    positions = _LONG / int(translator.model.encoded_lengths(torch.tensor([_LONG])))
    place = positions * (translator.field.milliseconds or 1)
    lowercase = translator.tokenizers.target.lowercases
    timed = [
        _timed(translator.tokenizers.target, translations[i], unit, place)._replace(
            reference=units(targets[i], unit), spans=each
        )
        for i, each in zip(known, spans, strict=True)
    ]
    return timing([_in_lower_case(one) for one in timed] if lowercase else timed, unit, lowercase=lowercase)


def boundaries(split: Split, count: int) -> list[list[float]]:
    """Returns for each of the first examples the seconds at which the units of its target end; none where that is not
    known."""
    lines = enumerate(split.times()[:count], start=1)
    return [[end / 1000 for _, end in parse_spans(line, f"times of example {number}")] for number, line in lines]


def units(text: str, unit: Unit) -> list[str]:
    """Returns the words of a text, or its characters but the blanks."""
    words = normalize(text).split()
    return words if unit == "word" else [*"".join(words)]


def _unit(targets: Sequence[str], counts: Sequence[int]) -> Unit:
    choices: tuple[Unit, Unit] = ("word", "char")
    for unit in choices:
        if all(len(units(text, unit)) == count for text, count in zip(targets, counts, strict=True)):
            return unit
    raise UserError(
        "the times of the examples are neither those of the words of their targets nor those of their characters: give "
        "as many as there are words between blanks, or characters but the blanks"
    )


def _timed(tokenizer: Tokenizer, translation: Translation, unit: Unit, place: float) -> Timed:
    """place: milliseconds that a place of the attention stands for."""
    hypothesis = written_units(tokenizer, translation.ids, unit)
    read = translation.words_read
    stops = translation.stops
    end = float(translation.source_words or 0)
    return Timed(
        units=[one.text for one in hypothesis],
        written=None if read is None else [end if one.last is None else float(read[one.last]) for one in hypothesis],
        stops=None if stops is None else [[_middle(int(stops[i]), place) for i in one.tokens] for one in hypothesis],
        reference=(),
        spans=(),
    )


def _in_lower_case(one: Timed) -> Timed:
    units, reference = ([comparable(unit, lowercase=True) for unit in side] for side in (one.units, one.reference))
    return one._replace(units=units, reference=reference)


def _middle(stop: int, place: float) -> float:
    return float("nan") if stop < 0 else place * (stop + 0.5)


def written_units(tokenizer: Tokenizer, ids: Sequence[int], unit: Unit) -> list[WrittenUnit]:
    """Returns the units of a hypothesis, as a stream writes them. ids: of its tokens."""
    target = TargetWords(tokenizer, unit)
    complete_units: list[WrittenUnit] = []
    begun: list[int] = []
    for position, token in enumerate(ids):
        complete = target.add(token)
        if unit == "char":
            complete_units += [WrittenUnit(letter, position, [position]) for letter in "".join(complete).strip()]
            continue
        complete_units += [WrittenUnit(word, position, begun) for word in complete]
        begun = [position] if complete else [*begun, position]
    return [*complete_units, *(WrittenUnit(word, None, begun) for word in target.end())]
