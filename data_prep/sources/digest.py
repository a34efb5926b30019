"""What tells one state of some files from another."""

import hashlib
from collections.abc import Iterable
from pathlib import Path


def digest(paths: Iterable[Path]) -> str:
    """SHA-256 (hex) of the contents, in this order."""
    total = hashlib.sha256()
    for path in paths:
        with path.open("rb") as file:
            total.update(hashlib.file_digest(file, "sha256").digest())
    return total.hexdigest()
