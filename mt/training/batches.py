"""The batches of training: grouped by update, shared by processes, and read before they are needed."""

import itertools
from collections.abc import Iterable, Iterator, Sequence, Sized
from concurrent.futures import Future, ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
import torch

from mt.config import Config
from mt.data.batches import Batch, batch_order, collate
from mt.data.corpus import Pairs, Training
from mt.distributed import ProcessGroup
from mt.generators import derived_seed


class PendingBatch(NamedTuple):
    """A batch that has not been read yet, so that skipping it is cheap."""

    part: Pairs
    indices: np.ndarray
    tokens: int | None
    """Real target tokens, EOS included; None where pieces are sampled, so that reading shows them."""

    def read(self) -> Batch:
        """Reads the pairs, and pads them to a batch."""
        transcripts = self.part.transcripts(self.indices)
        return collate(self.part.ids(self.indices), self.part.source, transcripts).pinned()


class SeededBatch(NamedTuple):
    """What one forward and backward pass is made of."""

    batch: Batch | None
    """None where this process has no batch of an update and others have: torch waits for a backward pass of each."""
    seed: int | None
    """The seed of all that is random in the pass; None goes on from where the generators are."""
    is_last: bool
    """Whether it is the last one of this process in the update."""


class PrefetchedGroup(NamedTuple):
    """The batches of one update, of which this process's share is being read or has been."""

    share: Sequence[tuple[int, Future[Batch]]]
    """Each batch with its place among those of all processes."""
    tokens: int
    """Real target tokens of all processes' batches, EOS included."""
    sentences: int
    """Pairs in all processes' batches."""
    ends_epoch: bool

    def batches(self, config: Config, number: int) -> Iterator[SeededBatch]:
        """Yields this process's share, each batch as soon as it is read. number: that of the update, from 1."""
        if not self.share:
            yield SeededBatch(None, None, is_last=True)
        for place, pending in self.share:
            # A batch that is an update by itself goes on from the generators as they are, which checkpoints keep.
            seed = derived_seed(config.seed, number, place) if config.training.gradient_accumulation > 1 else None
            yield SeededBatch(pending.result(), seed, is_last=place == self.share[-1][0])


def prefetched(groups: Iterable[Sequence[PendingBatch]], processes: ProcessGroup) -> Iterator[PrefetchedGroup]:
    """Reads and collates the batches of the next group in a thread, while those of the present one are computed."""
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
    """Counts the target tokens of an update. Of sampled pieces, each process counts those of its share."""
    counts = [batch.tokens for batch in group if batch.tokens is not None]
    if len(counts) == len(group):
        return sum(counts)
    read = sum(int(pending.result().target_mask.sum()) for _, pending in share)
    return int(processes.all_reduce(torch.tensor(read)))


def epoch_groups(training: Training, config: Config, epoch: int) -> Iterator[list[PendingBatch]]:
    """Yields the batches of an epoch, those of one update together."""
    options = config.training
    for number, part in enumerate(part.of_epoch(config.seed, epoch) for part in training.parts()):
        lengths = part.lengths()
        order = batch_order(
            *lengths,
            max_tokens=options.batch_tokens,
            max_sentences=options.batch_sentences,
            seed=config.seed,
            epoch=epoch,
            part=number,
            together=options.gradient_accumulation,
        )
        tokens = [None if options.samples_pieces else int(lengths[1][indices].sum()) for indices in order]
        batches = map(PendingBatch, itertools.repeat(part), order, tokens)
        while group := list(itertools.islice(batches, options.gradient_accumulation)):
            yield group


def batches_per_update(training: Training, config: Config) -> list[int] | None:
    """Counts the batches of each update of the first epoch; None where only the end of an epoch shows that."""
    if not isinstance(training.parts(), Sized):
        return None
    return [len(group) for group in epoch_groups(training, config, epoch=1)]


def updates_per_epoch(training: Training, config: Config) -> int | None:
    """Counts the updates of an epoch; None where only its end shows that."""
    counts = batches_per_update(training, config)
    return None if counts is None else len(counts)


def total_updates(training: Training, config: Config) -> int | None:
    """Counts the updates of a whole run; None where only its end shows that."""
    per_epoch = updates_per_epoch(training, config)
    limit = config.training.max_updates
    if per_epoch is None:
        return limit
    whole = config.training.epochs * per_epoch
    return min(whole, limit or whole)
