"""The page of some runs in a browser, and records to draw in it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mt.explorer import page


@pytest.fixture
def opened(tab: Any, tmp_path: Path) -> Callable[..., Any]:
    """Opens the page of some runs from a file."""

    def open_page(*runs: list[dict[str, Any]], address: str = "", title: str = "Alignments") -> Any:
        named = [{"name": f"run {number}", "records": records} for number, records in enumerate(runs)]
        path = tmp_path / "index.html"
        path.write_text(page(title, named), encoding="utf-8")
        tab.goto(f"{path.as_uri()}{address}")
        return tab

    return open_page


@pytest.fixture
def serve(tab: Any) -> Callable[..., Any]:
    """Opens the live page, which asks a server of these runs."""
    from tests.explorer.server import HOST, Server, shown  # Not above: it takes records from here.

    def opened(*runs: dict[str, Any], address: str = "", key: str | None = None, drawn: bool = False) -> Any:
        """drawn: waits until a translation is shown."""
        server = Server(tab, *runs, key=key)
        tab.goto(f"http://{HOST}/{address}")
        if drawn:
            shown(tab)
        return server

    return opened


def a_record(source: str, target: str, weights: list[list[float]], **more: Any) -> dict[str, Any]:
    """A record of texts whose words are pieces each. weights: a row for each target word, the end of the sentence
    included."""
    sides = [[f"▁{word}" for word in text.split()] + ["</s>"] for text in (source, target)]
    thousandths = [[0, *(round(1000 * weight) for weight in row)] for row in weights]
    best = [(row.index(max(row)), j) for j, row in enumerate(weights)]
    columns, rows = (len(side) - 1 for side in sides)
    return {
        "text": target,
        "source": source,
        "score": -0.5,
        "tokens": sides[1],
        "ids": list(range(10, 11 + rows)),
        "source_tokens": sides[0],
        "target_units": [*range(rows), None],
        "source_units": [*range(columns), None],
        "rows": thousandths,
        "links": " ".join(f"{i}-{j}" for i, j in sorted(best) if i < columns and j < rows),
        **more,
    }


HOUSE = a_record(
    "the old house",
    "das alte Haus",
    [[0.9, 0.1, 0, 0], [0.05, 0.8, 0.15, 0], [0, 0.3, 0.6, 0.1], [0, 0, 0, 1]],
    references=["das alte Gebäude"],
    probabilities=[0.9, 0.5, 0.8, 0.99],
    top=[
        [["▁das", 0.9, 10], ["▁ein", 0.05, 20]],
        [["▁alte", 0.5, 11], ["▁neue", 0.4, 21]],
        [["▁Haus", 0.8, 12], ["▁Gebäude", 0.004, 22]],
        [["</s>", 0.99, 3]],
    ],
    scores={"chrf": 70.0},
)


def simple(number: int) -> dict[str, Any]:
    """A short record like many others."""
    words = f"s{number} x"
    return a_record(words, f"t{number} y", [[1, 0, 0], [0, 1, 0], [0, 0, 1]], scores={"chrf": float(number)})
