"""Makes a prepared corpus of raw text, in three steps: *ingest* makes raw shards, *encode* makes a file of each, and
*corpus* puts these files together.

    prepare -> _make: ingested -> _encode: vocabulary -> encode_shards
                   -> _put_together: shards -> meta.json

Each step leaves complete files in a hidden folder beside the corpus: `raw`, `tokenizers`, `encoded`, `corpus`. So a
preparation that is killed goes on from them.

A `Preparation` holds the settings and the text of the corpus to make. The `fingerprint` covers all that decides what
the corpus holds. `read_evaluation` reads and checks dev and test, which are small. `open_corpus` opens a corpus for
training.
"""

import contextlib
import hashlib
import itertools
import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from data_prep import vocabulary
from data_prep.eflomal import add_links
from data_prep.encode import Encoder, checked, encode_shards
from data_prep.guards import patiently, system_errors
from data_prep.ingest import Duplicates, RawShard, ingest, raw_shards
from data_prep.parallel import Runner, require
from data_prep.sources import Source, base, open_reader, open_source, origin
from data_prep.summary import Counts, all_dropped, report
from mt.common.input_files import sha256
from mt.common.terminal import Bar, say
from mt.data import corpus, writer
from mt.data.arrow import ALL
from mt.data.checks import open_table
from mt.data.corpus import Corpus, Example
from mt.data.dataset import EFLOMAL, DatasetConfig
from mt.data.fields import SourceError
from mt.data.tokenizer import Tokenizers
from mt.errors import UserError, nearest, visible
from mt.storage import locked, remove, replaced_path

if TYPE_CHECKING:  # the processes that prepare text would wait for torch
    from mt.distributed import ProcessGroup

_CORPUS = "corpus"
"""The corpus in the work folder, which exists once all shards are encoded."""
_NOT_IN_THE_CORPUS = {
    *("name", "folder", "media_folder", "licence", "workers", "weight"),
    *("metrics", "bleu_tokenizer", "rouge_tokenizer", "latency_unit"),
    *("links", "link_words", "unescape"),  # in the identity of the source, where they change anything
}


@dataclass(frozen=True)
class Preparation:
    """The settings and the text of a corpus to make."""

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
    tokenizers: Tokenizers | None
    """The tokenizers of an earlier run, to use in place of the configured ones; None: learn new ones."""

    @property
    def work(self) -> Path:
        """The hidden folder in which it is made."""
        return self.folder.with_name(f".{self.folder.name}.partial")

    @property
    def encoder(self) -> Encoder:
        """What encodes its shards."""
        return Encoder(
            folder=self.work / "encoded",
            cleaning=self.config.cleaning,
            reader=open_reader(self.config),
            tokenizers=self.work / "tokenizers",
        )

    def ingested(self) -> tuple[list[RawShard], Duplicates]:
        """Returns the raw shards, made where they are missing, and the duplicates that they leave out."""

        def make(draft: Path) -> None:
            with patiently(f"reading train of {self.config.name}", self.progress):
                ingest(self.source, self.config, draft)
            if self.config.links == EFLOMAL:
                with patiently(f"linking the words of {self.config.name} with {EFLOMAL}", self.progress):
                    add_links(raw_shards(draft)[0])
            self.require_unchanged()

        _made_once(self.work / "raw", make)
        return raw_shards(self.work / "raw")

    def require_unchanged(self) -> None:
        """Raises UserError where a file has changed since the fingerprint was taken."""
        if self.source.stamps() != self.stamps:
            raise UserError(f"the text of {self.config.name} changed while it was read: start again once it is whole")


def _made_once(folder: Path, make: Callable[[Path], None]) -> None:
    """Makes a folder where it is missing, completely or not at all. make: writes the files into a new folder."""
    if not folder.is_dir():
        with replaced_path(folder) as draft:
            draft.mkdir()
            make(draft)


