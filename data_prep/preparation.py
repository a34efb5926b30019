"""A corpus that is to be made: its settings, its text, and what both must be.

A `Preparation` knows them, and makes raw shards of the text where there are none (`ingested`). The `fingerprint` is of
all that decides what the corpus holds; `read_evaluation` reads dev and test, which are small, and checks them.
"""

import contextlib
import hashlib
import itertools
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from data_prep.eflomal import add_links
from data_prep.encode import Encoder, checked, require_readable
from data_prep.guards import patiently
from data_prep.ingest import RawShard, ingest, raw_shards
from data_prep.parallel import Runner, require
from data_prep.sources import Source, open_reader, open_source, origin
from mt.common.input_files import sha256
from mt.data import corpus
from mt.data.corpus import Example
from mt.data.dataset import EFLOMAL, DatasetConfig
from mt.data.fields import SourceError
from mt.data.tokenizer import TokenizerConfig, Tokenizers
from mt.errors import UserError, nearest
from mt.storage import replaced_by_any

TOKENIZERS = "tokenizers"
_RAW = "raw"
_SCORING = {"metrics", "bleu_tokenizer", "rouge_tokenizer", "latency_unit"}
_LINKS = {"links", "link_words"}  # in the identity of the source, where there are any
_NOT_IN_THE_CORPUS = {
    *("name", "folder", "media_folder", "licence", "workers", "shuffle_buffer", "weight"),
    *_SCORING,
    *_LINKS,
}


@dataclass(frozen=True)
class Preparation:
    """A corpus that is to be made."""

    config: DatasetConfig
    source: Source
    fingerprint: str
    stamps: list[tuple[str, int, int]]
    """`Source.stamps`, taken before the fingerprint."""
    folder: Path
    """Where it will be."""
    progress: bool
    """Show bars, and print what cleaning dropped."""
    runner: Runner
    tokenizers: Tokenizers | None = None
    """Those of an earlier run, in place of what the configuration says; None: they are learnt."""

    @classmethod
    def of(
        cls, config: DatasetConfig, root: Path, progress: bool, runner: Runner, tokenizers: Tokenizers | None = None
    ) -> "Preparation":
        require(runner)
        with patiently(f"reading {config.folder or config.name} and what it names", progress):
            source = open_source(config)
            stamps = source.stamps()
            digest = fingerprint(config, source, tokenizers)
        folder = root / f"{config.name}-{digest[:12]}"
        return cls(config, source, digest, stamps, folder, progress, runner, tokenizers)

    def ingested(self, work: Path) -> list[RawShard]:
        """Returns the raw shards in the folder `work`, which are made where they are missing."""

        def make(draft: Path) -> None:
            with patiently(f"reading train of {self.config.name}", self.progress):
                ingest(self.source, self.config, draft)
            if self.config.links == EFLOMAL:
                with patiently(f"linking the words of {self.config.name} with {EFLOMAL}", self.progress):
                    add_links(raw_shards(draft))
            self.require_unchanged()

        made_once(work / _RAW, make)
        return raw_shards(work / _RAW)

    def encoder(self, work: Path) -> Encoder:
        """Returns what its shards are made with in the folder `work`."""
        return Encoder(
            folder=work / "encoded",
            fingerprint=self.fingerprint,
            cleaning=self.config.cleaning,
            reader=open_reader(self.config),
            tokenizers=work / TOKENIZERS,
        )

    def require_unchanged(self) -> None:
        """Raises UserError where a file has changed since the fingerprint was taken."""
        if self.source.stamps() != self.stamps:
            raise UserError(f"the text of {self.config.name} changed while it was read: start again once it is whole")


def made_once(folder: Path, make: Callable[[Path], None]) -> None:
    """Makes a folder where it is missing: whole, or not at all. make: writes into the folder that it is given."""
    if folder.is_dir():
        return
    try:
        with replaced_by_any(folder) as draft:
            draft.mkdir()
            make(draft)
    except OSError:
        if not folder.is_dir():  # on a file system without locks, another part may have made the same meanwhile
            raise


def fingerprint(config: DatasetConfig, source: Source, tokenizers: Tokenizers | None = None) -> str:
    """Returns the SHA-256 (hex) of all that decides what the corpus holds. tokenizers: see `Preparation`."""
    settings = settings_of(config)
    if tokenizers is not None:
        settings["tokenizer"] = tokenizers.digest()
    models = [] if tokenizers is not None else _models(config.tokenizer)
    text = json.dumps([corpus.FORMAT, settings, source.identity(), *models], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _models(config: TokenizerConfig) -> list[str]:
    """Returns the SHA-256 (hex) of the models that the user has for the source and the target, where there are any.
    What is no file is left to whoever reads it to refuse."""
    paths = [Path(name) for side in ("source", "target") if (name := config.side(side).model_file)]  # type: ignore[arg-type]
    return [sha256(path) for path in paths if path.is_file()]


def settings_of(config: DatasetConfig) -> dict[str, Any]:
    """Returns the options that decide what the corpus holds."""
    settings = config.model_dump(mode="json", exclude=_NOT_IN_THE_CORPUS)
    return settings | {"mix": len(config.mix)}  # folders may move, and weights are of training


def read_evaluation(config: DatasetConfig, source: Source) -> dict[str, list[Example]]:
    """Reads and checks dev and test.

    Raises:
        UserError: a line is empty or too long, the sizes of a split's sides differ, or references are nowhere.
    """
    with patiently(f"reading dev and test of {config.name}"):
        _require_references(config, source)
        evaluation = {
            split: list(checked(source.splits[split].read(), config.cleaning, source.splits[split].sides))
            for split in ("dev", "test")
        }
    with origin_named(config), patiently(f"reading dev and test of {config.name}"):
        reader = open_reader(config)
        for example in itertools.chain.from_iterable(evaluation.values()):
            require_readable(example.source, reader)
    return evaluation


@contextlib.contextmanager
def origin_named(config: DatasetConfig) -> Iterator[None]:
    """Puts the line that names a file that cannot be read before the error."""
    try:
        yield
    except SourceError as error:
        if error.source is None:
            raise
        raise UserError(f"{origin(config, error.source)}: {error}") from error


def _require_references(config: DatasetConfig, source: Source) -> None:
    # Asked once, and only where it matters: the columns of JSON lines are known when all of them have been read.
    known = {*source.splits["dev"].columns(), *source.splits["test"].columns()} if config.references else set()
    for name in config.references:
        if name not in known:
            raise UserError(
                f"neither dev nor test has references {name}: {nearest(name, known)}; set dataset.references"
            )
