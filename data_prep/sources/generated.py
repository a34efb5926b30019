"""Pairs that a package of `data_prep.generated` generates."""

import functools
import importlib
from pathlib import Path

from data_prep.sources.base import RawSplit, Source, from_list
from data_prep.sources.folders import digest, files_below
from mt.data.corpus import SPLITS, Example
from mt.data.dataset import DatasetConfig


def generated_text(config: DatasetConfig) -> Source:
    """Returns the examples of `data_prep.generated.<name>`, whose `generate()` returns tuples for `Example`, by
    split."""
    name = config.generator
    # Only when it is asked for: building a grammar takes a moment. The configuration knows the names there are.
    package = importlib.import_module(f"..generated.{name}", __package__)

    @functools.cache
    def examples() -> dict[str, list[Example]]:
        return {split: [Example(*row) for row in rows] for split, rows in package.generate().items()}

    def part(split: str) -> RawSplit:
        return from_list(lambda: examples()[split], (f"{name}, {split}, source", f"{name}, {split}, target"))

    return Source({split: part(split) for split in SPLITS}, lambda: digest_of_code(Path(str(package.__file__)).parent))


def digest_of_code(folder: Path) -> str:
    """Changes when a file of a package changes."""
    paths = [path for path in files_below(folder) if path.suffix != ".pyc"]
    return digest((str(path.relative_to(folder)), path) for path in paths)
