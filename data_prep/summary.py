"""What preparation says of a dataset: sizes, what cleaning drops, vocabularies.

`Counts` adds up what is known of shards, a `Summary` has all that is told, and `report` tells it line by line.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Self

from data_prep.encode import DroppedPair, Shard
from mt.data.corpus import Example
from mt.data.dataset import DatasetConfig
from mt.data.fields import build_field
from mt.data.tokenizer import Tokenizer, TokenizerConfig, Tokenizers, Unwritten
from mt.errors import UserError

_MUCH = 0.05
"""The share of dropped pairs from which on a line begins with `_LOUD`."""
_LOUD = "!!!"


@dataclass
class Counts:
    """What cleaning made of the training pairs."""

    read: int = 0
    """Raw pairs."""
    dropped: Counter[str] = field(default_factory=Counter)
    """Raw pairs that cleaning drops, by reason."""
    shown: dict[str, DroppedPair] = field(default_factory=dict)
    """The first pair that each reason drops."""
    portions: Counter[int] = field(default_factory=Counter)
    """Pairs that stay, by the number of their corpus."""

    @classmethod
    def of(cls, shards: Iterable[Shard]) -> Self:
        """Adds up the shards, duplicates among them."""
        counts = cls()
        for shard in shards:
            counts.read += shard.read
            counts.dropped.update(shard.dropped)
            counts.shown = shard.shown | counts.shown
            counts.portions[shard.corpus] += shard.rows
        return counts

    @property
    def left(self) -> int:
        """Pairs that stay."""
        return self.read - self.dropped.total()


@dataclass(frozen=True)
class Summary:
    """What is known of a dataset once all of it has been read."""

    evaluation: dict[str, list[Example]]
    """dev and test, whole."""
    train: Counts
    tokenizers: Tokenizers
    unwritten: dict[str, dict[str, Unwritten]] = field(default_factory=dict)
    """What of its texts the tokenizers cannot write, by split and side."""


def unwritten_of(shards: Sequence[Shard]) -> dict[str, Unwritten]:
    """Adds up what of the texts of all shards the tokenizers cannot write, by side."""
    sides = dict.fromkeys(side for shard in shards for side in shard.unwritten)
    return {
        side: Unwritten.joined(Unwritten(*shard.unwritten[side]) for shard in shards if side in shard.unwritten)
        for side in sides
    }


def report(config: DatasetConfig, summary: Summary) -> Iterator[str]:
    """Yields lines on sizes, cleaning and vocabularies."""
    limit = f" (dataset.limit={config.limit})" if config.limit else ""
    train = summary.train
    yield f"train: {train.left:,} of {train.read:,} pairs kept{limit}; dropped: {listed(train.dropped)}"
    yield from _warning(train)
    yield "; ".join(f"{split}: {_size(examples)}" for split, examples in summary.evaluation.items())
    yield from _vocabularies(config, summary)
    yield from _unwritten(config, summary)


def _vocabularies(config: DatasetConfig, summary: Summary) -> Iterator[str]:
    if not build_field(config.field).written:
        tokenizer = summary.tokenizers.transcript
        transcript = "" if tokenizer is None else f"; char, {len(tokenizer):,} (transcript)"
        options = config.tokenizer.side("target")
        yield f"vocabulary: {options.model_type}, {_size_of(summary.tokenizers.target, options)} (target){transcript}"
        return
    sides = [config.tokenizer.side(side) for side in ("source", "target")]
    source, target = map(_size_of, summary.tokenizers, sides)
    types = [side.model_type for side in sides]
    if types[0] != types[1]:
        yield f"vocabulary: {types[0]}, {source} (source); {types[1]}, {target} (target)"
    else:
        sizes = f"{source}, joint" if summary.tokenizers.joint else f"{source} (source) and {target} (target)"
        yield f"vocabulary: {types[0]}, {sizes}"


def _size_of(tokenizer: Tokenizer, config: TokenizerConfig) -> str:
    """Says how many pieces a vocabulary has, and how many were asked for where these are more."""
    fewer = config.model_type in ("bpe", "unigram") and not config.model_file and len(tokenizer) < config.vocab_size
    return f"{len(tokenizer):,}" + (f" of at most {config.vocab_size:,}" if fewer else "")


def _unwritten(config: DatasetConfig, summary: Summary) -> Iterator[str]:
    """Yields lines on what the tokenizers cannot write, so that no model can read or write it, and what to do."""
    advice: dict[str, None] = {}
    for split, sides in summary.unwritten.items():
        for side, texts in sides.items():
            if texts.lost:
                loud = f"{_LOUD} " if texts.lost / texts.of > _MUCH else ""
                yield (
                    f"{loud}the tokenizer does not give back {texts.lost:,} of {texts.of:,} {side}s of {split}, "
                    f"for example '{texts.word}', which becomes '{texts.written}'"
                )
                advice[_remedy(config, "source" if side == "source" else "target")] = None
    yield from advice


def _remedy(config: DatasetConfig, side: Literal["source", "target"]) -> str:
    tokenizer = config.tokenizer.side(side)
    # A model that the user gives is not trained here, so only the user can change it.
    if tokenizer.model_file:
        return (
            f"  {tokenizer.model_file} normalises such text or lacks its characters: train the model with "
            "normalization_rule_name=identity and byte_fallback=true, or leave out dataset.tokenizer.model_file"
        )
    # Each kind of vocabulary has its own option that lets more characters in.
    if tokenizer.model_type == "word":
        return "  words beyond the vocabulary are unknown: raise dataset.tokenizer.vocab_size, or set model_type=bpe"
    if tokenizer.model_type == "char":
        return "  to keep more characters raise dataset.tokenizer.vocab_size, or dataset.tokenizer.character_coverage"
    if tokenizer.character_coverage < 1:
        return "  to keep all characters of the training text set dataset.tokenizer.character_coverage=1.0"
    # With full coverage the characters were simply not in the sample.
    return (
        "  the text that the vocabulary was learnt from has no such characters: raise dataset.tokenizer.sample, add "
        "text that has them, or give a SentencePiece model with byte_fallback=true as dataset.tokenizer.model_file; a "
        "run that starts from another has that one's pieces, and new ones with init.vocabulary=extend"
    )


def require_pairs(train: Counts) -> None:
    """Raises UserError where cleaning keeps none."""
    if train.left == 0:
        raise UserError(
            f"cleaning dropped all {train.read:,} training pairs ({listed(train.dropped)}): "
            "check that the two sides are what you meant, or loosen dataset.cleaning"
        )


def listed(dropped: Mapping[str, int]) -> str:
    """Writes what was dropped in one line, most first."""
    return ", ".join(f"{count:,} {reason}" for reason, count in Counter(dropped).most_common()) or "none"


def _size(examples: list[Example]) -> str:
    """Says how many pairs there are, and how many references where some have more than one."""
    references = sum(1 + len(example.more_references) for example in examples)
    return f"{len(examples):,} pairs" + (f" with {references:,} references" if references > len(examples) else "")


def _warning(train: Counts) -> Iterator[str]:
    """Yields what must not be overlooked where cleaning drops a large part."""
    share = 1 - train.left / train.read
    if share > _MUCH:
        yield (
            f"{_LOUD} cleaning drops {share:.1%} of the training pairs and nothing of dev and test, so that these "
            "differ from train:"
        )
        for reason, count in train.dropped.most_common():
            yield f"{_LOUD}   {count / train.read:6.1%} {reason}"
        yield f"{_LOUD} to keep them change the options in brackets, of dataset.cleaning; examples: dry_run=true"
