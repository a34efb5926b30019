"""Which tables of a repository are which split: by their names, or by their folders.

A name is whole: `test_2016` is never joined with `test_2017`, nor `train-test` with train. Where several files may be
a split, all of them are returned, each with its shards, so that the caller can refuse.
"""

import functools
import re
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import PurePosixPath

from data_prep.sources.tables import TABLES
from mt.errors import UserError
from mt.text_io import COMPRESSED

_SHARD = re.compile(r"(?P<name>.*?)[-_.]?(?P<number>\d{5})-of-(?P<count>\d{5})")


def named_files(names: Sequence[str], split: str) -> list[list[str]]:
    """Returns the files that are named as a split is: `train.jsonl`, the shards `train-00000-of-00002.parquet`, and
    whatever lies in a folder `train`. One list for each name, folder and kind, of which there should be one.

    split: a name, or a pattern of names or paths, as `corpus.tr*` or `data/train-*`.
    """
    groups: dict[tuple[str, ...], list[str]] = {}
    for name in names:
        path = PurePosixPath(name)
        own = base_name(name)
        if fnmatchcase(own, split) or fnmatchcase(name, split):
            groups.setdefault((str(path.parent), table_kind(name) or "", own), []).append(name)
        elif fnmatchcase(path.parent.name, split):
            groups.setdefault((str(path.parent), table_kind(name) or ""), []).append(name)
    return [sorted(group) for group in groups.values()]


def pair_names(config: str | None, source: str, target: str) -> list[str]:
    if config is None:
        return []
    both = ((source, target), (target, source))
    names = [config.replace("{source}", language).replace("{target}", other) for language, other in both]
    return [*dict.fromkeys(names)]


def table_kind(name: str) -> str | None:
    """Returns the ending of a table, without that of its compression; None of other files."""
    ending = PurePosixPath(_uncompressed(name)).suffix
    return ending if ending in TABLES else None


def base_name(name: str) -> str:
    """Returns the name of a table without folders, endings, and numbers of shards."""
    stem = PurePosixPath(_uncompressed(name)).name.removesuffix(table_kind(name) or "")
    shard = _SHARD.fullmatch(stem)
    return shard["name"] if shard else stem


def _uncompressed(name: str) -> str:
    return functools.reduce(str.removesuffix, COMPRESSED, name)


def is_inside(name: str, subset: str) -> bool:
    return not subset or name.startswith(f"{subset}/")


def complete(files: list[str], where: str) -> list[str]:
    """Returns the files. Raises UserError where one of numbered shards is missing."""
    shards = [shard for name in files if (shard := _SHARD.fullmatch(PurePosixPath(name).name.partition(".")[0]))]
    if shards and len(shards) == len(files) and len({shard["count"] for shard in shards}) == 1:
        numbers = {int(shard["number"]) for shard in shards}
        if missing := set(range(int(shards[0]["count"]))) - numbers:
            gap = f"{min(missing):05}-of-{shards[0]['count']}"
            raise UserError(f"{where} lacks the part {gap} beside {files[0]}: copy the repository again")
    return files
