"""The digest of some files, which changes when one of them does."""

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path

from mt.common.input_files import sha256


def digest(files: Iterable[tuple[str, Path]]) -> str:
    """Returns the SHA-256 (hex) of the contents and of what each file is read as, in this order."""
    contents = [[kind, sha256(path)] for kind, path in files]
    return hashlib.sha256(json.dumps(contents).encode()).hexdigest()