def fingerprint(config: DatasetConfig, source: Source, tokenizers: Tokenizers | None = None) -> str:
    """Returns the SHA-256 (hex) of everything that decides what the corpus holds. tokenizers: see `Preparation`."""
    settings = config.model_dump(mode="json", exclude=_NOT_IN_THE_CORPUS)
    # Fingerprints stay as in 0.3.0. So removed options are still counted, and new options only where they change
    # something. Folders may move, and weights matter to training alone.
    settings |= {"mix": len(config.mix), "streaming": False, "digits": None, "format": "files"}
    settings["tokenizer"]["tags"] = 0
    if not config.join_references:
        del settings["join_references"]
    tokenizer = settings["tokenizer"]
    if not config.tokenizer.placeholders:
        del tokenizer["placeholder_syntaxes"]
    for part in (tokenizer, tokenizer["source"], tokenizer["target"]):
        if part["normalization"] in (None, "nfc"):
            del part["normalization"]
    # The tokenizers of an earlier run, or the SentencePiece models of the user.
    models = []
    if tokenizers is not None:
        settings["tokenizer"] = tokenizers.digest()
    else:
        files = [config.tokenizer.side(side).model_file for side in ("source", "target")]  # type: ignore[arg-type]
        models = [sha256(Path(file)) for file in files if file and Path(file).is_file()]
    text = json.dumps([corpus.FORMAT, settings, source.identity(), *models], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def read_evaluation(config: DatasetConfig, source: Source) -> dict[str, list[Example]]:
    """Reads and checks dev and test.

    Raises:
        UserError: a line is empty or too long, the sizes of a split's sides differ, or references are nowhere.
    """
    with patiently(f"reading dev and test of {config.name}"):
        _require_references(config, source)
        evaluation = {
            split: [*checked(source.splits[split].read(), config.cleaning, source.splits[split].sides)]
            for split in ("dev", "test")
        }
        if config.join_references:
            evaluation = {split: base.grouped(examples) for split, examples in evaluation.items()}
        reader = open_reader(config)
        if not reader.field.written:
            with origin_named(config):
                for example in itertools.chain.from_iterable(evaluation.values()):
                    reader.require_readable(example.source)
    return evaluation


@contextlib.contextmanager
def origin_named(config: DatasetConfig) -> Iterator[None]:
    """Adds to the error of an unreadable sound or picture the line of the table that names it."""
    try:
        yield
    except SourceError as error:
        if error.source is None:
            raise
        raise UserError(f"{origin(config, error.source)}: {error}") from error


def _require_references(config: DatasetConfig, source: Source) -> None:
    # Columns are listed only where references are asked for, since JSON lines must be read whole for that.
    known = {*source.splits["dev"].columns(), *source.splits["test"].columns()} if config.references else set()
    for name in config.references:
        if name not in known:
            raise UserError(
                f"neither dev nor test has references {name}: {nearest(name, known)}; set dataset.references"
            )


# Preparing it.


def prepare(
    config: DatasetConfig,
    root: Path,
    *,
    progress: bool = True,
    runner: Runner = "processes",
    tokenizers: Tokenizers | None = None,
) -> Path:
    """Returns the folder of the prepared corpus, `<root>/<name>-<fingerprint>`, and makes it where it is missing.

    A corpus is reused as long as its settings and its raw text are the same. The finished steps of an interrupted
    preparation lie in a hidden folder beside it, and are not done again.

    Args:
        root: the folder of all corpora.
        progress: show bars, and print what cleaning dropped.
        runner: what runs cleaning and encoding.
        tokenizers: see `Preparation`.

    Raises:
        UserError: the raw text or the settings do not make a corpus, or it cannot be written.
    """
    # The fingerprint of settings and text names the corpus, which may exist already.
    with system_errors(root):
        with patiently(f"reading {config.folder or config.name} and what it names", progress):
            source = open_source(config)
            stamps = source.stamps()
            digest = fingerprint(config, source, tokenizers)
        folder = root / f"{config.name}-{digest[:12]}"
        if folder.is_dir():
            return folder
        require(runner)
        evaluation = read_evaluation(config, source)  # first, so that mistakes in dev and test are found at once
        preparation = Preparation(config, source, digest, stamps, folder, progress, runner, tokenizers)
        # One process at a time makes a corpus; another may have made it while this one waited.
        root.mkdir(parents=True, exist_ok=True)
        waiting = f"waiting for another preparation in {folder}"
        with locked(folder.with_name(f".{folder.name}.lock"), lambda: say(waiting) if progress else None):
            if not folder.is_dir():
                _make(preparation, evaluation)
    return folder


def _make(preparation: Preparation, evaluation: dict[str, list[Example]]) -> None:
    """Makes the corpus. After an interruption the work folder stays, to go on from it; a UserError removes it."""
    work = preparation.work
    # A preparation never makes symbolic links. A work folder with some is not ours, and could lead to other files.
    if work.is_symlink() or any(path.is_symlink() for path in work.rglob("*")):
        remove(work)
    work.mkdir(exist_ok=True)
    try:
        with origin_named(preparation.config):
            raw_shards, duplicates = preparation.ingested()
            if not (work / _CORPUS).is_dir():  # else all shards are done, and being put together
                _encode(preparation, raw_shards)
        _put_together(preparation, raw_shards, duplicates, evaluation)
    except UserError:
        shutil.rmtree(work, ignore_errors=True)
        raise


def _encode(preparation: Preparation, raw_shards: list[RawShard]) -> None:
    """Makes the tokenizers and the encoded shards where they are missing."""
    config = preparation.config
    encoder = preparation.encoder

    def make(draft: Path) -> None:
        tokenizers = preparation.tokenizers
        if tokenizers is None:
            with patiently("learning the vocabulary", preparation.progress):
                tokenizers = vocabulary.learn(config, vocabulary.sample(raw_shards, config, encoder.reader))
        tokenizers.save(draft)

    _made_once(encoder.tokenizers, make)
    with Bar("prepare train", sum(raw.rows for raw in raw_shards), "pairs", shown=preparation.progress) as bar:
        for size in encode_shards(raw_shards, encoder, config.workers, preparation.runner):
            bar.update(size)
    preparation.require_unchanged()  # since encoding reads the files of sounds and pictures


def _put_together(
    preparation: Preparation,
    raw_shards: list[RawShard],
    duplicates: Duplicates,
    evaluation: dict[str, list[Example]],
) -> None:
    config = preparation.config
    encoder = preparation.encoder
    made = preparation.work / _CORPUS
    tokenizers = Tokenizers.load(encoder.tokenizers)
    shards = [encoder.shard(raw.number) for raw in raw_shards]
    train = Counts.of(shards, duplicates)
    unknown = {"train": train.unknown}
    # Dev and test are small, so each is written as one shard. Links between pieces guide training, so only train has
    # them.
    reader = encoder.reader._replace(link_unit=None)
    for split in corpus.SPLITS:
        (made / split).mkdir(parents=True, exist_ok=True)
    for split, examples in evaluation.items():
        table = writer.text_table(examples)
        unknown[split] = writer.write_shard(made / split / "data-00000.arrow", table, tokenizers, reader)
    # Training shards move into the corpus. Their digests are in their records.
    digests = {}
    for shard in shards:
        path = made / "train" / f"data-{shard.number:05}.arrow"
        if not path.is_file():
            encoder.path(shard.number).replace(path)
        digests[path] = shard.sha256
    # A corpus without training pairs is refused; else the user sees what cleaning dropped.
    if not train.left:
        raise all_dropped(train.read, train.dropped)
    if preparation.progress:
        source = preparation.source
        for line in report(config, source, evaluation, train, tokenizers, unknown, open_table(digests)):
            say(visible(line))
    # The finished corpus takes its place as a whole, and only then is the work folder removed.
    meta = _meta(preparation, train, tokenizers)
    if config.links == EFLOMAL:  # which draws at random, so that a repeated preparation makes another corpus
        meta["fingerprint"] = base.digest((preparation.fingerprint, raw.path) for raw in raw_shards)
    writer.finish(made, preparation.folder, tokenizers, meta, digests)
    shutil.rmtree(preparation.work)


def _meta(preparation: Preparation, train: Counts, tokenizers: Tokenizers) -> dict[str, Any]:
    config = preparation.config
    portions = [train.portions[number] for number in range(1 + len(config.mix))]
    return {
        "name": config.name,
        "fingerprint": preparation.fingerprint,
        "read": train.read,
        "dropped": dict(train.dropped.most_common()),
        "vocabulary": {"source": len(tokenizers.source), "target": len(tokenizers.target)},
        # The number of processes is left out, since the corpus is byte for byte the same.
        "settings": config.model_dump(mode="json", exclude={"workers"}),
        **({"portions": portions} if config.mix else {}),
    }


# The corpus of a new run, and that of an existing one.


def open_corpus(
    config: DatasetConfig, root: Path, tokenizers: Tokenizers | None = None, processes: "ProcessGroup | None" = None
) -> Corpus:
    """Opens the prepared corpus, and makes it where it is missing.

    tokenizers: see `Preparation`. processes: those that open it together; the first of them makes it, and each checks a
    share of its files.
    """

    def prepared() -> Path:
        return prepare(config, root, tokenizers=tokenizers)

    folder = prepared() if processes is None else processes.decided_by_first(prepared)
    share = ALL if processes is None else (processes.rank, processes.size)
    weights = [config.weight, *(mixed.weight for mixed in config.mix)] if config.mix else []
    opened = Corpus.open(folder, weights, share)
    for name in corpus.SPLITS:
        opened.split(name)  # finds damaged files before a run begins
    return opened


def corpus_of_run(config: DatasetConfig, root: Path, tokenizers: Tokenizers, *, inherited: bool, run: str) -> Corpus:
    """Opens the corpus that a run was trained on, and prepares it again where it is missing.

    Args:
        root: the folder of all corpora.
        tokenizers: the tokenizers of the run.
        inherited: whether the run took its tokenizers from an earlier run.
        run: the name of the run, for the error.

    Raises:
        UserError: the training text has changed.
    """
    corpus = Corpus.open(prepare(config, root, tokenizers=tokenizers if inherited else None))
    if corpus.tokenizers.digest() != tokenizers.digest():
        raise UserError(
            f"the corpus of {run} would now be prepared with another vocabulary, so its training text has changed: "
            "restore it, or decode your text with mt translate and score it with mt score"
        )
    return corpus
