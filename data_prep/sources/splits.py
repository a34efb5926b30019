"""Which tables of a repository are which split: by their names, by their folders, or by the repository's card.

A name is whole: `test_2016` is never joined with `test_2017`, nor `train-test` with train. Where several files may be
a split, all of them are returned, each with its shards, so that the caller can refuse.
"""

import functools
import re
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from data_prep.sources.tables import TABLES
from mt.errors import UserError
from mt.text_io import COMPRESSED

_SHARD = re.compile(r"(?P<name>.*?)[-_.]?(?P<number>\d{5})-of-(?P<count>\d{5})")
ROLES: Mapping[str, frozenset[str]] = {
    "train": frozenset({"train", "training"}),
    "validation": frozenset({"validation", "valid", "val", "dev", "development"}),
    "test": frozenset({"test", "testing", "eval", "evaluation"}),
}
"""Words in the names of files that tell a split, as on the hub."""


def exact_files(names: Sequence[str], split: str) -> list[list[str]]:
    """Returns the files that are named as a split is: `train.jsonl`, the shards `train-00000-of-00002.parquet`, and
    whatever lies in a folder `train`. One list for each folder and kind, of which there should be one."""
    groups: dict[tuple[str, ...], list[str]] = {}
    for name in names:
        path = PurePosixPath(name)
        if base_name(name) == split:
            groups.setdefault((str(path.parent), table_kind(name) or ""), []).append(name)
        elif path.parent.name == split:
            groups.setdefault((str(path.parent), table_kind(name) or "", "folder"), []).append(name)
    return [sorted(group) for group in groups.values()]


def like_files(names: Sequence[str], split: str) -> list[list[str]]:
    """Returns the files whose names have a word for this split and none for another, likewise: `val.csv` for
    validation, `test_2016.tsv` for test. A train of one file alone need have no such word."""
    groups: dict[tuple[str, ...], list[str]] = {}
    for name in names:
        roles = _roles(name)
        if roles == {split} or (not roles and split == "train"):
            own = base_name(name) if _words(base_name(name)) else ""  # Else its folder tells the split.
            groups.setdefault((str(PurePosixPath(name).parent), own, table_kind(name) or ""), []).append(name)
    named = [sorted(group) for group in groups.values() if _roles(group[0])]
    unnamed = [sorted(group) for group in groups.values() if not _roles(group[0])]
    return named or (unnamed if len(unnamed) == 1 else [])


def split_names(names: Sequence[str]) -> set[str]:
    """Returns what splits these files can be: their own names, and the words for splits in them."""
    own = {base_name(name) for name in names} | {role for name in names for role in _roles(name)}
    return {name for name in own if name} or {"train"}


def card_patterns(card: Mapping[str, Any], config: str | None, source: str, target: str) -> dict[str, list[str]]:
    """Returns the patterns of files that a repository's card has for each split of a subset. The subset is that of the
    languages, else the default, else the only one."""
    # The subset is the one of this pair of languages, in either order, the default, or the only one.
    subsets = [subset for subset in card.get("configs") or () if isinstance(subset, dict) and subset.get("data_files")]
    wanted = set(pair_names(config, source, target))
    chosen = [subset for subset in subsets if subset.get("config_name") in wanted]
    chosen = chosen or [subset for subset in subsets if subset.get("default")] or (subsets if len(subsets) == 1 else [])
    if not chosen:
        return {}
    # A card may give one path, a list, or a list for each split: all become entries of splits.
    root = str(chosen[0].get("data_dir") or "").strip("/")
    files = chosen[0]["data_files"]
    entries = files if isinstance(files, list) else [{"split": "train", "path": files}]
    patterns: dict[str, list[str]] = {}
    for entry in entries:
        plain = entry if isinstance(entry, dict) else {"split": "train", "path": entry}
        # Paths are relative to the subset's folder, and are made relative to the repository.
        paths = plain.get("path") or []
        for path in [paths] if isinstance(paths, str) else paths:
            whole = f"{root}/{path}" if root else str(path)
            patterns.setdefault(str(plain.get("split")), []).append(whole.removeprefix("./"))
    return patterns


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


def _roles(name: str) -> set[str]:
    """Returns the splits that the name of a table has words for, or else that of its folder."""
    return _words(base_name(name)) or _words(PurePosixPath(name).parent.name)


def _words(name: str) -> set[str]:
    words = set(re.split(r"[^a-z0-9]+", name.lower()))
    return {role for role, known in ROLES.items() if words & known}


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
