"""Raw text to a prepared corpus: learn the vocabulary of a sample, clean and encode all pairs in parts, merge these."""

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from data_prep import merge, sampling, shards
from data_prep.memory import guarded
from data_prep.parallel import Runner
from data_prep.parts import MERGE, WHOLE, Chunk, Merge, Part
from data_prep.patience import patiently
from data_prep.preparation import (
    TOKENIZERS,
    Preparation,
    fingerprint,
    origin_named,
    read_evaluation,
    settings_of,
    total,
)
from data_prep.shards import ShardBuilder
from data_prep.summary import Counts, Summary, report, require_pairs, unwritten_of
from data_prep.work_folder import SETTINGS, exclusive, waiting, work_folder
from mt.common.terminal import Bar, say
from mt.data import corpus, writer
from mt.data.corpus import Example
from mt.data.dataset import DatasetConfig
from mt.data.tokenizer import Tokenizers
from mt.errors import UserError, visible
from mt.storage import locked, replaced_by_any

_MANIFEST = "shards.json"
"""Lists all shards in the work folder: a merge writes it before it moves anything."""


@guarded()
def prepare(
    config: DatasetConfig,
    root: Path,
    *,
    part: Part | Merge | None = None,
    progress: bool = True,
    runner: Runner = "processes",
    tokenizers: Tokenizers | None = None,
) -> Path:
    """Returns the folder of the prepared corpus, `<root>/<name>-<fingerprint>`; made where it is missing.

    A corpus is reused as long as the settings and the raw text that made it are the same. What an interrupted
    preparation has finished waits in a hidden folder beside it, and is not done again.

    Args:
        root: where corpora are. part: prepares only this part, in the hidden folder that all parts have; the folder
        that is returned is then made
            by `part=MERGE`, of all parts. None: the whole corpus.
        progress: show bars, and print what cleaning dropped.
        runner: who cleans and encodes.
        tokenizers: those of an earlier run, to use in place of what `config.tokenizer` says; None: learn them.

    Raises:
        UserError: the raw text or the settings are not fit for a corpus, the disk is not, or a part is missing.
    """
    preparation = Preparation.of(config, root, progress, runner, tokenizers)
    folder = preparation.folder
    if folder.is_dir():
        return folder
    evaluation = read_evaluation(config, preparation.source)  # for a part too: what is wrong there is refused at once
    if isinstance(part, Part):
        lock = f".part-{part.number}-of-{part.of}.lock"
        with work_folder(folder) as work, locked(work / lock, waiting(work, progress)):
            _prepare_part(preparation, work, part)
        return folder
    with exclusive(folder, progress):
        if folder.is_dir():
            pass  # another process has made it while this one waited
        elif part == MERGE:
            _merge(preparation, merge.require_parts(folder, settings_of(config)), evaluation)
        else:
            _prepare_whole(preparation, evaluation)
    return folder


def _prepare_whole(preparation: Preparation, evaluation: dict[str, list[Example]]) -> None:
    """Makes the corpus as one part. After a UserError nothing of it is left to go on from."""
    with work_folder(preparation.folder) as work:
        try:
            _prepare_part(preparation, work, WHOLE)
            _merge(preparation, work, evaluation)
        except UserError:
            shutil.rmtree(work, ignore_errors=True)
            raise


def _prepare_part(preparation: Preparation, work: Path, part: Part) -> None:
    """Learns the vocabulary, where no part has, and makes the shards of one part."""
    if (work / _MANIFEST).is_file():
        return  # all parts are finished, and being merged
    with replaced_by_any(work / SETTINGS) as draft:
        draft.write_text(json.dumps(settings_of(preparation.config)), encoding="utf-8")
    builder = preparation.builder(work)
    with origin_named(preparation.config):
        _learn(preparation, work, builder)
        chunks = preparation.chunks(builder)
        share = part.of_count(len(chunks))
        name = "prepare train" if part == WHOLE else f"prepare part {part}"
        count = sum(len(chunks[number].rows) for number in share)
        with Bar(name, count, "pairs", shown=preparation.progress) as bar:
            workers = preparation.config.workers
            for size in shards.build(preparation.train.read, chunks, part, builder, workers, preparation.runner):
                bar.update(size)
    if fingerprint(preparation.config, preparation.source, preparation.tokenizers) != preparation.fingerprint:
        for number in share:
            builder.forget(number)
        raise UserError(
            f"the text of {preparation.config.name} changed while it was read: start again once it is whole"
        )


def _learn(preparation: Preparation, work: Path, builder: ShardBuilder) -> None:
    folder = work / TOKENIZERS
    config = preparation.config
    with locked(work / ".vocabulary.lock", waiting(work, preparation.progress)):
        if folder.is_dir():
            return
        tokenizers = preparation.tokenizers
        if tokenizers is None:
            rows = total(config, preparation.source)
            with patiently("learning the vocabulary", preparation.progress):
                sample = sampling.sample(preparation.train.read, rows, config, builder.reader)
                tokenizers = sampling.learn(config, sample)
        try:
            with replaced_by_any(folder) as draft:
                draft.mkdir()
                tokenizers.save(draft)
        except OSError:
            if not folder.is_dir():  # on a file system without locks, another part may have learnt the same meanwhile
                raise


def _merge(preparation: Preparation, work: Path, evaluation: dict[str, list[Example]]) -> None:
    config = preparation.config
    builder = preparation.builder(work)
    chunks = preparation.chunks(builder)
    all_shards = merge.all_shards(builder, len(chunks), work / _MANIFEST)
    tokenizers = Tokenizers.load(work / TOKENIZERS)
    summary = Summary(evaluation, Counts.of(all_shards), tokenizers, {"train": unwritten_of(all_shards)})
    made = work / "corpus"
    for split in corpus.SPLITS:
        (made / split).mkdir(parents=True, exist_ok=True)
    for split, examples in evaluation.items():
        path = made / split / "data-00000.arrow"
        table = writer.text_table(examples)
        summary.unwritten[split] = writer.write_shard(path, table, tokenizers, builder.reader)
        writer.finish_split(made / split, [path.name], builder.reader.field, transcribed=builder.transcribed)
    with Bar("merge train", len(all_shards), "shards", shown=preparation.progress) as bar:
        digests = {}
        written = merge.write(all_shards, builder, made / "train", summary.train, config.workers, preparation.runner)
        for path, digest in written:
            digests[path] = digest
            bar.update()
    require_pairs(summary.train)
    if preparation.progress:
        for line in (*preparation.source.notes(), *report(config, summary)):
            say(visible(line))
    writer.finish(made, preparation.folder, tokenizers, _meta(preparation, summary, chunks), digests)
    shutil.rmtree(work)


def _meta(preparation: Preparation, summary: Summary, chunks: Sequence[Chunk]) -> dict[str, Any]:
    config = preparation.config
    portions = [0] * (1 + len(config.mix))
    for chunk, count in summary.train.by_chunk.items():
        portions[chunks[chunk].corpus] += count
    return {
        "name": config.name,
        "fingerprint": preparation.fingerprint,
        "read": summary.train.read,
        "dropped": dict(summary.train.dropped.most_common()),
        "vocabulary": {"source": len(summary.tokenizers.source), "target": len(summary.tokenizers.target)},
        # Not how many processes made it: the corpus is the same, byte for byte.
        "settings": config.model_dump(mode="json", exclude={"workers"}),
        **({"portions": portions} if config.mix else {}),
    }
