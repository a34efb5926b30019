"""Faults that are planted are those of the text, one at a time."""

from pathlib import Path

from tests.mutants import mutants

TEXT = '''def f(ä: int, b=2):
    """1 < 2"""
    if not ä < b and any(x > 0 for x in zip(ä, b, strict=True)):
        raise ValueError(f"{ä + 1}")
    return min(ä - b, True)
'''


def test_each_fault_is_planted_alone(tmp_path: Path) -> None:
    (tmp_path / "code.py").write_text(TEXT)
    lines = {mutant.text.splitlines()[mutant.line - 1].strip() for mutant in mutants(tmp_path / "code.py")}
    condition = "if not ä < b and any(x > 0 for x in zip(ä, b, strict=True)):"
    assert lines == {
        "def f(ä: int, b=3):",
        condition.replace("not ä < b", "(ä < b)"),
        condition.replace("<", "<="),
        condition.replace(" and ", " or "),
        condition.replace("any", "all"),
        condition.replace(">", ">="),
        condition.replace("0", "1"),
        "return max(ä - b, True)",
        "return min(ä + b, True)",
        "return min(ä - b, False)",
    }
    for mutant in mutants(tmp_path / "code.py"):
        compile(mutant.text, "code.py", "exec")
