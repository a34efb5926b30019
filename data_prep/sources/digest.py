"""What tells one state of some files from another."""

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path

from mt.input_files import sha256


def digest(files: Iterable[tuple[str, Path]]) -> str:
    """SHA-256 (hex) of the contents and of what each file is read as, in this order."""
    found = []
    for role, path in files:
        found.append([role, sha256(path)])
    return hashlib.sha256(json.dumps(found).encode()).hexdigest()
