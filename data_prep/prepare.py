"""Raw text to a prepared corpus: clean, learn the vocabulary, encode, write."""

import contextlib
import errno
import hashlib
import itertools
import json
import shutil
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures.process import BrokenProcessPool
from itertools import islice
from pathlib import Path
from typing import Any

from tqdm import tqdm

from data_prep import shards
from data_prep.clean import checked, require_readable
from data_prep.sources import Source, open_reader, open_source, place
from data_prep.summary import Draft, Evaluation, reasons, report
from mt.data import corpus, writer
from mt.data.corpus import Example
from mt.data.dataset import DatasetConfig
from mt.data.fields import SourceError, TextConfig, build_field
from mt.data.tokenizer import Tokenizers
from mt.errors import UserError, nearest
from mt.storage import locked, replaced_path

_TOKENIZERS = "tokenizers"
_SCORING = {"metrics", "bleu_tokenizer", "latency_unit"}
_NOT_IN_THE_CORPUS = {"name", "folder", "media_folder", "licence", "workers", "shuffle_buffer", *_SCORING}
_LATER = {"field": TextConfig(), "format": "files", "digits": None, "transcript": ""}
"""Options that corpora of this format were made without: where they are as usual, those corpora are not made again."""


def prepare(config: DatasetConfig, root: Path, *, progress: bool = True, tokenizers: Tokenizers | None = None) -> Path:
    """The folder of the prepared corpus, `<root>/<name>-<fingerprint>`; made where it is missing.

    A corpus is reused as long as the settings and the raw text that made it are the same. What an interrupted
    preparation has finished waits in a hidden folder beside it, and is not done again.

    Args:
        root: where corpora are kept.
        progress: show bars, and print what cleaning dropped.
        tokenizers: those of an earlier run, to use in place of what `config.tokenizer` says; None: learn them.

    Raises:
        UserError: the raw text or the settings are not fit for a corpus, or the disk is not.
    """
    source = open_source(config)
    mark = fingerprint(config, source, tokenizers)
    folder = root / f"{config.name}-{mark[:12]}"
    if folder.is_dir():
        return folder
    evaluation = read_evaluation(config, source)
    with _workshop(folder, progress) as work:
        # Another process may have made it while this one waited.
        if not folder.is_dir():
            draft = read(config, source, evaluation, work, progress=progress, tokenizers=tokenizers)
            if fingerprint(config, source, tokenizers) != mark:
                raise UserError(f"the text of {config.name} changed while it was read: start again once it is whole")
            if progress:
                print("\n".join([*source.notes(), *report(config, draft)]))
            _write(config, draft, work, progress)
            writer.finish(work / "corpus", folder, draft.tokenizers, _meta(config, draft, mark))
    return folder


