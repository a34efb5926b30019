"""How many lines each folder of `mt` may have. What is built later pays by deleting, or raises its folder's number and
the sum in a commit that says why."""

from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]
BUDGET = {
    "mt": 1601,
    "mt/cli": 2723,
    "mt/common": 462,
    "mt/comparison": 986,
    "mt/config": 468,
    "mt/data": 4349,
    "mt/decoding": 4693,
    "mt/evaluation": 1703,
    "mt/explorer": 72,
    "mt/export": 519,
    "mt/kernels": 2850,
    "mt/markup": 1245,
    "mt/metrics": 2327,
    "mt/models": 4402,
    "mt/onnx": 218,
    "mt/ops": 1019,
    "mt/plots": 777,
    "mt/search": 2923,
    "mt/serve": 1861,
    "mt/training": 3030,
}
FILES = 254


def test_every_folder_keeps_its_budget_of_lines() -> None:
    lines = Counter[str]()
    for path in (ROOT / "mt").rglob("*.py"):
        inside = path.relative_to(ROOT)
        lines["/".join(inside.parts[:2]) if len(inside.parts) > 2 else "mt"] += len(path.read_text().splitlines())
    assert {folder: count for folder, count in lines.items() if count > BUDGET[folder]} == {}
    assert sum(BUDGET.values()) <= 38228


def test_the_house_has_no_more_files_than_chapters() -> None:
    assert len([*(ROOT / "mt").rglob("*.py")]) <= FILES


def test_the_page_in_the_browser_stays_small_and_is_written_in_lines() -> None:
    lines = [
        line
        for path in (ROOT / "mt" / "explorer").glob("*.*s")  # .js and .css
        for line in path.read_text(encoding="utf-8").splitlines()
    ]
    assert 1000 < len(lines) <= 1560 and max(map(len, lines)) <= 140
