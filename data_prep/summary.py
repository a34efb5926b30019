"""What preparation says of a dataset: sizes, what cleaning drops, vocabularies."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Self

from data_prep.shards import Shard, Shown
from mt.data.corpus import Example
from mt.data.dataset import DatasetConfig
from mt.data.fields import build_field
from mt.data.tokenizer import Tokenizers
from mt.errors import UserError

_MUCH = 0.05
"""The share of dropped pairs that is told loudly."""
_LOUD = "!!!"

Evaluation = dict[str, list[Example]]
"""dev and test, whole."""


@dataclass
class Cleaned:
    """What cleaning made of the training pairs."""

    read: int = 0
    """Raw pairs."""
    dropped: Counter[str] = field(default_factory=Counter)
    """Raw pairs that cleaning drops, by reason."""
    shown: dict[str, Shown] = field(default_factory=dict)
    """The first pair that each reason drops."""
    kept_of: Counter[int] = field(default_factory=Counter)
    """Pairs that stay, by the number of their span."""

    @classmethod
    def of(cls, shards: Iterable[Shard]) -> Self:
        """The shards together, duplicates kept."""
        found = cls()
        for shard in shards:
            found.read += shard.read
            found.dropped.update(shard.dropped)
            found.shown = shard.shown | found.shown
            found.kept_of[shard.span] += shard.rows
        return found

    @property
    def kept(self) -> int:
        return self.read - self.dropped.total()


@dataclass(frozen=True)
class Draft:
    """What is known of a dataset once all of it has been read."""

    evaluation: Evaluation
    train: Cleaned
    tokenizers: Tokenizers


def report(config: DatasetConfig, draft: Draft) -> Iterator[str]:
    """Lines on sizes, cleaning and vocabularies."""
    limit = f" (dataset.limit={config.limit})" if config.limit else ""
    train = draft.train
    yield f"train: {train.kept:,} of {train.read:,} pairs kept{limit}; dropped: {listed(train.dropped)}"
    yield from _warning(train)
    yield "; ".join(f"{split}: {_size(examples)}" for split, examples in draft.evaluation.items())
    if not build_field(config.field).written:
        said = draft.tokenizers.transcript
        transcript = "" if said is None else f"; char, {len(said):,} (transcript)"
        target = f"{len(draft.tokenizers.target):,} (target)"
        yield f"vocabulary: {config.tokenizer.side('target').model_type}, {target}{transcript}"
        return
    source, target = (f"{len(tokenizer):,}" for tokenizer in draft.tokenizers)
    types = [config.tokenizer.side(side).model_type for side in ("source", "target")]
    if types[0] != types[1]:
        yield f"vocabulary: {types[0]}, {source} (source); {types[1]}, {target} (target)"
    else:
        sizes = f"{source}, joint" if draft.tokenizers.joint else f"{source} (source) and {target} (target)"
        yield f"vocabulary: {types[0]}, {sizes}"


def require_pairs(train: Cleaned) -> None:
    """Raises UserError where cleaning keeps none."""
    if train.kept == 0:
        raise UserError(
            f"cleaning dropped all {train.read:,} training pairs ({listed(train.dropped)}): "
            "check that the two sides are what you meant, or loosen dataset.cleaning"
        )


def listed(dropped: Mapping[str, int]) -> str:
    """What was dropped, for one line, most first."""
    return ", ".join(f"{count:,} {reason}" for reason, count in Counter(dropped).most_common()) or "none"


def _size(examples: list[Example]) -> str:
    """How many pairs, and how many references where some have more than one."""
    references = sum(1 + len(example.more_references) for example in examples)
    return f"{len(examples):,} pairs" + (f" with {references:,} references" if references > len(examples) else "")


def _warning(train: Cleaned) -> Iterator[str]:
    """What must not be overlooked where cleaning drops a large part."""
    share = 1 - train.kept / train.read
    if share > _MUCH:
        yield (
            f"{_LOUD} cleaning drops {share:.1%} of the training pairs and nothing of dev and test, so that these "
            "differ from train:"
        )
        for reason, count in train.dropped.most_common():
            yield f"{_LOUD}   {count / train.read:6.1%} {reason}"
        yield f"{_LOUD} to keep them change the options in brackets, of dataset.cleaning; examples: dry_run=true"
