"""Tables of a repository of the Hugging Face hub, or of a local copy of one.

A repository is a folder of tables. Those of the language pair are first downloaded into the cache of `huggingface_hub`,
where the files of a commit never change. Then the readers of local tables read a repository as they read a copy. They
take texts as they stand: `null`, `007` and quotation marks are text.

`dataset.hub.splits` names the files of each split (`named_files`). A name is whole: `test_2016` is never joined with
`test_2017`.
"""

import functools
import itertools
import re
import sys
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath

from data_prep.sources.base import RawSplit, Source, digest, files_below, require_some
from data_prep.sources.tables import TABLES, TableFile
from mt.common.terminal import say
from mt.data.corpus import Example
from mt.data.dataset import DatasetConfig, HubConfig
from mt.errors import UserError, message_of, nearest
from mt.text_io import COMPRESSED

_COMMIT = re.compile("[0-9a-f]{40}")
_SHARD = re.compile(r"(?P<name>.*?)[-_.]?(?P<number>\d{5})-of-(?P<count>\d{5})")


class Repository:
    """A repository of tables on the hub, or a copy of it in a folder."""

    def __init__(self, config: DatasetConfig, folder: Path | None) -> None:
        self._config = config
        self._hub = config.hub or HubConfig()
        self._copy = folder
        self._name = str(folder or self._hub.id)

    def source(self) -> Source:
        splits = {split: self._split(split) for split in self._config.uncut}
        # The files of the hub's cache are never changed.
        return Source(splits, self._identity, lambda: [path for _, path in self._named] if self._copy else [])

    @functools.cached_property
    def _folder(self) -> Path:
        """The folder of the repository on this machine, downloaded where it is missing."""
        return self._copy or self._downloaded()

    def _identity(self) -> str:
        if self._copy is None:
            # A branch moves, so its commit counts. Without a connection that is the commit in the cache.
            commit = self._hub.revision if _COMMIT.fullmatch(self._hub.revision) else self._folder.name
            return f"{self._hub.id} {self._hub.config} {commit}"
        return digest(self._named)

    @functools.cached_property
    def _named(self) -> list[tuple[str, Path]]:
        """The files of a copy, each with the split that it is read as."""
        files = {split: self._paths(split) for split in self._config.uncut}
        return [(f"{split} {self._hub.splits[split]}", path) for split, paths in files.items() for path in paths]

    def _split(self, split: str) -> RawSplit:
        """Returns the pairs in the files of a split, or the part of them that its name asks for, `train[:-1000]`."""
        columns = self._config.columns(split)
        where = f"{self._name}, {self._hub.splits[split]}"

        @functools.cache
        def files() -> list[TableFile]:
            return [TABLES[_kind(path.name)](path, columns) for path in self._paths(split)]

        def read() -> Iterator[Example]:
            pairs = (pair for file in files() for _, pair in file.records())
            part = itertools.islice(pairs, *self._range(split, files())) if "[" in self._hub.splits[split] else pairs
            return require_some(part, lambda: self._no_rows(split, "its files are empty"))

        return RawSplit(
            read=read,
            sides=(f"{where}, column {columns[0]}, row", f"{where}, column {columns[1]}, row"),
            columns=lambda: files()[0].columns(),
            placed=lambda: itertools.chain.from_iterable(file.records() for file in files()),
        )

    def _paths(self, split: str) -> list[Path]:
        """Returns the files of a split. Raises UserError where there are none, or where several may be."""
        name = self._hub.splits[split].partition("[")[0]
        names = [path.relative_to(self._folder).as_posix() for path in tables_below(self._folder)]
        # A copy may have only the folder of the language pair; then all its files count.
        subset = next(
            (each for each in self._subsets() if any(PurePosixPath(path).is_relative_to(each) for path in names)), ""
        )
        inside = [path for path in names if PurePosixPath(path).is_relative_to(subset)]
        # Exactly one table, or one set of shards, may have the name.
        files = named_files(inside, name)
        if len(files) > 1:
            raise UserError(
                f"{self._name} has several files that may be its split {name} ({files[0][0]} and {files[1][0]}): set "
                f"dataset.hub.splits.{split} to the name or a pattern of one, or dataset.hub.config to its folder"
            )
        if not files:
            known = {base_name(path) or PurePosixPath(path).parent.name for path in inside}
            otherwise = "" if split == "train" else f", or cut it from train with dataset.{split}_size=1000"
            raise UserError(
                f"{self._name} has no split {name}: {nearest(name, known)}; set dataset.hub.splits.{split} to a name "
                f"or a pattern of files{otherwise}"
            )
        _require_all_shards(files[0], self._name)
        return [self._folder / path for path in files[0]]

    def _range(self, split: str, files: Sequence[TableFile]) -> tuple[int, int]:
        """Returns the number of the first row of a part of a split, and of the row after its last.

        Raises UserError where the part has no rows.
        """
        from datasets import ReadInstruction  # Not above: it takes seconds, and few splits are parts of others.

        rows = sum(1 for file in files for _ in file.records())
        name = self._hub.splits[split]
        try:
            (interval,) = ReadInstruction.from_spec(name).to_absolute({name.partition("[")[0]: rows})
        except (ValueError, AssertionError) as error:
            raise UserError(self._no_rows(split, message_of(error))) from error
        if interval.from_ >= interval.to:
            raise UserError(self._no_rows(split, f"of {rows} rows none is in it" if rows else "its files are empty"))
        return interval.from_, interval.to

    def _no_rows(self, split: str, reason: str) -> str:
        return (
            f"{self._name} has no rows in its split {self._hub.splits[split]} ({reason}): set "
            f"dataset.hub.splits.{split} to another, or to part of one, such as train[:-1000] or train[-1000:]"
        )

    def _downloaded(self) -> Path:
        """Downloads the tables of the first subset that has any. Without a connection, the cache may have them."""
        from huggingface_hub import snapshot_download

        say(f"asking the Hugging Face hub for {self._hub.id}; dataset.folder=DIR reads a copy", sys.stderr)
        # Subsets are tried in turn, since a pair of languages may be named in either order.
        subsets = self._subsets() or [""]
        for subset in subsets:
            # Only tables are downloaded, since repositories can hold much else.
            patterns = [
                str(PurePosixPath(subset, f"*{ending}{more}")) for ending in TABLES for more in ("", *COMPRESSED)
            ]
            try:
                snapshot = snapshot_download(
                    self._hub.id, repo_type="dataset", revision=self._hub.revision, allow_patterns=patterns
                )
            except Exception as error:  # of whichever library carries the requests, which changes with its releases
                tables = " and ".join(self._hub.splits[split].partition("[")[0] for split in self._config.uncut)
                raise UserError(
                    f"{self._name} could not be loaded ({message_of(error)}): where the hub cannot be reached, set "
                    f"dataset.folder=DIR to a local copy, whose tables{f' in {subset}' if subset else ''} are {tables}"
                ) from error
            if tables_below(Path(snapshot, subset)):
                return Path(snapshot)
        folders = " or ".join(filter(None, subsets))
        raise UserError(
            f"{self._name} has no tables{' in ' if folders else ''}{folders}: set dataset.source and dataset.target "
            "to a pair of languages that it has, or dataset.hub.config to a folder of it"
        )

    def _subsets(self) -> list[str]:
        """Returns the folders that may hold the pair of languages, in either order; none where the whole repository
        does."""
        sides = self._config.source, self._config.target
        named = [
            self._hub.config.replace("{source}", one).replace("{target}", other)
            for one, other in (sides, sides[::-1])
            if self._hub.config is not None
        ]
        return [*dict.fromkeys(named)]


