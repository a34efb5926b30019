"""The batches of training. First come random generators, then training sets with drawn pieces (`_with_drawn_pieces`),
then the groups of batches that make an update, with prefetching."""

import contextlib
import functools
import itertools
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
import torch

from mt.config import Config, TrainingConfig
from mt.data.batches import Batch, batch_order, collate, with_links
from mt.data.corpus import Corpus, Pairs, Training
from mt.data.fields import Field
from mt.data.links import moved
from mt.data.split import Examples
from mt.data.tokenizer import Tokenizer, Tokenizers
from mt.data.tokenizer.sampling import BPEDropout, PieceSampler, UnigramSampling, model_type
from mt.distributed import ProcessGroup
from mt.errors import UserError
from mt.models.seq2seq import Seq2Seq

# The random generators of a process, and others in their place.


def derived_seed(*numbers: int) -> int:
    """Returns a seed of 64 bits that depends on all of these numbers, each at least 0."""
    return int(np.random.SeedSequence(numbers).generate_state(1, np.uint64)[0])


@contextlib.contextmanager
def own_generators(*numbers: int) -> Iterator[None]:
    """Goes around code with a seed of its own, derived from `numbers`: for the generators of torch (CPU and GPUs),
    NumPy and Python. Afterwards, also after an error, they have their earlier states."""
    seed = derived_seed(*numbers)
    numpy_state = np.random.get_state()
    python_state = random.getstate()
    with torch.random.fork_rng(range(torch.cuda.device_count())):
        try:
            torch.manual_seed(seed)
            np.random.seed(seed % (1 << 32))  # which takes 32 bits
            random.seed(seed)
            yield
        finally:
            np.random.set_state(numpy_state)
            random.setstate(python_state)


# Training sets whose texts are segmented anew in every epoch (subword regularisation).

Samplers = tuple[PieceSampler | None, PieceSampler | None]
"""The samplers of source and target; None for a side that stays as it is."""
_OPTIONS = {"bpe": "bpe_dropout", "unigram": "unigram_alpha"}
_CHECKED = 100  # pairs
_COUNTED_EPOCHS = 10  # of which shares such as 0.1 and 0.3 are whole


def with_sampled_pieces(training: Training, tokenizers: Tokenizers, options: TrainingConfig) -> Training:
    """Returns the training set with the texts of each side segmented by `bpe_dropout` and `unigram_alpha`; itself
    without these options."""
    if not options.samples_pieces:
        return training
    source = _sampler(tokenizers.source, options)
    target = source if tokenizers.joint else _sampler(tokenizers.target, options)
    return _Changed(
        training, lambda pairs, key: functools.partial(_with_drawn_pieces, (source, target), key, pairs.source)
    )


def require_changeable(options: TrainingConfig, tokenizers: Tokenizers, model: Seq2Seq) -> None:
    """Raises UserError where the vocabulary cannot write the pieces that an option draws, or the model cannot
    read sources that become longer."""
    kinds = {side: model_type(tokenizer) for side, tokenizer in zip(("source", "target"), tokenizers, strict=True)}
    wanted = {"bpe": options.bpe_dropout > 0, "unigram": options.unigram_alpha is not None}
    for kind, option in _OPTIONS.items():
        if wanted[kind] and kind not in kinds.values():
            others = " and ".join(dict.fromkeys(kinds.values()))
            fitting = [f"set training.{_OPTIONS[other]}" for other in _OPTIONS if other in kinds.values()]
            remedy = " or ".join([*fitting, f"prepare with dataset.tokenizer.model_type={kind}"])
            raise UserError(
                f"training.{option} samples pieces of a {kind} vocabulary, and this corpus is cut by {others}: {remedy}"
            )
    for option in _OPTIONS.values():
        if getattr(options, option) and model.max_source_length is not None:
            raise UserError(
                f"training.{option} makes sources longer, and this model reads at most {model.max_source_length} "
                f"positions: choose another attention or encoder, or leave training.{option} out"
            )


