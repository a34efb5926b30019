"""The report of a preparation: sizes, dropped pairs, vocabularies.

`Counts` adds up the records of shards. `report` makes the lines that are printed.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, islice
from typing import Self

import pyarrow as pa
import pyarrow.compute as pc

from data_prep.encode import DroppedPair, Shard, shown_pair
from data_prep.hints import places
from data_prep.ingest import Duplicates
from data_prep.sources import Source
from mt.data.corpus import Example
from mt.data.dataset import DatasetConfig
from mt.data.fields import build_field
from mt.data.tokenizer import Tokenizer, TokenizerConfig, Tokenizers
from mt.data.writer import Unknown
from mt.errors import UserError, counted
from mt.text_io import comparable

_DUPLICATE = "duplicate (drop_duplicates)"
_MUCH = 0.05
"""If a larger share of pairs is dropped, or of texts has unknown pieces, a line begins with `_LOUD`."""
_LOUD = "!!!"


@dataclass
class Counts:
    """Counts of the training pairs, before and after cleaning."""

    read: int = 0
    """Raw pairs."""
    dropped: Counter[str] = field(default_factory=Counter)
    """Raw pairs that cleaning drops, by reason."""
    shown: dict[str, DroppedPair] = field(default_factory=dict)
    """The first pair that each reason drops."""
    portions: Counter[int] = field(default_factory=Counter)
    """Pairs that stay, by the number of their corpus."""
    unknown: dict[str, Unknown] = field(default_factory=dict)
    """How many texts have unknown pieces, by side."""

    @classmethod
    def of(cls, shards: Iterable[Shard], duplicates: Duplicates) -> Self:
        """Adds up the records of shards, and the duplicates, which were left out before."""
        counts = cls()
        for shard in shards:
            counts.read += shard.read
            counts.dropped.update(shard.dropped)
            counts.shown = shard.shown | counts.shown
            counts.portions[shard.corpus] += shard.rows
            for side, (some, of) in shard.unknown.items():
                some_before, of_before = counts.unknown.get(side, (0, 0))
                counts.unknown[side] = some_before + some, of_before + of
        if duplicates.shown:
            counts.read += duplicates.pairs
            counts.dropped[_DUPLICATE] = duplicates.pairs
            counts.shown[_DUPLICATE] = shown_pair(None, *duplicates.shown)
        return counts

    @property
    def left(self) -> int:
        """Pairs that stay."""
        return self.read - self.dropped.total()


def report(
    config: DatasetConfig,
    source: Source,
    evaluation: Mapping[str, list[Example]],
    train: Counts,
    tokenizers: Tokenizers,
    unknown: Mapping[str, Mapping[str, Unknown]],
    pairs: pa.Table,
) -> Iterator[str]:
    """Yields the notes of the source, and lines on sizes, cleaning, spelling and vocabularies.

    source: the raw text, for the places of pairs. evaluation: dev and test. unknown: how many texts have unknown
    pieces, by split and side. pairs: training pairs.
    """
    yield from source.notes()
    limit = f" (dataset.limit={config.limit})" if config.limit else ""
    yield f"train: {train.left:,} of {train.read:,} pairs kept{limit}; dropped: {_listed(train.dropped)}"
    yield from _warning(train)
    lines = places(source, config.limit, train.shown.values())
    for reason, (number, one, other) in train.shown.items():
        place = f"{lines.get((one, other), f'pair {number:,}')}: " if number else ""
        yield f"dropped as {reason}, for example {place}{one!r} | {other!r}"
    yield "; ".join(f"{split}: {_size(examples, pairs['source'])}" for split, examples in evaluation.items())
    yield from _spellings(pairs, evaluation, ("source", "target") if build_field(config.field).written else ("target",))
    yield f"vocabulary: {_vocabularies(config, tokenizers)}"
    yield from _unknown(config, unknown, tokenizers)
    yield from _rewritten(config, evaluation, tokenizers)


def _spellings(pairs: pa.Table, evaluation: Mapping[str, list[Example]], sides: Iterable[str]) -> Iterator[str]:
    """Yields a line for each side of dev and test that is spelt otherwise than training pairs, with other accents or
    apostrophes, say. A model spells as train does, and is wrong by such references."""
    for side in sides:
        # Some 40,000 sentences are enough; of the millions of a large corpus, no more are made texts of Python.
        train = Counter(islice(chain.from_iterable(map(str, pairs[side])), 4 << 20))
        for split, examples in evaluation.items():
            own = Counter("".join(getattr(example, side) for example in examples))
            sizes = train.total(), own.total() or 1
            shares = {one: (1e4 * train[one] / sizes[0], 1e4 * own[one] / sizes[1]) for one in train | own}
            # A character counts if it is five times as frequent on one side, and frequent there: five of 10,000 or
            # more, and 60 in the shorter text, so that it is not by chance.
            least = max(5, 6e5 / min(sizes))
            far = [one for one, both in shares.items() if max(both) > max(least, 5 * min(both))]
            if far:
                far.sort(key=lambda one: -max(shares[one]))
                listed = ", ".join(f"{one!r} {shares[one][0]:.0f} and {shares[one][1]:.0f}" for one in far[:8])
                yield f"{_LOUD} {side}s of train and {split} are spelt differently; of 10,000 characters: {listed}"


def _vocabularies(config: DatasetConfig, tokenizers: Tokenizers) -> str:
    """Describes the vocabularies: their kinds and sizes."""
    source, target = (config.tokenizer.side(side) for side in ("source", "target"))  # type: ignore[arg-type]
    sizes = _size_of(tokenizers.source, source), _size_of(tokenizers.target, target)
    if not build_field(config.field).written:
        transcript = f"; char, {len(tokenizers.transcript):,} (transcript)" if tokenizers.transcript else ""
        return f"{target.model_type}, {sizes[1]} (target){transcript}"
    if source.model_type != target.model_type:
        return f"{source.model_type}, {sizes[0]} (source); {target.model_type}, {sizes[1]} (target)"
    both = f"{sizes[0]}, joint" if tokenizers.joint else f"{sizes[0]} (source) and {sizes[1]} (target)"
    return f"{source.model_type}, {both}"


def _size_of(tokenizer: Tokenizer, config: TokenizerConfig) -> str:
    """Writes the size of a vocabulary, and the configured size where that is larger."""
    fewer = config.model_type in ("bpe", "unigram") and not config.model_file and len(tokenizer) < config.vocab_size
    return f"{len(tokenizer):,}" + (f" of at most {config.vocab_size:,}" if fewer else "")


def _unknown(
    config: DatasetConfig, unknown: Mapping[str, Mapping[str, Unknown]], tokenizers: Tokenizers
) -> Iterator[str]:
    """Yields lines on texts with unknown pieces, which no model can read or write whole, and advice."""
    # The advice depends on the kinds of tokenizers that have unknown pieces; "all" has every piece of its texts.
    kinds = set()
    for split, sides in unknown.items():
        for side, (some, of) in sides.items():
            if some:
                loud = f"{_LOUD} " if some / of > _MUCH else ""
                yield f"{loud}the vocabulary lacks something of {some:,} of {of:,} {side}s of {split}"
                options = config.tokenizer.side(side)  # type: ignore[arg-type]
                room = len(getattr(tokenizers, side)) < options.vocab_size and options.character_coverage == 1
                has_all = room and options.model_type not in ("bpe", "unigram") and not options.model_file
                kinds.add("all" if has_all else options.model_type)
    if "all" in kinds:
        yield (
            "  nothing of the training pairs is beyond it: look for misspellings and for phones without blanks between "
            "them, or add pairs with what is new"
        )
    if "word" in kinds:
        yield "  words beyond the vocabulary are unknown: raise dataset.tokenizer.vocab_size, or set model_type=bpe"
    if kinds - {"word", "all"}:
        yield (
            "  to know more characters raise dataset.tokenizer.vocab_size, .character_coverage or .sample, or give a "
            "SentencePiece model with byte_fallback=true as dataset.tokenizer.model_file"
        )


def _rewritten(config: DatasetConfig, evaluation: Mapping[str, list[Example]], tokenizers: Tokenizers) -> Iterator[str]:
    """Yields a line for each side of dev and test that the user's own SentencePiece model changes. Most models
    normalize text."""
    for split, examples in evaluation.items():
        for side, tokenizer in zip(("source", "target"), tokenizers, strict=True):
            model_file = config.tokenizer.side(side).model_file  # type: ignore[arg-type]
            if model_file is None or (side == "source" and not build_field(config.field).written):
                continue
            # Each word is encoded and decoded once, and compared as metrics compare texts.
            texts = [getattr(example, side) for example in examples]
            words = [*dict.fromkeys(word for text in texts for word in text.split())]
            written = {word: tokenizer.decode(ids) for word, ids in zip(words, tokenizer.encode(words), strict=True)}
            same = partial(comparable, lowercase=tokenizer.lowercases)
            lost = [word for word in words if same(word) != same(written[word])]
            if lost:
                count = sum(not set(lost).isdisjoint(text.split()) for text in texts)
                yield (
                    f"{model_file} changes {count:,} of {len(texts):,} {side}s of {split}, for example '{lost[0]}', "
                    f"which becomes '{written[lost[0]]}': train the model with normalization_rule_name=identity and "
                    "byte_fallback=true, or leave out dataset.tokenizer.model_file"
                )


def all_dropped(count: int, dropped: Mapping[str, int], kind: str = "training pairs") -> UserError:
    """Returns the error for cleaning that keeps no pair."""
    return UserError(
        f"cleaning dropped all {count:,} {kind} ({_listed(dropped)}): check that the two sides are what you meant, or "
        "loosen dataset.cleaning"
    )


def _listed(dropped: Mapping[str, int]) -> str:
    """Writes the counts of dropped pairs in one line, the largest first."""
    return ", ".join(f"{count:,} {reason}" for reason, count in Counter(dropped).most_common()) or "none"


def _size(examples: list[Example], train: pa.ChunkedArray) -> str:
    """Writes the number of pairs, and that of references where some pairs have several; and how many have a source that
    stands in train, too, so that a model may know it. train: its sources."""
    references = sum(1 + len(example.more_references) for example in examples)
    both = {*train.filter(pc.is_in(train, pa.array([each.source for each in examples], pa.string()))).to_pylist()}
    known = sum(example.source in both for example in examples)
    size = counted(len(examples), "pair") + (f" with {references:,} references" if references > len(examples) else "")
    return size + (f", {known:,} of a source that stands in train, too" if known else "")


def _warning(train: Counts) -> Iterator[str]:
    """Yields a loud warning where cleaning drops a large part of train."""
    share = 1 - train.left / train.read
    if share > _MUCH:
        yield (
            f"{_LOUD} cleaning drops {share:.1%} of the training pairs and nothing of dev and test, so that these "
            "differ from train:"
        )
        for reason, count in train.dropped.most_common():
            yield f"{_LOUD}   {count / train.read:6.1%} {reason}"
        yield f"{_LOUD} to keep them change the options in brackets, of dataset.cleaning"
