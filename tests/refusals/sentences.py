"""What every refusal keeps: one sentence, which names the facts."""

import hashlib
import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from mt.errors import UserError


def require_sentence(sentence: str, facts: Sequence[str]) -> None:
    """The sentence is one line, and each fact, a regular expression, stands in it, in their order."""
    assert sentence and "\n" not in sentence and "Traceback" not in sentence, sentence
    assert re.search(".*".join(facts), sentence), sentence


def refusal_of(call: Callable[[], Any]) -> str:
    """Returns the sentence with which a call is refused."""
    with pytest.raises(UserError) as refusal:
        call()
    return str(refusal.value)


def require_refusal(call: Callable[[], Any], *facts: str) -> None:
    require_sentence(refusal_of(call), facts)


def content(folder: Path) -> dict[str, bytes | str]:
    """Every file and link below a folder, with what it holds."""
    paths = [path for path in sorted(folder.rglob("*")) if path.is_symlink() or path.is_file()]
    contents = [str(path.readlink()) if path.is_symlink() else path.read_bytes() for path in paths]
    return {str(path.relative_to(folder)): content for path, content in zip(paths, contents, strict=True)}


def sign(folder: Path) -> None:
    """Makes the sums of a checkpoint fit again, as somebody who means harm would."""
    meta = json.loads((folder / "meta.json").read_text())
    meta["sha256"] = {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in meta["sha256"]}
    (folder / "meta.json").write_text(json.dumps(meta))
