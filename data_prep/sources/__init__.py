"""Where raw pairs come from: files, tables of the Hugging Face hub (or a local copy), generators."""

import functools
import importlib
import os
from pathlib import Path

from data_prep.sources.base import Source
from data_prep.sources.cut import Cut
from data_prep.sources.files import LocalFiles
from data_prep.sources.generated import GeneratedText
from data_prep.sources.hub import HubTable, holds_tables
from data_prep.sources.media import Listing, MediaFiles, Spread, media_folder
from data_prep.sources.shortened import Shortened
from data_prep.sources.utterances import Kaldi, LibriSpeech
from mt.data.corpus import SPLITS
from mt.data.dataset import DatasetConfig
from mt.data.fields import Raw, build_field
from mt.data.writer import TEXT_READER, Reader

__all__ = ["Source", "open_reader", "open_source", "place"]


def open_source(config: DatasetConfig) -> Source:
    """The source of a dataset: its folder where it has one, else the hub, else the generator.

    Raises:
        UserError: the folder does not hold the files of the dataset.
    """
    source = _origin(config)
    if config.cut:
        source = Cut(source, config.cut, config.cleaning.max_evaluation_length)
    if not build_field(config.field).written:
        return Spread(source)
    limits = config.cleaning.truncate_source, config.cleaning.truncate_target
    return source if limits == (None, None) else Shortened(source, *limits)


def open_reader(config: DatasetConfig) -> Reader:
    """What makes rows of the sources of `open_source`'s examples. A generator of sound or pictures draws them,
    `render(source)`, whenever they are asked for."""
    field = build_field(config.field)
    if field.written:
        return TEXT_READER
    if config.generator is not None:
        return Reader(field, functools.partial(_rendered, config.generator))
    return Reader(field, functools.partial(os.path.join, media_folder(config)))


def place(config: DatasetConfig, source: str) -> str:
    """Where a dataset of files names this source of an example: `train.tsv, line 3`."""
    listing, folder = _listing(config), media_folder(config)
    for split in SPLITS:
        for where, example in listing.located(split) if split not in config.cut else ():
            if os.path.relpath(folder / example.source.strip(), folder) == os.path.normpath(source):
                return where
    return config.name


def _rendered(generator: str, source: str) -> Raw:
    return importlib.import_module(f"data_prep.generated.{generator}").render(source)


def _listing(config: DatasetConfig) -> Listing:
    if config.format == "kaldi":
        return Kaldi(config)
    if config.format == "librispeech":
        return LibriSpeech(config)
    files = LocalFiles(config, Path(config.folder or ""))
    files.require_all()
    return files


def _origin(config: DatasetConfig) -> Source:
    if config.generator is not None:
        return GeneratedText(config.generator)
    if not build_field(config.field).written:
        return MediaFiles(config, _listing(config))
    if config.folder is None:
        return HubTable(config, None)
    files = LocalFiles(config, Path(config.folder))
    if config.hub is not None and not files.holds_text() and holds_tables(Path(config.folder)):
        return HubTable(config, Path(config.folder))
    files.require_all()
    return files
