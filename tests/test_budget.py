"""How many lines each folder of `mt` may have. What is built later pays by deleting, or raises its folder's number and
the sum in a commit that says why."""

from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]
BUDGET = {
    "mt": 1645,
    "mt/cli": 2868,
    "mt/common": 500,
    "mt/comparison": 1037,
    "mt/config": 468,
    "mt/data": 4470,
    "mt/decoding": 4746,
    "mt/evaluation": 1734,
    "mt/explorer": 76,
    "mt/export": 519,
    "mt/kernels": 2862,
    "mt/markup": 1254,
    "mt/metrics": 2400,
    "mt/models": 4619,
    "mt/onnx": 220,
    "mt/ops": 1117,
    "mt/plots": 867,
    "mt/search": 2945,
    "mt/serve": 1880,
    "mt/training": 3157,
}
FILES = 261


def test_every_folder_keeps_its_budget_of_lines() -> None:
    lines = Counter[str]()
    for path in (ROOT / "mt").rglob("*.py"):
        inside = path.relative_to(ROOT)
        lines["/".join(inside.parts[:2]) if len(inside.parts) > 2 else "mt"] += len(path.read_text().splitlines())
    assert {folder: count for folder, count in lines.items() if count > BUDGET[folder]} == {}
    assert sum(BUDGET.values()) <= 39491


def test_the_house_has_no_more_files_than_chapters() -> None:
    assert len([*(ROOT / "mt").rglob("*.py")]) <= FILES


def test_the_page_in_the_browser_stays_small_and_is_written_in_lines() -> None:
    lines = [
        line
        for path in (ROOT / "mt" / "explorer").glob("*.*s")  # .js and .css
        for line in path.read_text(encoding="utf-8").splitlines()
    ]
    assert 1000 < len(lines) <= 1560 and max(map(len, lines)) <= 140
