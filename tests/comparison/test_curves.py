import re
from xml.etree import ElementTree

import pytest

from mt.comparison.page import chart, legend


def drawn(*curves, names=None):
    svg = ElementTree.fromstring(chart("loss", names or [f"run {n}" for n in range(len(curves))], curves))
    lines = [
        [tuple(map(float, point.split(","))) for point in line.get("points").split()] for line in svg.iter("polyline")
    ]
    return svg, lines


def labels(svg, anchor):
    return [text.text for text in svg.iter("text") if text.get("text-anchor") == anchor]


def test_lines_go_through_the_values_in_the_order_of_updates() -> None:
    svg, [line, other] = drawn({200: 3.0, 100: 5.0, 300: 1.0}, {100: 1.0})
    xs, ys = zip(*line, strict=True)
    assert xs[1] - xs[0] == pytest.approx(xs[2] - xs[1], abs=0.2) and xs[0] < xs[1] < xs[2]
    assert ys[0] < ys[1] < ys[2] and ys[1] == pytest.approx((ys[0] + ys[2]) / 2, abs=0.1)
    assert other == [(xs[0], ys[2])]
    assert [circle[0].text for circle in svg.iter("circle")] == [
        "run 0, update 100: 5", "run 0, update 200: 3", "run 0, update 300: 1", "run 1, update 100: 1",
    ]  # fmt: skip
    assert labels(svg, "middle") == ["100", "150", "200", "250", "300"]
    assert labels(svg, "end")[:5] == ["1", "2", "3", "4", "5"]


@pytest.mark.parametrize(
    "curve",
    [{5: 0.0}, {0: 7.5}, {1: 1e8, 2: -1e8}, {1: 5e-324, 2: 0.0}, {1: 1.0, 2: 1.0 + 1e-15}, {1: 3.0, 2**53: 3.1}],
)
def test_any_values_can_be_drawn(curve) -> None:
    svg, [line] = drawn(curve)
    assert len(line) == len(curve)
    assert all(-0.1 <= x <= 360.1 and -0.1 <= y <= 230.1 for x, y in line)
    assert 1 <= len(labels(svg, "middle")) <= 7 and 1 <= len(labels(svg, "end")) <= 8


def test_runs_are_told_apart_by_colour_and_then_by_dashes() -> None:
    svg, _ = drawn(*({1: 1.0, 2: float(n)} for n in range(20)))
    styles = [(line.get("stroke"), line.get("stroke-dasharray")) for line in svg.iter("polyline")]
    assert len(set(styles)) == 20
    assert re.findall(r'stroke="(#\w+)"', legend([str(n) for n in range(20)])) == [colour for colour, _ in styles]


def test_names_are_text() -> None:
    svg, _ = drawn({1: 1.0}, names=["<b>&"])
    assert [circle[0].text for circle in svg.iter("circle")] == ["<b>&, update 1: 1"]
    assert "<b>" not in legend(["<b>&"])


def test_a_run_that_did_not_log_it_keeps_its_colour() -> None:
    svg, lines = drawn({}, {1: 2.0})
    assert lines[0] == [] and [circle.get("fill") for circle in svg.iter("circle")] == ["#d55e00"]
