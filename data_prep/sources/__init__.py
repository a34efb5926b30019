"""Where raw pairs come from: files, tables of the Hugging Face hub (or a local copy), generators.

`open_source` opens the source of a dataset, and applies the steps that its options ask for. `open_reader` opens sounds
and pictures, and `origin` finds the line of a table that names one.
"""

import functools
import importlib
import os
from pathlib import Path

from data_prep.sources.base import Source, cut, digest_of_code, from_lists, mix, shorten, spread, unmarked, without_test
from data_prep.sources.entities import unescape_texts
from data_prep.sources.files import LocalFiles
from data_prep.sources.hub import Repository, tables_below
from data_prep.sources.links import link
from data_prep.sources.media import media_files
from mt.data.corpus import SPLITS, Example
from mt.data.dataset import DatasetConfig, MixedConfig, SplitNames
from mt.data.fields import Raw, build_field
from mt.data.writer import TEXT_READER, Reader


def open_source(config: DatasetConfig) -> Source:
    """Returns the raw pairs of a dataset, after the steps that its options ask for.

    Raises:
        UserError: the folder does not hold the files of the dataset.
    """
    source = _as_stored(config)
    written = build_field(config.field).written
    others = [_further(config, mixed) for mixed in config.mix]
    # Links count the words of unescaped text, and belong to pairs before any is cut off as dev or test.
    if config.unescape:
        source, *others = (unescape_texts(each, written=written) for each in (source, *others))
    if "pron_wer" in config.metrics:
        source, *others = map(unmarked, (source, *others))
    if config.links is not None:
        source, *others = link([source, *others], config)
    if config.cut:
        by_source = not written or config.join_references
        source = cut(source, config.cut, config.cleaning.max_evaluation_length, by_source=by_source)
    if not config.tested:
        source = without_test(source)
    # A sound or a picture with several texts makes several pairs; words alone can be shortened, and texts alone mixed.
    if not written:
        return spread(source)
    if config.mix:
        source = mix(source, others)
    limits = config.cleaning.truncate_source, config.cleaning.truncate_target
    return source if limits == (None, None) else shorten(source, *limits)


def open_reader(config: DatasetConfig) -> Reader:
    """Returns the reader that makes rows of the sources of the examples. A generator of sound or pictures renders them,
    `render(source)`, whenever they are needed."""
    field = build_field(config.field)
    if field.written:
        return TEXT_READER._replace(link_unit=config.link_unit)
    if config.generator is not None:
        return Reader(field, functools.partial(_rendered, config.generator))
    return Reader(field, functools.partial(os.path.join, config.media))


def origin(config: DatasetConfig, source: str) -> str:
    """Returns the place in the tables that names the source of an example: `train.tsv, line 3`."""
    if config.generator is not None:
        return config.name
    for _, split in sorted(_tables_or_texts(config).splits.items()):  # dev and test are read before train
        for place, example in split.records():
            if os.path.relpath(config.media / example.source.strip(), config.media) == os.path.normpath(source):
                return place
    return config.name


def generated_text(config: DatasetConfig) -> Source:
    """Returns the examples of `data_prep.generated.<name>`, whose `generate()` returns tuples for `Example`, by
    split."""
    name = config.generator or ""

    def examples() -> dict[str, list[Example]]:
        # Not above, since building a grammar takes a moment, and most often the corpus is there already.
        package = importlib.import_module(f"..generated.{name}", __package__)
        return {split: [Example(*drawn) for drawn in split_drawn] for split, split_drawn in package.generate().items()}

    splits = from_lists(examples, name, ("source", "target"), SPLITS)
    return Source(splits, lambda: digest_of_code(Path(__file__).parents[1] / "generated" / name))


def _as_stored(config: DatasetConfig) -> Source:
    """Returns the raw pairs before any step."""
    if config.generator is not None:
        return generated_text(config)
    source = _tables_or_texts(config)
    return source if build_field(config.field).written else media_files(config, source)


def _tables_or_texts(config: DatasetConfig) -> Source:
    """Returns the pairs of a repository of the hub or a copy of it, or of local files."""
    if config.folder is None:
        return Repository(config, None).source()
    files = LocalFiles(config, Path(config.folder))
    if config.hub is not None and not files.holds_text() and tables_below(Path(config.folder)):
        return Repository(config, Path(config.folder)).source()
    files.require_all()
    return files.source()


def _further(config: DatasetConfig, mixed: MixedConfig) -> Source:
    """Returns the training pairs of a further corpus."""
    named = config.model_copy(update={"splits": SplitNames(train=mixed.train), "references": ()})
    files = LocalFiles(named, Path(mixed.folder), ("train",))
    files.require_all()
    return files.source()


def _rendered(generator: str, source: str) -> Raw:
    return importlib.import_module(f"..generated.{generator}", __package__).render(source)
