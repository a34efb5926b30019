"""What tells one state of some files from another."""

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path


def digest(files: Iterable[tuple[str, Path]]) -> str:
    """SHA-256 (hex) of the contents and of what each file is read as, in this order."""
    found = []
    for role, path in files:
        with path.open("rb") as file:
            found.append([role, hashlib.file_digest(file, "sha256").hexdigest()])
    return hashlib.sha256(json.dumps(found).encode()).hexdigest()