def require_same_texts(options: TrainingConfig, corpus: Corpus) -> None:
    """Raises UserError where sampled pieces of the first training pairs decode to another text than the best ones."""
    pairs = corpus.split("train")
    if not options.samples_pieces:
        return
    sides = zip(*pairs.ids(range(min(len(pairs), _CHECKED))), strict=True)
    for tokenizer, best, written in zip(corpus.tokenizers, sides, (pairs.source.written, True), strict=False):
        sampler = _sampler(tokenizer, options) if written else None
        sampled = best if sampler is None else sampler.sample(best, np.random.default_rng(0))
        for best_ids, sampled_ids in zip(best, sampled, strict=True):
            text = tokenizer.decode(best_ids)
            changed = text if sampled_ids is best_ids else tokenizer.decode(sampled_ids)
            if text != changed:
                raise UserError(
                    f"pieces of this vocabulary cannot be sampled: {text!r} would become {changed!r}; leave out "
                    "training.bpe_dropout and training.unigram_alpha"
                )


def _sampler(tokenizer: Tokenizer, options: TrainingConfig) -> PieceSampler | None:
    kind = model_type(tokenizer)
    if kind == "bpe" and options.bpe_dropout:
        return BPEDropout(tokenizer, options.bpe_dropout)
    if kind == "unigram" and options.unigram_alpha is not None:
        return UnigramSampling(tokenizer, options.unigram_alpha)
    return None


Key = tuple[int, int, int]
"""The seed, the epoch and 0, from which all draws for the pairs of an epoch follow. So resumed runs and several
processes see the same pairs as one run without a stop. The 0 keeps the draws of 0.3.0."""


Change = Callable[[Examples, np.ndarray], Examples]
"""Changes the examples of a batch, whose numbers it gets beside them."""


class _Changed(NamedTuple):
    """A training set whose examples are others in every epoch. Batches are made by the lengths of the first ones."""

    training: Training
    change: Callable[[Any, Key], Change]

    def of_epoch(self, seed: int, epoch: int) -> Pairs:
        pairs = self.training.of_epoch(seed, epoch)
        change = self.change(pairs, (seed, epoch, 0))
        return _ChangedPairs(pairs.source, pairs.lengths, lambda indices: change(pairs.read(indices), indices))


class _ChangedPairs(NamedTuple):
    """The pairs of one epoch."""

    source: Field
    lengths: Callable[[], tuple[np.ndarray, np.ndarray]]
    read: Callable[[Any], Examples]


def _with_drawn_pieces(
    samplers: Samplers, key: Key, source: Field, examples: Examples, indices: np.ndarray
) -> Examples:
    """Returns the examples of a batch with sampled pieces, and the links between these. The first example of a batch is
    its seed, since each is in one batch of an epoch."""
    random = np.random.default_rng((*key, int(indices[0])))
    sides = zip(samplers, (source.written, True), examples[:2], strict=True)
    drawn = [sampler.sample(rows, random) if sampler and written else rows for sampler, written, rows in sides]
    links = examples.links
    if links is not None:
        widths = [np.empty(0) if sampler is None else sampler.widths for sampler in samplers]
        pairs = zip(*drawn, strict=True)
        links = [moved(*of_pair, widths) for of_pair in zip(links, examples.pairs, pairs, strict=True)]
    return examples._replace(sources=drawn[0], targets=drawn[1], links=links)


# The batches of training: grouped by update, shared by processes, and read before they are needed.


class PendingBatch(NamedTuple):
    """A batch that has not been read yet, so that skipping it is cheap."""

    part: Pairs
    indices: np.ndarray
    tokens: int | None
    """Real target tokens, EOS included; None where pieces are drawn, so that reading shows them."""

    def read(self) -> Batch:
        """Reads the pairs, and pads them to a batch."""
        examples = self.part.read(self.indices)
        batch = collate(examples.pairs, self.part.source, examples.transcripts)
        return (batch if examples.links is None else with_links(batch, examples.links)).pinned()


class SeededBatch(NamedTuple):
    """The input of one forward and backward pass."""

    batch: Batch | None
    """None where this process has no batch of an update and others have: torch waits for a backward pass of each."""
    seed: int | None
    """The seed of the random numbers of the pass; None leaves the generators as they are."""
    is_last: bool
    """Whether it is the last one of this process in the update."""


