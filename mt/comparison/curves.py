"""Draws learning curves of several runs as inline SVG, which needs no other file and no script."""

import math
from collections.abc import Sequence
from html import escape

from mt.common.palette import COLOURS, colour
from mt.comparison.results import Curve

_DASHES = ("", "6 3", "2 2", "8 3 2 3")
# In units of the drawing, which is as wide as a phone, so that its text is never made smaller.
_WIDTH = 360.0
_HEIGHT = 230.0
_LEFT = 42.0
_RIGHT = 10.0
_TOP = 26.0
_BOTTOM = 30.0
_TICKS = 5


def chart(title: str, names: Sequence[str], curves: Sequence[Curve]) -> str:
    """Returns a chart of one score of each run over its updates, as SVG. An empty curve draws nothing, and no other run
    gets its colour."""
    points = [(x, y) for curve in curves for x, y in curve.items()]
    across = _Axis([x for x, _ in points], _LEFT, _WIDTH - _RIGHT)
    up = _Axis([y for _, y in points], _HEIGHT - _BOTTOM, _TOP)
    parts = [f'<text x="{_LEFT}" y="14" class="title">{escape(title)}</text>']
    for value in up.ticks():
        y = up.coordinate(value)
        parts.append(f'<path class="line" d="M{_LEFT} {y:.1f}H{_WIDTH - _RIGHT}"/>')
        parts.append(f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{up.label(value)}</text>')
    for value in across.ticks():
        x = across.coordinate(value)
        parts.append(
            f'<text x="{x:.1f}" y="{_HEIGHT - _BOTTOM + 14}" text-anchor="middle">{across.label(value)}</text>'
        )
    parts.append(f'<text x="{_WIDTH - _RIGHT}" y="{_HEIGHT - 3}" text-anchor="end">updates</text>')
    for number, (name, curve) in enumerate(zip(names, curves, strict=True)):
        marks = [(across.coordinate(x), up.coordinate(y), x, y) for x, y in sorted(curve.items())]
        line = " ".join(f"{x:.1f},{y:.1f}" for x, y, _, _ in marks)
        parts.append(f'<polyline points="{line}" fill="none" {_stroke(number)}/>')
        for x, y, update, value in marks:
            tip = escape(f"{name}, update {update}: {value:.4g}")
            parts.append(
                f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.2" fill="{colour(number)}"><title>{tip}</title></circle>'
            )
    label = escape(f"{title} over updates", quote=True)
    return f'<svg viewBox="0 0 {_WIDTH:g} {_HEIGHT:g}" role="img" aria-label="{label}">{"".join(parts)}</svg>'


def legend(names: Sequence[str]) -> str:
    """Returns an HTML list of which line is whose."""
    entries = (
        f'<li><svg viewBox="0 0 28 8" class="key"><path d="M1 4H27" {_stroke(number)}/></svg>{escape(name)}</li>'
        for number, name in enumerate(names)
    )
    return f'<ul class="legend">{"".join(entries)}</ul>'


class _Axis:
    """Maps values to coordinates: the smallest to `start`, the largest to `end`."""

    def __init__(self, values: Sequence[float], start: float, end: float) -> None:
        self.low = float(min(values))
        self.high = float(max(values))
        self.start = start
        self.end = end
        size = max(abs(self.high), 1)
        if self.high - self.low <= 1e-9 * size:
            self.low -= size / 2
            self.high += size / 2
        # The largest of 1, 2 and 5 times a power of ten that leaves so many ticks.
        rough = (self.high - self.low) / _TICKS
        power = 10.0 ** math.floor(math.log10(rough))
        self.step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough)

    def coordinate(self, value: float) -> float:
        return self.start + (self.end - self.start) * (value - self.low) / (self.high - self.low)

    def ticks(self) -> list[float]:
        lowest = math.ceil(self.low / self.step)
        highest = math.floor(self.high / self.step)
        return [number * self.step for number in range(lowest, highest + 1)]

    def label(self, value: float) -> str:
        if abs(value) >= 1000:
            return f"{value / 1000:g}k"
        return f"{value:.{max(0, -math.floor(math.log10(self.step)))}f}"


def _stroke(number: int) -> str:
    dash = _DASHES[number // len(COLOURS) % len(_DASHES)]
    return f'stroke="{colour(number)}" stroke-width="1.6"' + (f' stroke-dasharray="{dash}"' if dash else "")
