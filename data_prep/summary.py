"""What preparation says of a dataset: sizes, what cleaning drops, vocabularies."""

from collections.abc import Iterator
from dataclasses import dataclass

from data_prep.shards import Shards
from mt.data.corpus import Example
from mt.data.dataset import DatasetConfig
from mt.data.fields import build_field
from mt.data.tokenizer import Tokenizers

_MUCH = 0.05
"""The share of dropped pairs that is told loudly."""
_LOUD = "!!!"

Evaluation = dict[str, list[Example]]
"""dev and test, whole."""


@dataclass(frozen=True)
class Draft:
    """What is known of a dataset once all of it has been read."""

    evaluation: Evaluation
    shards: Shards
    """The cleaned training pairs."""
    tokenizers: Tokenizers


def report(config: DatasetConfig, draft: Draft) -> Iterator[str]:
    """Lines on sizes, cleaning and vocabularies."""
    limit = f" (dataset.limit={config.limit})" if config.limit else ""
    yield f"train: {draft.shards.kept:,} of {draft.shards.read:,} pairs kept{limit}; dropped: {reasons(draft.shards)}"
    yield from _warning(draft.shards)
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


def reasons(kept: Shards) -> str:
    """What was dropped, for one line."""
    return ", ".join(f"{count:,} {reason}" for reason, count in kept.dropped.items()) or "none"


def _size(examples: list[Example]) -> str:
    """How many pairs, and how many references where some have more than one."""
    references = sum(1 + len(example.more_references) for example in examples)
    return f"{len(examples):,} pairs" + (f" with {references:,} references" if references > len(examples) else "")


def _warning(kept: Shards) -> Iterator[str]:
    """What must not be overlooked where cleaning drops a large part."""
    share = 1 - kept.kept / kept.read
    if share > _MUCH:
        yield (
            f"{_LOUD} cleaning drops {share:.1%} of the training pairs and nothing of dev and test, so that these "
            "differ from train:"
        )
        for reason, count in kept.dropped.items():
            yield f"{_LOUD}   {count / kept.read:6.1%} {reason}"
        yield f"{_LOUD} to keep them change the options in brackets, of dataset.cleaning; examples: dry_run=true"
