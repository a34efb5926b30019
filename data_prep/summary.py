"""What preparation says of a dataset: sizes, what cleaning drops, vocabularies."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Self

from data_prep.shards import Shard, Shown
from mt.data.corpus import Example
from mt.data.dataset import DatasetConfig
from mt.data.fields import build_field
from mt.data.tokenizer import Tokenizers, Unwritten
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
    unwritten: dict[str, dict[str, Unwritten]] = field(default_factory=dict)
    """What of its texts the tokenizers cannot write, by split and side."""


def unwritten_of(shards: Sequence[Shard]) -> dict[str, Unwritten]:
    """What of the texts of all shards the tokenizers cannot write, by side."""
    sides = dict.fromkeys(side for shard in shards for side in shard.unwritten)
    return {
        side: Unwritten.joined(Unwritten(*shard.unwritten[side]) for shard in shards if side in shard.unwritten)
        for side in sides
    }


def report(config: DatasetConfig, draft: Draft) -> Iterator[str]:
    """Lines on sizes, cleaning and vocabularies."""
    limit = f" (dataset.limit={config.limit})" if config.limit else ""
    train = draft.train
    yield f"train: {train.kept:,} of {train.read:,} pairs kept{limit}; dropped: {listed(train.dropped)}"
    yield from _warning(train)
    yield "; ".join(f"{split}: {_size(examples)}" for split, examples in draft.evaluation.items())
    yield from _vocabularies(config, draft)
    yield from _unwritten(config, draft)


def _vocabularies(config: DatasetConfig, draft: Draft) -> Iterator[str]:
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


def _unwritten(config: DatasetConfig, draft: Draft) -> Iterator[str]:
    """What the tokenizers cannot write, so that no model can read or write it, and what to do."""
    advice: dict[str, None] = {}
    for split, sides in draft.unwritten.items():
        for side, found in sides.items():
            if found.lost:
                loud = f"{_LOUD} " if found.lost / found.of > _MUCH else ""
                yield (
                    f"{loud}the tokenizer does not give back {found.lost:,} of {found.of:,} {side}s of {split}, for "
                    f"example '{found.word}', which becomes '{found.written}'"
                )
                advice[_remedy(config, "source" if side == "source" else "target")] = None
    yield from advice


def _remedy(config: DatasetConfig, side: Literal["source", "target"]) -> str:
    tokenizer = config.tokenizer.side(side)
    if tokenizer.model_file:
        return (
            f"  {tokenizer.model_file} normalises such text or lacks its characters: train the model with "
            "normalization_rule_name=identity and byte_fallback=true, or leave out dataset.tokenizer.model_file"
        )
    if tokenizer.model_type == "word":
        return "  words beyond the vocabulary are unknown: raise dataset.tokenizer.vocab_size, or set model_type=bpe"
    if tokenizer.model_type == "char":
        return "  to keep more characters raise dataset.tokenizer.vocab_size, or dataset.tokenizer.character_coverage"
    if tokenizer.character_coverage < 1:
        return "  to keep all characters of the training text set dataset.tokenizer.character_coverage=1.0"
    return (
        "  the text that the vocabulary was learnt from has no such characters: raise dataset.tokenizer.sample, add "
        "text that has them, or give a SentencePiece model with byte_fallback=true as dataset.tokenizer.model_file"
    )


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
