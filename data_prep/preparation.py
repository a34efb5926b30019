"""A corpus that is to be made: its settings, its text, and what both must be."""

import contextlib
import hashlib
import itertools
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from data_prep.clean import checked, require_readable
from data_prep.parallel import Runner, require
from data_prep.parts import Chunk, chunks
from data_prep.patience import patiently
from data_prep.shards import ShardBuilder
from data_prep.sources import RawSplit, Source, open_reader, open_source, origin
from mt.common.input_files import sha256
from mt.data import corpus
from mt.data.corpus import Example
from mt.data.dataset import DatasetConfig
from mt.data.fields import SourceError
from mt.data.tokenizer import TokenizerConfig, Tokenizers
from mt.errors import UserError, nearest

TOKENIZERS = "tokenizers"
_SCORING = {"metrics", "bleu_tokenizer", "rouge_tokenizer", "latency_unit"}
_NOT_IN_THE_CORPUS = {"name", "folder", "media_folder", "licence", "workers", "shuffle_buffer", "weight", *_SCORING}


@dataclass(frozen=True)
class Preparation:
    """A corpus that is to be made."""

    config: DatasetConfig
    source: Source
    fingerprint: str
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
            digest = fingerprint(config, source, tokenizers)
        folder = root / f"{config.name}-{digest[:12]}"
        return cls(config, source, digest, folder, progress, runner, tokenizers)

    @property
    def train(self) -> RawSplit:
        return self.source.splits["train"]

    def builder(self, work: Path) -> ShardBuilder:
        """Returns what makes its shards in the folder `work`."""
        config = self.config
        return ShardBuilder(
            folder=work / "parts",
            fingerprint=self.fingerprint,
            cleaning=config.cleaning,
            reader=open_reader(config),
            tokenizers=work / TOKENIZERS,
        )

    def chunks(self, builder: ShardBuilder) -> list[Chunk]:
        """Divides its raw training pairs."""
        mixed = [train.size() for train in self.source.mixed]
        return chunks(mixed or [total(self.config, self.source)], builder.chunk_size)


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
    with patiently(f"counting the examples of {config.name}"):
        for split in corpus.SPLITS:
            source.splits[split].size()
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


def total(config: DatasetConfig, source: Source) -> int:
    """Counts the most raw training pairs to read; only a stream may have fewer."""
    size = source.splits["train"].size()
    limits = [size or None, config.limit, config.tokenizer.sample if config.streaming else None]
    return min((limit for limit in limits if limit is not None), default=0)


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
