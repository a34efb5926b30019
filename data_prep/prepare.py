"""Raw text to a prepared corpus: clean, learn the vocabulary, encode, write."""

import hashlib
import json
import random
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from tqdm import tqdm

from data_prep.clean import checked, cleaned
from data_prep.sources import Source, open_source
from mt.data import corpus
from mt.data.corpus import Example
from mt.data.dataset import DatasetConfig
from mt.data.tokenizer import Tokenizers
from mt.errors import UserError

_NOT_IN_THE_CORPUS = {"name", "folder", "task", "metrics", "licence"}


@dataclass(frozen=True)
class Draft:
    """What is known of a dataset once all of it has been read."""

    evaluation: dict[str, list[Example]]
    """dev and test, whole."""
    sample: list[Example]
    """Cleaned training pairs, `tokenizer.sample` of them at the most, drawn evenly."""
    counts: dict[str, int]
    """`read` and `kept` training pairs."""
    dropped: Counter[str]
    """Training pairs that cleaning drops, by reason."""
    tokenizers: Tokenizers


def prepare(config: DatasetConfig, root: Path, *, progress: bool = True) -> Path:
    """The folder of the prepared corpus, `<root>/<name>-<fingerprint>`; made where it is missing.

    A corpus is reused as long as the settings and the raw text that made it are the same.

    Args:
        root: where corpora are kept.
        progress: show bars, and print what cleaning dropped.

    Raises:
        UserError: the raw text or the settings are not fit for a corpus.
    """
    source = open_source(config)
    mark = fingerprint(config, source)
    folder = root / f"{config.name}-{mark[:12]}"
    if folder.is_dir():
        return folder
    draft = read(config, source, progress=progress)
    if progress:
        print("\n".join(report(config, draft)))
    raw = _bar(source.examples("train"), "encode train", draft.counts["read"], progress)
    splits = {"train": _training_pairs(config, raw, Counter()), **draft.evaluation}
    meta = {
        "name": config.name,
        "fingerprint": mark,
        "read": draft.counts["read"],
        "dropped": dict(draft.dropped),
        "vocabulary": {"source": len(draft.tokenizers.source), "target": len(draft.tokenizers.target)},
        "settings": config.model_dump(mode="json"),
    }
    corpus.write(folder, splits, draft.tokenizers, meta)
    return folder


def fingerprint(config: DatasetConfig, source: Source) -> str:
    """SHA-256 (hex) of all that decides what the corpus holds."""
    settings = config.model_dump(mode="json", exclude=_NOT_IN_THE_CORPUS)
    text = json.dumps([corpus.FORMAT, settings, source.identity()], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def read(config: DatasetConfig, source: Source, *, progress: bool) -> Draft:
    """Read and check all splits, clean the training pairs, and learn the vocabularies.

    Memory holds dev, test and the sample, not the training pairs.
    """
    sizes = {split: source.size(split) for split in corpus.SPLITS}
    evaluation = {
        split: list(checked(source.examples(split), config.cleaning, source.places(split))) for split in ("dev", "test")
    }
    dropped: Counter[str] = Counter()
    raw = _bar(source.examples("train"), "clean train", sizes["train"], progress)
    kept, sample = _sample(_training_pairs(config, raw, dropped), config.tokenizer.sample)
    if kept == 0:
        reasons = ", ".join(f"{count:,} {reason}" for reason, count in dropped.most_common())
        raise UserError(
            f"cleaning dropped all {sizes['train']:,} training pairs ({reasons}): "
            "check that the two sides are what you meant, or loosen dataset.cleaning"
        )
    tokenizers = Tokenizers.train(config.tokenizer, [(pair.source, pair.target) for pair in sample])
    counts = {"read": sizes["train"], "kept": kept}
    return Draft(evaluation, sample, counts, dropped, tokenizers)


def report(config: DatasetConfig, draft: Draft) -> Iterator[str]:
    """Lines on sizes, cleaning and vocabularies."""
    reasons = ", ".join(f"{count:,} {reason}" for reason, count in draft.dropped.most_common()) or "none"
    limit = f" (dataset.limit={config.limit})" if config.limit else ""
    yield f"train: {draft.counts['kept']:,} of {draft.counts['read']:,} pairs kept{limit}; dropped: {reasons}"
    yield f"dev: {len(draft.evaluation['dev']):,} pairs; test: {len(draft.evaluation['test']):,} pairs"
    source, target = (f"{len(tokenizer):,}" for tokenizer in draft.tokenizers)
    sizes = f"{source}, joint" if draft.tokenizers.joint else f"{source} (source) and {target} (target)"
    yield f"vocabulary: {config.tokenizer.kind}, {sizes}"


def _training_pairs(config: DatasetConfig, raw: Iterable[Example], dropped: Counter[str]) -> Iterator[Example]:
    return islice(cleaned(raw, config.cleaning, dropped), config.limit)


def _sample(examples: Iterable[Example], size: int) -> tuple[int, list[Example]]:
    """The number of examples, and `size` of them with equal chances (Vitter 1985, algorithm R; the seed is fixed)."""
    draws = random.Random(0)
    count = 0
    sample: list[Example] = []
    for count, example in enumerate(examples, start=1):
        if len(sample) < size:
            sample.append(example)
        elif (place := draws.randrange(count)) < size:
            sample[place] = example
    return count, sample


def _bar(examples: Iterator[Example], name: str, total: int, progress: bool) -> Iterable[Example]:
    return tqdm(examples, desc=name, total=total, unit=" pairs", unit_scale=True, disable=not progress)
