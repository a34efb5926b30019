"""The digest of some files, by which one state of them is told from another."""

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path

from mt.common.input_files import sha256


def digest(files: Iterable[tuple[str, Path]]) -> str:
    """Returns the SHA-256 (hex) of the contents and of what each file is read as, in this order."""
    contents = [[kind, sha256(path)] for kind, path in files]
    return hashlib.sha256(json.dumps(contents).encode()).hexdigest()