def fingerprint(config: DatasetConfig, source: Source, tokenizers: Tokenizers | None = None) -> str:
    """SHA-256 (hex) of all that decides what the corpus holds. tokenizers: see `prepare`."""
    later = {name for name, usual in _LATER.items() if getattr(config, name) == usual}
    settings = config.model_dump(mode="json", exclude=_NOT_IN_THE_CORPUS | later)
    if tokenizers is not None:
        settings["tokenizer"] = tokenizers.digest()
    text = json.dumps([corpus.FORMAT, settings, source.identity()], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def read_evaluation(config: DatasetConfig, source: Source) -> Evaluation:
    """Read and check dev and test.

    Raises:
        UserError: a line is empty or too long, the sizes of a split's sides differ, or references are nowhere.
    """
    for split in corpus.SPLITS:
        source.size(split)
    _require_references(config, source)
    found = {
        split: list(checked(source.examples(split), config.cleaning, source.places(split))) for split in ("dev", "test")
    }
    with _placed(config):
        reader = open_reader(config)
        for example in itertools.chain.from_iterable(found.values()):
            require_readable(example.source, reader)
    return found


def read(
    config: DatasetConfig,
    source: Source,
    evaluation: Evaluation,
    work: Path,
    *,
    progress: bool,
    tokenizers: Tokenizers | None = None,
) -> Draft:
    """Clean the training pairs and learn the vocabularies, where they are not given. What `work` holds of it already is
    not done again."""
    size = source.size("train")
    limits = [config.limit, config.tokenizer.sample if config.streaming else None]
    limit = min((limit for limit in limits if limit is not None), default=None)
    total = size if limit is None else min(size, limit)
    raw = islice(source.examples("train"), limit)
    with _bar("clean train", total or None, progress, raw) as shown, _placed(config):
        kept = shards.clean(shown, config.cleaning, work, config.workers, open_reader(config))
    if kept.kept == 0:
        raise UserError(
            f"cleaning dropped all {kept.read:,} training pairs ({reasons(kept)}): "
            "check that the two sides are what you meant, or loosen dataset.cleaning"
        )
    if not (work / _TOKENIZERS).is_dir():
        learnt = tokenizers or _learnt(config, kept)
        with replaced_path(work / _TOKENIZERS) as folder:
            folder.mkdir()
            learnt.save(folder)
    return Draft(evaluation, kept, Tokenizers.load(work / _TOKENIZERS))


def _learnt(config: DatasetConfig, kept: shards.Shards) -> Tokenizers:
    examples = kept.sample(config.tokenizer.sample)
    pairs = [(example.source, example.target) for example in examples]
    transcripts = [example.transcript for example in examples] if config.transcript else None
    written = build_field(config.field).written
    return Tokenizers.train(config.tokenizer, pairs, source=written, transcripts=transcripts)


@contextlib.contextmanager
def _placed(config: DatasetConfig) -> Iterator[None]:
    """A file that cannot be read is told with the line that names it."""
    try:
        yield
    except SourceError as error:
        if error.source is None:
            raise
        raise UserError(f"{place(config, error.source)}: {error}") from error


def _require_references(config: DatasetConfig, source: Source) -> None:
    # Asked once, and only where it matters: the columns of JSON lines are known when all of them have been read.
    known = {*source.columns("dev"), *source.columns("test")} if config.references else set()
    for name in config.references:
        if name not in known:
            raise UserError(
                f"neither dev nor test has references {name}: {nearest(name, known)}; set dataset.references"
            )


def _write(config: DatasetConfig, draft: Draft, work: Path, progress: bool) -> None:
    """The three splits, in the folder `corpus` of `work`."""
    unfinished, reader = work / "corpus", open_reader(config)
    for split in corpus.SPLITS:
        (unfinished / split).mkdir(parents=True, exist_ok=True)
    spoken = draft.tokenizers.transcript is not None
    for split, examples in draft.evaluation.items():
        path = unfinished / split / "data-00000.arrow"
        writer.write_shard(path, writer.text_table(examples), draft.tokenizers, reader)
        writer.finish_split(unfinished / split, ["data-00000.arrow"], reader.field, transcribed=spoken)
    with _bar("encode train", sum(draft.shards.sizes), progress) as bar:
        train = unfinished / "train"
        written = shards.encode(draft.shards, work / _TOKENIZERS, train, config.workers, reader, transcribed=spoken)
        for count in written:
            bar.update(count)


def _meta(config: DatasetConfig, draft: Draft, mark: str) -> dict[str, Any]:
    return {
        "name": config.name,
        "fingerprint": mark,
        "read": draft.shards.read,
        "dropped": draft.shards.dropped,
        "vocabulary": {"source": len(draft.tokenizers.source), "target": len(draft.tokenizers.target)},
        "settings": config.model_dump(mode="json"),
    }


@contextlib.contextmanager
def _workshop(folder: Path, progress: bool) -> Iterator[Path]:
    """A hidden folder beside `folder` to make it in, for one process at a time.

    It is deleted at the end, and where the data are refused. Any other interruption leaves it, to go on from.
    """
    work = folder.with_name(f".{folder.name}.partial")
    try:
        work.parent.mkdir(parents=True, exist_ok=True)
        with locked(work.parent / ".lock", _waiting(work.parent, progress)):
            try:
                _discard_links(work)
                work.mkdir(exist_ok=True)
                yield work
            except UserError:
                shutil.rmtree(work, ignore_errors=True)
                raise
            shutil.rmtree(work)
    except BrokenPipeError:
        raise  # what is printed is read no more, which is not about the corpus
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
        remedy = "free disk space" if full else f"make {work.parent} a folder that may be written"
        raise UserError(
            f"the corpus could not be written ({error}): {remedy}; the same command goes on from what is finished, in "
            f"{work}"
        ) from error
    except BrokenProcessPool as error:
        raise UserError(
            "a process of the preparation was killed, most likely for want of memory: set dataset.workers to fewer "
            f"processes; the same command goes on from what is finished, in {work}"
        ) from error


def _discard_links(work: Path) -> None:
    """Deletes what is left of a preparation where it has links, since it makes none: files elsewhere stay whole."""
    if work.is_symlink():
        work.unlink()
    elif any(path.is_symlink() for path in work.rglob("*")):
        shutil.rmtree(work)


def _waiting(folder: Path, progress: bool) -> Callable[[], None]:
    return lambda: print(f"waiting for another preparation in {folder}") if progress else None


def _bar(name: str, total: int | None, progress: bool, examples: Iterable[Example] | None = None) -> tqdm:
    return tqdm(examples, desc=name, total=total, unit=" pairs", unit_scale=True, disable=not progress)
