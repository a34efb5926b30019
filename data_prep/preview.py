"""What preparation would do, without writing anything."""

import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Literal

import pyarrow as pa

from data_prep import sampling, shards
from data_prep.job import Job, placed, read_evaluation, total
from data_prep.merge import repeated
from data_prep.parts import WHOLE
from data_prep.summary import Cleaned, Draft, report, require_pairs
from mt.data.corpus import Example
from mt.data.dataset import DatasetConfig
from mt.data.fields import build_field
from mt.data.tokenizer import UNK, Tokenizer, Tokenizers, Unwritten, unwritten
from mt.errors import UserError
from mt.progress import Bar

Side = Literal["source", "target"]
_EDGES = (5, 10, 20, 40, 80, 160)  # pieces
_MEASURED = 20_000  # training pairs
_SHOWN = 5


def preview(config: DatasetConfig) -> Iterator[str]:
    """Lines: sizes and what cleaning drops, length histograms, unknown rates, and tokenised pairs.

    The training text lies in the system's temporary folder meanwhile.

    Raises:
        UserError: as `data_prep.prepare.prepare`.
    """
    job = Job.of(config, Path(), progress=True, runner="processes")
    evaluation = read_evaluation(config, job.source)
    try:
        with tempfile.TemporaryDirectory() as folder, placed(config):
            recipe = replace(job.recipe(Path(folder)), tokenizers=None)
            sample = sampling.sample(job.source.splits["train"].read, total(config, job.source), config, recipe.reader)
            tokenizers = sampling.learn(config, sample)
            sides: tuple[Side, ...] = ("source", "target") if build_field(config.field).written else ("target",)
            lost: dict[str, dict[str, Unwritten]] = {
                split: {side: _unwritten(examples, tokenizers, side) for side in sides}
                for split, examples in {"train": sample, **evaluation}.items()
            }
            draft = Draft(evaluation, _cleaned(job, recipe), tokenizers, lost)
    except OSError as error:
        raise UserError(
            f"the training text does not fit into the temporary folder ({error}): set TMPDIR to a larger one, or look "
            "at the first pairs with dataset.limit=100000"
        ) from error
    yield from job.source.notes()
    sample = sample[:: -(-len(sample) // _MEASURED)]
    yield from report(config, draft)
    yield from _dropped(draft)
    written = build_field(config.field).written
    yield from _lengths(draft, sample, written)
    yield from _unknown(draft, written)
    yield "tokenised training pairs:"
    for example in sample[:: max(1, len(sample) // _SHOWN)][:_SHOWN]:
        yield f"  source  {' '.join(draft.tokenizers.source.split(example.source)) if written else example.source}"
        yield f"  target  {' '.join(draft.tokenizers.target.split(example.target))}"


def _unwritten(examples: list[Example], tokenizers: Tokenizers, side: Side) -> Unwritten:
    """What of one side of the examples its tokenizer cannot write."""
    tokenizer = getattr(tokenizers, side)
    texts = [
        text for one in examples for text in ([one.source] if side == "source" else [one.target, *one.more_references])
    ]
    return unwritten(tokenizer, pa.array(texts, pa.string()), tokenizer.encode_column(texts))


def _cleaned(job: Job, recipe: shards.Recipe) -> Cleaned:
    """The training pairs, cleaned in the folder of the recipe."""
    spans = job.spans(recipe)
    with Bar("clean train", spans.total, "pairs") as shown:
        for count in shards.make(job.source.splits["train"].read, spans, WHOLE, recipe, job.config.workers):
            shown.update(count)
    records = (shards.load(recipe, span) for span in range(spans.number))
    found = [shard for record in records if record for shard in record.shards]
    train = Cleaned.of(found)
    for _ in repeated(found, recipe, train):
        pass
    require_pairs(train)
    return train


def _dropped(draft: Draft) -> Iterator[str]:
    for reason, (number, source, target) in draft.train.shown.items():
        yield f"dropped as {reason}, for example{f' pair {number:,}' if number else ''}: {source!r} | {target!r}"


def _lengths(draft: Draft, sample: list[Example], written: bool) -> Iterator[str]:
    """written: whether sources are text, whose pieces are counted too."""
    sides = {"target": [len(ids) for ids in draft.tokenizers.target.encode([example.target for example in sample])]}
    if written:
        ids = draft.tokenizers.source.encode([example.source for example in sample])
        sides = {"source": [len(one) for one in ids], **sides}
    yield f"length in pieces (of {len(sample):,} training pairs)   {'   '.join(sides)}"
    lower = 1
    for upper in (*_EDGES, max(map(max, sides.values()))):
        if lower > upper:
            break
        shares = [sum(lower <= length <= upper for length in lengths) / len(lengths) for lengths in sides.values()]
        yield f"  {lower:>6,} to {upper:>6,}   {'  '.join(f'{share:>7.1%}' for share in shares)}"
        lower = upper + 1


def _unknown(draft: Draft, written: bool) -> Iterator[str]:
    for split, examples in draft.evaluation.items():
        rates = {"target": _unknown_rate(draft.tokenizers.target, [example.target for example in examples])}
        if written:
            source = _unknown_rate(draft.tokenizers.source, [example.source for example in examples])
            rates = {"source": source, **rates}
        yield f"unknown pieces in {split}: {', '.join(f'{side} {rate:.2%}' for side, rate in rates.items())}"


def _unknown_rate(tokenizer: Tokenizer, texts: list[str]) -> float:
    """The share of the pieces; EOS, which ends each text and is never unknown, does not count."""
    ids = [i for sequence in tokenizer.encode(texts) for i in sequence[:-1]]
    return ids.count(UNK) / max(len(ids), 1)
