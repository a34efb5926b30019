"""The files of a folder, without what systems leave beside them, and a digest that changes when one of them does."""

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

from mt.common.input_files import sha256

# As `__MACOSX/._train.en`, `.DS_Store`, `Thumbs.db`.
_LITTER = {"__macosx", "thumbs.db", "ehthumbs.db", "desktop.ini", "$recycle.bin"}


def is_litter(name: str) -> bool:
    """Returns whether a path inside a folder or an archive is a file that systems leave there: it is hidden, in a
    hidden folder, or has one of their names."""
    return any(part.startswith(".") or part.lower() in _LITTER for part in PurePosixPath(name).parts)


def files_below(folder: Path, pattern: str = "*") -> list[Path]:
    """Returns the files whose names match, sorted, without litter."""
    paths = (path for path in folder.rglob(pattern) if not is_litter(path.relative_to(folder).as_posix()))
    return sorted(path for path in paths if path.is_file())


def digest(files: Iterable[tuple[str, Path]]) -> str:
    """Returns the SHA-256 (hex) of the contents and of what each file is read as, in this order."""
    contents = [[kind, sha256(path)] for kind, path in files]
    return hashlib.sha256(json.dumps(contents).encode()).hexdigest()
