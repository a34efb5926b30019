"""Where raw pairs come from: files, tables of the Hugging Face hub (or a local copy), generators."""

from pathlib import Path

from data_prep.sources.base import Source
from data_prep.sources.cut import Cut
from data_prep.sources.files import LocalFiles
from data_prep.sources.generated import GeneratedText
from data_prep.sources.hub import HubTable, holds_tables
from data_prep.sources.shortened import Shortened
from mt.data.dataset import DatasetConfig

__all__ = ["Source", "open_source"]


def open_source(config: DatasetConfig) -> Source:
    """The source of a dataset: its folder where it has one, else the hub, else the generator.

    Raises:
        UserError: the folder does not hold the files of the dataset.
    """
    source = _origin(config)
    if config.cut:
        source = Cut(source, config.cut, config.cleaning.max_evaluation_length)
    limits = config.cleaning.truncate_source, config.cleaning.truncate_target
    return source if limits == (None, None) else Shortened(source, *limits)


def _origin(config: DatasetConfig) -> Source:
    if config.generator is not None:
        return GeneratedText(config.generator)
    if config.folder is None:
        return HubTable(config, None)
    files = LocalFiles(config, Path(config.folder))
    if config.hub is not None and not files.holds_text() and holds_tables(Path(config.folder)):
        return HubTable(config, Path(config.folder))
    files.require_all()
    return files
