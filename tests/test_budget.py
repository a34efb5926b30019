"""How many lines each folder of `mt` may have. What is built later pays by deleting, or raises its folder's number and
the sum in a commit that says why."""

from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]
BUDGET = {
    "mt": 1581,
    "mt/cli": 2707,
    "mt/common": 452,
    "mt/comparison": 981,
    "mt/config": 436,
    "mt/data": 4330,
    "mt/decoding": 4625,
    "mt/evaluation": 1670,
    "mt/explorer": 72,
    "mt/export": 517,
    "mt/kernels": 2676,
    "mt/markup": 1245,
    "mt/metrics": 2289,
    "mt/models": 4341,
    "mt/onnx": 196,
    "mt/ops": 997,
    "mt/plots": 766,
    "mt/search": 2921,
    "mt/serve": 1852,
    "mt/training": 3009,
}
FILES = 249


def test_every_folder_keeps_its_budget_of_lines() -> None:
    lines = Counter[str]()
    for path in (ROOT / "mt").rglob("*.py"):
        inside = path.relative_to(ROOT)
        lines["/".join(inside.parts[:2]) if len(inside.parts) > 2 else "mt"] += len(path.read_text().splitlines())
    over = {folder: count for folder, count in lines.items() if count > BUDGET[folder]}
    assert over == {}, "delete as many lines, or raise the folder's number and the sum in a commit that says why"
    assert sum(BUDGET.values()) <= 37663


def test_the_house_has_no_more_files_than_chapters() -> None:
    count = len([*(ROOT / "mt").rglob("*.py")])
    assert count <= FILES, "join two files, or raise FILES in a commit that says why"


def test_the_page_in_the_browser_stays_small_and_is_written_in_lines() -> None:
    lines = [
        line
        for path in (ROOT / "mt" / "explorer").glob("*.*s")  # .js and .css
        for line in path.read_text(encoding="utf-8").splitlines()
    ]
    assert 1000 < len(lines) <= 1560 and max(map(len, lines)) <= 140
