"""Faults are planted one at a time."""

import ast
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
    planted = [*mutants(tmp_path / "code.py")]
    generated = "any((x > 0 for x in zip(ä, b, strict=True)))"
    assert [mutant.fault for mutant in planted] == [
        "3", f"not ä < b or {generated}", "ä < b", "ä <= b", generated.replace("any", "all"), "x >= 0", "1",
        "max(ä - b, True)", "ä + b", "False",
    ]  # fmt: skip
    texts = {ast.unparse(ast.parse(mutant.text)) for mutant in planted}
    assert len(texts) == len(planted) and ast.unparse(ast.parse(TEXT)) not in texts
