"""Text files that are replaced whole or not at all."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any


def write_json(path: Path, value: Any) -> None:
    write_text(path, [json.dumps(value, indent=2, ensure_ascii=False)])


def write_text(path: Path, lines: Sequence[str]) -> None:
    """UTF-8, one line each. Makes the folder where it is missing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.part")
    draft.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    draft.replace(path)
