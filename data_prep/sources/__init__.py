"""Where raw pairs come from: files, tables of the Hugging Face hub (or a local copy), generators."""

import functools
import importlib
import os
from pathlib import Path

from data_prep.sources.base import Source
from data_prep.sources.cut import Cut
from data_prep.sources.digits import DigitStrings, joined
from data_prep.sources.embedded import ROW, from_folder
from data_prep.sources.files import LocalFiles
from data_prep.sources.generated import GeneratedText
from data_prep.sources.hub import HubTable, holds_tables
from data_prep.sources.media import Listing, MediaFiles, Spread
from data_prep.sources.mixed import Mixed
from data_prep.sources.shortened import Shortened
from data_prep.sources.untested import Untested
from data_prep.sources.utterances import Kaldi, LibriSpeech
from mt.data.dataset import DatasetConfig
from mt.data.fields import Raw, build_field
from mt.data.origins import MixedConfig, SplitNames
from mt.data.writer import TEXT_READER, Reader

__all__ = ["Source", "open_reader", "open_source", "place"]


def open_source(config: DatasetConfig) -> Source:
    """The source of a dataset: its folder where it has one, else the hub, else the generator.

    Raises:
        UserError: the folder does not hold the files of the dataset.
    """
    source, written = _origin(config), build_field(config.field).written
    if config.cut:
        source = Cut(source, config.cut, config.cleaning.max_evaluation_length, by_source=not written)
    if not config.tested:
        source = Untested(source)
    if not written:
        return Spread(source)
    if config.mix:
        source = Mixed(source, [_further(config, one) for one in config.mix])
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
    if config.digits is not None:
        return Reader(field, functools.partial(joined, Path(config.folder or ""), config.field))
    listing = _listing(config)
    if isinstance(listing, HubTable):
        return Reader(field, listing.opener(config.given))
    return Reader(field, functools.partial(from_folder, Path(config.folder or ""), config.media, config.source))


def place(config: DatasetConfig, source: str) -> str:
    """Where a dataset of files names this source of an example: `train.tsv, line 3`."""
    if config.digits is not None or config.generator is not None:
        return config.name
    if match := ROW.fullmatch(source):
        return f"{Path(config.folder or config.name, match['table'])}, row {int(match['number']) + 1}"
    listing, folder = _listing(config), config.media
    for split in config.given:
        for where, example in listing.located(split):
            if os.path.relpath(folder / example.source.strip(), folder) == os.path.normpath(source):
                return where
    return config.name


def _further(config: DatasetConfig, mixed: MixedConfig) -> Source:
    """The training pairs of a further corpus."""
    named = config.model_copy(update={"splits": SplitNames(train=mixed.train), "references": ()})
    files = LocalFiles(named, Path(mixed.folder), ("train",))
    files.require_all()
    return files


def _rendered(generator: str, source: str) -> Raw:
    return importlib.import_module(f"data_prep.generated.{generator}").render(source)


def _listing(config: DatasetConfig) -> Listing:
    if config.format == "kaldi":
        return Kaldi(config)
    if config.format == "librispeech":
        return LibriSpeech(config)
    return _tables_or_texts(config)


def _origin(config: DatasetConfig) -> Source:
    if config.generator is not None:
        return GeneratedText(config.generator)
    if config.digits is not None:
        return DigitStrings(config, config.digits)
    if not build_field(config.field).written:
        return MediaFiles(config, _listing(config))
    return _tables_or_texts(config)


def _tables_or_texts(config: DatasetConfig) -> LocalFiles | HubTable:
    if config.folder is None:
        return HubTable(config, None)
    files = LocalFiles(config, Path(config.folder))
    if config.hub is not None and not files.holds_text() and holds_tables(Path(config.folder)):
        return HubTable(config, Path(config.folder))
    files.require_all()
    return files
