"""Preparations of little text that is cut into many shards, as that of much text is; and what they leave."""

import contextlib
from pathlib import Path
from unittest import mock

from data_prep import ingest


def small_shards(characters: int, pairs: int) -> contextlib.AbstractContextManager[object]:
    """Within this context a raw shard has so many characters of text, or pairs."""
    return mock.patch.multiple(ingest, _CHARACTERS=characters, _ROWS=pairs)


def files(folder: Path) -> dict[str, bytes]:
    """What all files of a folder hold, by their names in it."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def killed_at(renames: int) -> str:
    """Lines of a program that ends itself by SIGKILL in place of this rename, counted from 0."""
    return (
        "import os, signal\nrename, count = os.replace, 0\n"
        "def replace(old, new):\n"
        "    global count\n"
        f"    if count == {renames}: os.kill(os.getpid(), signal.SIGKILL)\n"
        "    count += 1\n    rename(old, new)\n"
        "os.replace = replace\n"
    )