# The tables of a split, found by their names or by their folders.


def named_files(names: Sequence[str], split: str) -> list[list[str]]:
    """Returns the files of a split: `train.jsonl`, the shards `train-00000-of-00002.parquet`, and all files in a folder
    `train`. Files of another name, folder or kind make another list, so that there should be one.

    split: a name, or a pattern of names or paths, as `corpus.tr*` or `data/train-*`.
    """
    groups: dict[tuple[str, ...], list[str]] = {}
    for name in names:
        folder = PurePosixPath(name).parent
        own = base_name(name)
        if fnmatchcase(own, split) or fnmatchcase(name, split):
            groups.setdefault((str(folder), _kind(name), own), []).append(name)
        elif fnmatchcase(folder.name, split):
            groups.setdefault((str(folder), _kind(name)), []).append(name)
    return [sorted(group) for group in groups.values()]


def base_name(name: str) -> str:
    """Returns the name of a table without its folders, its endings and the number of its shard."""
    stem = PurePosixPath(_uncompressed(name)).name.removesuffix(_kind(name))
    shard = _SHARD.fullmatch(stem)
    return shard["name"] if shard else stem


def _kind(name: str) -> str:
    """Returns the ending of a table without that of its compression; "" for other files."""
    ending = PurePosixPath(_uncompressed(name)).suffix
    return ending if ending in TABLES else ""


def _uncompressed(name: str) -> str:
    return functools.reduce(str.removesuffix, COMPRESSED, name)


def _require_all_shards(files: Sequence[str], where: str) -> None:
    """Raises UserError where one of numbered shards is missing."""
    shards = [shard for name in files if (shard := _SHARD.fullmatch(PurePosixPath(name).name.partition(".")[0]))]
    for number in range(int(shards[0]["count"]) if len(shards) == len(files) else 0):
        if f"{number:05}" not in {shard["number"] for shard in shards}:
            gap = f"{number:05}-of-{shards[0]['count']}"
            raise UserError(f"{where} lacks the part {gap} beside {files[0]}: copy the repository again")


def tables_below(folder: Path) -> list[Path]:
    """Lists the tables in a folder and in those inside it; none where there is no such folder."""
    return [path for path in files_below(folder) if _kind(path.name)] if folder.is_dir() else []
