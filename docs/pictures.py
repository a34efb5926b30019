"""Draws the pictures of RESULTS.md and docs/ from the figures in results/: `python docs/pictures.py`."""

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullLocator

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from mt.plots import save  # noqa: E402
from mt.plots.curves import Line, look, tradeoff  # noqa: E402
from mt.plots.style import AXIS, INK, LABEL_POINTS, chart, name_axes  # noqa: E402

POLICIES = {
    "MILk": ("milk-0", "milk-0.05", "milk-0.1", "milk-0.4"),
    "MoChA": ("mocha-0", "mocha-0.1", "mocha-0.4"),
    "hard monotonic": ("monotonic-0",),
    "wait-k": ("wait-k-again", "wait-k-5-7-9"),
}
DRAFTED = {
    "AlignAtt, f = 1, 2, 3": ("alignatt-f-1", "alignatt-f-2", "alignatt-f-3"),
    "AlignAtt, f = 2 and 3, sure tokens sooner": (
        "alignatt-f-2-sure-0.5",
        "alignatt-f-2-sure-0.7",
        "alignatt-f-3-sure-0.7",
    ),
    "EDAtt, f = 2": ("alignatt-f-2-share-0.6", "alignatt-f-2-share-0.5", "alignatt-f-2-share-0.3"),
    "agreement, step 1, 2, 3": ("agree", "agree-step-2", "agree-step-3"),
    "hold-n": ("agree-n-1-hold-2", "agree-n-1-hold-3"),
    "wait-k, not trained for it": ("wait-k-k-3", "wait-k-k-5"),
}
"""The lines of the picture of policies, and their rows."""
LENGTHS = (10, 100, 500, 1000, 2000)
RATIOS = {
    "attention alone, dot products, at once": {
        "monotonic": ("hard-monotonic", 1),
        "MoChA, w = 2": ("mocha-w-2-8", 1),
        "MoChA, w = 8": ("mocha-w-2-8", 4),
    },
    "attention alone, additive energies, at once": {
        "monotonic": ("hard-monotonic-mocha-w-2", 1),
        "MoChA, w = 2": ("hard-monotonic-mocha-w-2", 4),
    },
    "whole decoder, dot products": {"monotonic": ("whole-decoder-one-by-one-softmax-hard-monotonic", 2)},
}
"""For each line of a panel its row in the table of linear time, and where the ratio to softmax in PyTorch stands."""


def values(table: str) -> dict[str, Any]:
    tables = json.loads((ROOT / "results" / "online.json").read_text(encoding="utf-8"))["tables"]
    return {row["name"]: row["values"] for row in tables[table]["rows"]}


def policies() -> list[Line]:
    """Returns a line for each policy, with the two offline scores as levels."""
    rows = values("tradeoff")
    lines = []
    for name, settings in POLICIES.items():
        points: list[tuple[list[float], list[float]]] = []
        for row in (rows[setting] for setting in settings):
            if isinstance(row["al"], list):  # a point for each k
                points += [
                    ([al, dal], [bleu]) for al, dal, bleu in zip(row["al"], row["dal"], row["bleu"], strict=True)
                ]
            else:  # seeds
                points.append(
                    ([row["al"], row["dal"]], row["bleu"] if isinstance(row["bleu"], list) else [row["bleu"]])
                )
        lines.append(Line(name, points))
    for name, bleu in zip(("offline, causal encoder", "offline, bidirectional"), rows["offline"]["bleu"], strict=True):
        lines.append(Line(name, level=bleu))
    return lines


def drafted() -> list[Line]:
    """Returns a line for each policy over the model that was not trained to stream, and what was trained beside it."""
    rows = values("policies")
    trained = values("retranslation")
    settings = {name: [rows[row] for row in names] for name, names in DRAFTED.items()}
    settings["MoChA, trained"] = [trained["mocha"]]
    settings["wait-k, trained"] = [trained[f"wait-{k}"] for k in (2, 3, 5)]
    lines = [
        Line(name, [([row["al"], row["dal"]], [row["bleu"]]) for row in points]) for name, points in settings.items()
    ]
    return [*lines, Line("offline", level=rows["beam"]["bleu"])]


def speedup(
    lengths: Sequence[int], panels: Mapping[str, Mapping[str, Sequence[float]]], x_name: str, y_name: str
) -> Figure:
    """Draws ratios over lengths, both on logarithmic axes (as in figure 3 of Chiu & Raffel 2018). panels: by the title
    of a panel its lines; by the name of a line its ratio at each length."""
    figure, all_axes = chart(len(panels))
    for axes, (title, lines) in zip(all_axes, panels.items(), strict=True):
        # The dashed line marks equal speed.
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.axhline(1, color=AXIS, linewidth=1, linestyle="--")
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
            axis.set_major_formatter("{x:g}")
            axis.set_minor_locator(NullLocator())
        axes.set_title(title, loc="left", fontsize=LABEL_POINTS + 1, color=INK)
        name_axes(axes, x_name, y_name)
        for number, (name, ratios) in enumerate(lines.items()):
            axes.plot(lengths, ratios, label=name, markersize=5.5, **look(number))
        axes.legend(frameon=False, labelcolor=INK, fontsize=LABEL_POINTS)
    return figure


def main() -> None:
    measures = ["AL (source words)", "DAL (source words)"]
    save(tradeoff(policies(), measures, "BLEU"), ROOT / "docs" / "tradeoff.png")
    save(tradeoff(drafted(), measures, "BLEU"), ROOT / "docs" / "policies.png")
    rows = values("linear-time")
    panels = {
        title: {name: [rows[row][f"s_{length}"][place] for length in LENGTHS] for name, (row, place) in lines.items()}
        for title, lines in RATIOS.items()
    }
    picture = speedup(LENGTHS, panels, "source and target length", "times as fast as softmax")
    save(picture, ROOT / "docs" / "speedup.png")


if __name__ == "__main__":
    main()
