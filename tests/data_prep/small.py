"""Preparations of little text that is cut into many shards, as that of much text is; and what they leave."""

import contextlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from hydra import compose, initialize_config_dir
from omegaconf import OmegaConf

import data_prep.get
from data_prep import ingest
from data_prep.prepare import prepare
from data_prep.sources import Source, open_source
from data_prep.sources.base import RawSplit
from mt.cli.composition import CONF
from mt.common.options import parse
from mt.data.corpus import Corpus, Example
from mt.data.dataset import DatasetConfig
from tests.refusals.sentences import refusal_of, require_refusal

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


def named(name: str, folder: Path, *overrides: str) -> DatasetConfig:
    """A dataset of conf/, as the command line has it."""
    with initialize_config_dir(str(CONF), version_base="1.3"):
        composed = compose("data_prep", [f"dataset={name}", *overrides])["dataset"]
    plain: Any = OmegaConf.to_container(composed, resolve=True)
    return parse(plain | {"folder": str(folder), "workers": 1}, DatasetConfig)


def sound_config(folder: Path, /, **settings: Any) -> DatasetConfig:
    """Tables of a folder, `path` and `text`, that name sounds of at most a second."""
    plain = {"name": "audio", "folder": str(folder), "source": "path", "target": "text", "workers": 1}
    plain |= {"field": {"name": "audio", "rate": RATE, "max_seconds": 1.0}}
    plain |= {"tokenizer": {"model_type": "char", "vocab_size": 50}}
    return DatasetConfig.model_validate(plain | settings, strict=False)


def write_texts(folder: Path, /, **splits: Sequence[tuple[str, ...]]) -> None:
    """Writes texts whose lines belong together: train.en, train.de, and train.de2 where rows have a third."""
    folder.mkdir(parents=True, exist_ok=True)
    for split, rows in splits.items():
        for side, lines in zip(("en", "de", "de2"), zip(*rows, strict=True), strict=False):
            (folder / f"{split}.{side}").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def pairs_of(config: DatasetConfig, split: str = "train") -> list[Example]:
    """What the source of a dataset has for a split."""
    return [*open_source(config).splits[split].read()]


def require_refused(config: DatasetConfig, *facts: str, split: str = "train") -> None:
    """The source of a dataset refuses to read a split."""
    require_refusal(lambda: pairs_of(config, split), *facts)


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