class PrefetchedGroup(NamedTuple):
    """The batches of one update, with this process's share of them, which is read ahead."""

    share: Sequence[tuple[int, Future[Batch]]]
    """Each batch with its place among the batches of all processes."""
    tokens: int
    """Real target tokens of all processes' batches, EOS included."""
    sentences: int
    """Pairs in all processes' batches."""
    ends_epoch: bool

    def batches(self, config: Config, number: int) -> Iterator[SeededBatch]:
        """Yields this process's share, each batch as soon as it is read. number: of the update, from 1."""
        if not self.share:
            yield SeededBatch(None, None, is_last=True)
        for place, pending in self.share:
            # A batch that is an update by itself has no seed: checkpoints keep the states of the generators.
            seed = derived_seed(config.seed, number, place) if config.training.gradient_accumulation > 1 else None
            yield SeededBatch(pending.result(), seed, is_last=place == self.share[-1][0])


def prefetched(groups: Iterable[Sequence[PendingBatch]], processes: ProcessGroup) -> Iterator[PrefetchedGroup]:
    """Reads and collates the batches of the next group in a thread, while the present group is computed."""
    remaining = iter(groups)
    with ThreadPoolExecutor(1, "prefetch") as reader:

        def submit(group: Sequence[PendingBatch]) -> list[tuple[int, Future[Batch]]]:
            return [(place, reader.submit(batch.read)) for place, batch in processes.share([*enumerate(group)])]

        group = next(remaining, None)
        share = submit(group or ())
        while group is not None:
            next_group = next(remaining, None)
            next_share = submit(next_group or ())
            tokens = _count_tokens(group, share, processes)
            sentences = sum(len(batch.indices) for batch in group)
            yield PrefetchedGroup(share, tokens, sentences, ends_epoch=next_group is None)
            group = next_group
            share = next_share


def _count_tokens(
    group: Sequence[PendingBatch], share: Sequence[tuple[int, Future[Batch]]], processes: ProcessGroup
) -> int:
    """Counts the target tokens of an update. Drawn tokens are counted by each process in its share."""
    counts = [batch.tokens for batch in group if batch.tokens is not None]
    if len(counts) == len(group):
        return sum(counts)
    read = sum(int(pending.result().target_mask.sum()) for _, pending in share)
    return int(processes.all_reduce(torch.tensor(read)))


def epoch_groups(training: Training, config: Config, epoch: int) -> Iterator[list[PendingBatch]]:
    """Yields the batches of an epoch, grouped by update."""
    options = config.training
    pairs = training.of_epoch(config.seed, epoch)
    lengths = pairs.lengths()
    # Batches of pairs of like lengths, in an order that depends on nothing but the seed and the epoch.
    order = batch_order(
        *lengths,
        max_tokens=options.batch_tokens,
        max_sentences=options.batch_sentences,
        seed=config.seed,
        epoch=epoch,
        together=options.gradient_accumulation,
    )
    # With drawn pieces, only reading a batch shows its number of tokens.
    tokens = [None if options.samples_pieces else int(lengths[1][indices].sum()) for indices in order]
    batches = map(PendingBatch, itertools.repeat(pairs), order, tokens)
    # So many batches make an update, of which the last one may have fewer.
    while group := list(itertools.islice(batches, options.gradient_accumulation)):
        yield group


def batches_per_update(training: Training, config: Config, epoch: int = 1) -> list[int]:
    """Counts the batches of each update of an epoch."""
    return [len(group) for group in epoch_groups(training, config, epoch)]


def total_updates(training: Training, config: Config) -> int:
    """Counts the updates of a whole run. Where epochs differ, as in mixed corpora, the mean over the first ones stands
    for all."""
    options = config.training
    differ = training.of_epoch(config.seed, epoch=1) is not training
    counted = range(1, 1 + min(options.epochs, _COUNTED_EPOCHS if differ else 1))
    updates = sum(len(batches_per_update(training, config, epoch)) for epoch in counted)
    whole = round(options.epochs * updates / len(counted))
    return min(whole, options.max_updates or whole)
