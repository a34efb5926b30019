"""What systems leave beside files of data, and nobody means: `__MACOSX/._train.en`, `.DS_Store`, `Thumbs.db`."""

from pathlib import Path, PurePosixPath

_NAMES = {"__macosx", "thumbs.db", "ehthumbs.db", "desktop.ini", "$recycle.bin"}


def is_litter(name: str) -> bool:
    """Whether a path inside a folder or an archive is hidden, or in something hidden, or of such a name."""
    return any(part.startswith(".") or part.lower() in _NAMES for part in PurePosixPath(name).parts)


def files_below(folder: Path, pattern: str = "*") -> list[Path]:
    """Returns the files whose names match, sorted, without litter."""
    paths = (path for path in folder.rglob(pattern) if not is_litter(path.relative_to(folder).as_posix()))
    return sorted(path for path in paths if path.is_file())
