"""Preparations of little text that is cut into many shards, as that of much text is; and what they leave."""

import contextlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

import data_prep.get
from data_prep import ingest
from data_prep.prepare import prepare
from data_prep.sources import Source
from data_prep.sources.base import RawSplit
from mt.data.corpus import Corpus, Example
from mt.data.dataset import DatasetConfig
from tests.refusals.sentences import refusal_of

RATE = 8000
"""Of sounds, in Hz."""


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


def text_config(folder: Path, /, **settings: Any) -> DatasetConfig:
    """Texts or tables of a folder, whose pieces are characters."""
    plain = {"folder": str(folder), "source": "en", "target": "de", "workers": 1, "tokenizer": {"model_type": "char"}}
    return DatasetConfig.model_validate_json(json.dumps(plain | settings))


def sound_config(folder: Path, /, **settings: Any) -> DatasetConfig:
    """Tables of a folder, `path` and `text`, that name sounds of at most a second."""
    plain = {"name": "audio", "folder": str(folder), "source": "path", "target": "text", "workers": 1}
    plain |= {"field": {"name": "audio", "rate": RATE, "max_seconds": 1.0}}
    plain |= {"tokenizer": {"model_type": "char", "vocab_size": 50}}
    return DatasetConfig.model_validate(plain | settings, strict=False)


def offer(
    patch: pytest.MonkeyPatch, name: str, kind: str, urls: Mapping[str, str], sums: Mapping[str, str] = {}
) -> None:
    """Makes one public set the only one that there is."""
    one = {"title": "t", "licence": "l", "cut": "c", "train": "", "kind": kind, "urls": urls, "sums": sums}
    sets = data_prep.get.PublicSets.model_validate({"sets": {name: one}, "elsewhere": {}})
    patch.setattr(data_prep.get, "known", lambda: sets)


def raw_of(pairs: Sequence[Example], folder: Path) -> list[ingest.RawShard]:
    """Raw shards of a training split."""
    folder.mkdir(parents=True)
    source = Source({"train": RawSplit(lambda: iter(pairs), ("", ""))}, str)
    ingest.ingest(source, DatasetConfig(folder="x", source="en", target="de"), folder)
    return ingest.raw_shards(folder)[0]


def prepared(config: DatasetConfig, root: Path) -> Corpus:
    return Corpus.open(prepare(config, root / "corpora", progress=False))


def refusal(config: DatasetConfig, root: Path) -> str:
    return refusal_of(lambda: prepared(config, root))
