"""The table of faults fits the code, and a fault that is planted is gone afterwards."""

from pathlib import Path

import pytest

from mt.errors import UserError
from scripts import plant_faults
from scripts.plant_faults import LONG, NEITHER, ROOT, SHORT, TABLE, Fault, Planted, plant, read_table

FAULTS = read_table(TABLE)
CODE = "def total(numbers):\n    return sum(numbers) + 0\n"
TESTS = """import pytest
from mt.code import total

def test_small():
    assert total([1]) == 1

@pytest.mark.exhaustive
def test_large():
    assert total([1] * 100) == 100
"""


def test_the_table_is_of_different_faults_in_every_part():
    assert len({fault.name for fault in FAULTS}) == len({fault.old for fault in FAULTS}) == len(FAULTS) >= 40
    folders = {fault.file(ROOT).relative_to(ROOT).parts[:2] for fault in FAULTS}
    parts = ("ops", "models", "search", "decoding", "training", "data", "metrics", "checkpoint.py")
    assert folders >= {("mt", part) for part in parts}
    assert any(folder[0] == "data_prep" for folder in folders)


@pytest.mark.parametrize("fault", FAULTS, ids=[fault.name for fault in FAULTS])
def test_a_fault_is_of_the_code_as_it_stands(fault: Fault):
    path = fault.file(ROOT)
    assert fault.neighbourhood(ROOT)
    text = path.read_text(encoding="utf-8")
    faulty = text.replace(fault.old, fault.new)
    assert faulty != text
    compile(faulty, path, "exec")


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A project of one function."""
    for name, text in {
        "mt/__init__.py": "",
        "mt/code.py": CODE,
        "data_prep/__init__.py": "",
        "tests/test_code.py": TESTS,
        "pytest.ini": "[pytest]\naddopts = -m 'not exhaustive'\nmarkers = exhaustive\n",
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.mark.parametrize(
    ("new", "seen_by"),
    [
        ("sum(numbers) + 1", SHORT),
        pytest.param("sum(numbers[:99]) + 0", LONG, marks=pytest.mark.exhaustive),
        pytest.param("sum(reversed(numbers)) + 0", NEITHER, marks=pytest.mark.exhaustive),
    ],
)
def test_it_says_which_run_sees_a_fault(new: str, seen_by: str, copy: Path, capsys: pytest.CaptureFixture[str]):
    fault = Fault("another sum", "sum(numbers) + 0", new, ["test_code"])
    assert plant(fault, copy, short=False, processes=1) == seen_by
    line = capsys.readouterr().out
    assert line.startswith(seen_by) and "another sum" in line
    assert (": tests/test_code.py::test_" in line) == (seen_by != NEITHER)
    assert (copy / "mt/code.py").read_text() == CODE


def test_a_fault_is_gone_after_an_error(copy: Path):
    with pytest.raises(KeyError), Planted(Fault("a", "numbers) +", "[]) +", []), copy):
        assert "sum([])" in (copy / "mt/code.py").read_text()
        raise KeyError
    assert (copy / "mt/code.py").read_text() == CODE


@pytest.mark.parametrize(("old", "places"), [("total(numbers): ...", "no file"), ("numbers", "mt/code.py")])
def test_text_that_does_not_stand_once_is_refused(old: str, places: str, copy: Path):
    with pytest.raises(UserError, match=f"must stand exactly once in the code, and stands in {places}: choose text"):
        Fault("a", old, "", []).file(copy)
    with pytest.raises(UserError, match=r"there is no test file test_none\.py$"):
        Fault("a", "", "", ["test_none"]).neighbourhood(copy)


def test_a_name_that_no_fault_has(capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit):
        plant_faults.main(["--only", "no such fault"])
    assert capsys.readouterr().err.startswith("error: no fault of faults.toml has a name with no such fault: ")
