"""Pairs that a package of `data_prep.generated` generates."""

import functools
import importlib
from collections.abc import Iterator
from pathlib import Path

from data_prep.sources.base import Source
from data_prep.sources.digest import digest
from data_prep.sources.litter import files_below
from mt.data.corpus import Example


class GeneratedText(Source):
    """The examples of `data_prep.generated.<name>`, whose `generate()` gives tuples for `Example`, by split."""

    def __init__(self, name: str) -> None:
        self._name = name
        # Only when it is asked for: building a grammar takes a moment. The configuration knows the names there are.
        self._package = importlib.import_module(f"data_prep.generated.{name}")

    def identity(self) -> str:
        folder = Path(str(self._package.__file__)).parent
        paths = [path for path in files_below(folder) if path.suffix != ".pyc"]
        return digest((str(path.relative_to(folder)), path) for path in paths)

    def size(self, split: str) -> int:
        return len(self._splits[split])

    def examples(self, split: str) -> Iterator[Example]:
        return (Example(*example) for example in self._splits[split])

    def columns(self, split: str) -> tuple[str, ...]:
        return ()

    def places(self, split: str) -> tuple[str, str]:
        return f"{self._name}, {split}, source", f"{self._name}, {split}, target"

    def notes(self) -> list[str]:
        return []

    @functools.cached_property
    def _splits(self) -> dict[str, list[tuple[str, str, str]]]:
        return self._package.generate()
