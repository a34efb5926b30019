"""Raw text to a prepared corpus: learn the vocabulary of a sample, clean and encode all pairs in parts, merge these."""

import contextlib
import json
import shutil
from pathlib import Path
from typing import Any

from data_prep import merge, sampling, shards
from data_prep.job import TOKENIZERS, Job, fingerprint, placed, read_evaluation, settings_of, total
from data_prep.memory import guarded
from data_prep.parallel import Runner
from data_prep.parts import WHOLE, Part, Spans
from data_prep.patience import patiently
from data_prep.shards import Recipe
from data_prep.summary import Cleaned, Draft, Evaluation, report, require_pairs, unwritten_of
from data_prep.workshop import SETTINGS, alone, told, waiting, workshop
from mt.data import corpus, writer
from mt.data.dataset import DatasetConfig
from mt.data.tokenizer import Tokenizers
from mt.errors import UserError
from mt.progress import Bar
from mt.storage import locked, own_draft
from mt.terminal import say, visible

_LISTING = "shards.json"
"""Of the workshop: written by a merge, before it moves anything."""


@guarded()
def prepare(
    config: DatasetConfig,
    root: Path,
    *,
    progress: bool = True,
    runner: Runner = "processes",
    tokenizers: Tokenizers | None = None,
) -> Path:
    """The folder of the prepared corpus, `<root>/<name>-<fingerprint>`; made where it is missing, as one part.

    A corpus is reused as long as the settings and the raw text that made it are the same. What an interrupted
    preparation has finished waits in a hidden folder beside it, and is not done again.

    Args:
        root: where corpora are kept.
        progress: show bars, and print what cleaning dropped.
        runner: who cleans and encodes.
        tokenizers: those of an earlier run, to use in place of what `config.tokenizer` says; None: learn them.

    Raises:
        UserError: the raw text or the settings are not fit for a corpus, or the disk is not.
    """
    job = Job.of(config, root, progress, runner, tokenizers)
    if not job.folder.is_dir():
        evaluation = read_evaluation(config, job.source)
        with alone(job.folder, progress):
            # Another process may have made it while this one waited.
            if not job.folder.is_dir():
                with workshop(job.folder) as work:
                    try:
                        _prepare_part(job, work, WHOLE)
                        _merge(job, work, evaluation)
                    except UserError:
                        shutil.rmtree(work, ignore_errors=True)
                        raise
    return job.folder


@guarded()
def prepare_part(
    config: DatasetConfig, root: Path, part: Part, *, progress: bool = True, runner: Runner = "processes"
) -> Path:
    """Prepares one share of a corpus in the hidden folder that all of them have; see `prepare`.

    Gives the folder that `merge_parts` will make, which may be there already. Raises UserError as `prepare`.
    """
    job = Job.of(config, root, progress, runner)
    if not job.folder.is_dir():
        read_evaluation(config, job.source)  # what is wrong there is said at once
        with contextlib.ExitStack() as stack:
            stack.enter_context(told(job.folder))
            work = stack.enter_context(workshop(job.folder))
            stack.enter_context(locked(work / f".part-{part.number}-of-{part.of}.lock", waiting(work, progress)))
            _prepare_part(job, work, part)
    return job.folder


@guarded()
def merge_parts(config: DatasetConfig, root: Path, *, progress: bool = True, runner: Runner = "processes") -> Path:
    """The prepared corpus made of all its parts; see `prepare`. Raises UserError also where a part is missing."""
    job = Job.of(config, root, progress, runner)
    if not job.folder.is_dir():
        evaluation = read_evaluation(config, job.source)
        with alone(job.folder, progress):
            if not job.folder.is_dir():
                work = merge.require_parts(job.folder, settings_of(config))
                _merge(job, work, evaluation)
    return job.folder


def _prepare_part(job: Job, work: Path, part: Part) -> None:
    """Learns the vocabulary, where no part has, and makes the shards of one part."""
    if (work / _LISTING).is_file():
        return  # all parts are finished, and being merged
    with own_draft(work / SETTINGS) as draft:
        draft.write_text(json.dumps(settings_of(job.config)), encoding="utf-8")
    recipe = job.recipe(work)
    with placed(job.config):
        _learn(job, work, recipe)
        spans = job.spans(recipe)
        share = sum(len(spans.rows(span)) for span in part.of_count(spans.number))
        name = "prepare train" if part == WHOLE else f"prepare part {part}"
        with Bar(name, share, "pairs", shown=job.progress) as shown:
            for count in shards.make(
                job.source.splits["train"].read, spans, part, recipe, job.config.workers, job.runner
            ):
                shown.update(count)
    if fingerprint(job.config, job.source, job.tokenizers) != job.mark:
        for span in part.of_count(spans.number):
            recipe.forget(span)
        raise UserError(f"the text of {job.config.name} changed while it was read: start again once it is whole")


def _learn(job: Job, work: Path, recipe: Recipe) -> None:
    folder = work / TOKENIZERS
    with locked(work / ".vocabulary.lock", waiting(work, job.progress)):
        if folder.is_dir():
            return
        learnt = job.tokenizers
        if learnt is None:
            rows = total(job.config, job.source)
            with patiently("learning the vocabulary", job.progress):
                learnt = sampling.learn(
                    job.config, sampling.sample(job.source.splits["train"].read, rows, job.config, recipe.reader)
                )
        try:
            with own_draft(folder) as draft:
                draft.mkdir()
                learnt.save(draft)
        except OSError:
            if not folder.is_dir():  # on a file system without locks, another part may have learnt the same meanwhile
                raise


def _merge(job: Job, work: Path, evaluation: Evaluation) -> None:
    recipe, made = job.recipe(work), work / "corpus"
    spans = job.spans(recipe)
    found = merge.gathered(recipe, spans, work / _LISTING)
    lost = {"train": unwritten_of(found)}
    draft = Draft(evaluation, Cleaned.of(found), Tokenizers.load(work / TOKENIZERS), lost)
    for split in corpus.SPLITS:
        (made / split).mkdir(parents=True, exist_ok=True)
    for split, examples in evaluation.items():
        path = made / split / "data-00000.arrow"
        table = writer.text_table(examples)
        draft.unwritten[split] = writer.write_shard(path, table, draft.tokenizers, recipe.reader)
        writer.finish_split(made / split, [path.name], recipe.reader.field, transcribed=recipe.transcribed)
    with Bar("merge train", len(found), "shards", shown=job.progress) as shown:
        digests = {}
        for path, digest in merge.write(found, recipe, made / "train", draft.train, job.config.workers, job.runner):
            digests[path] = digest
            shown.update()
    require_pairs(draft.train)
    if job.progress:
        for line in (*job.source.notes(), *report(job.config, draft)):
            say(visible(line))
    writer.finish(made, job.folder, draft.tokenizers, _meta(job, draft, spans), digests)
    shutil.rmtree(work)


def _meta(job: Job, draft: Draft, spans: Spans) -> dict[str, Any]:
    portions = [0] * (1 + len(job.config.mix))
    for span, kept in draft.train.kept_of.items():
        portions[spans.portion(span)] += kept
    return {
        "name": job.config.name,
        "fingerprint": job.mark,
        "read": draft.train.read,
        "dropped": dict(draft.train.dropped.most_common()),
        "vocabulary": {"source": len(draft.tokenizers.source), "target": len(draft.tokenizers.target)},
        # Not how many processes made it: the corpus is the same, byte for byte.
        "settings": job.config.model_dump(mode="json", exclude={"workers"}),
        **({"portions": portions} if job.config.mix else {}),
    }
