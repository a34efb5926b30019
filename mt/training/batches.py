"""The batches of training. First come random generators, then the groups of batches that make an update, which are
read, transformed and padded before they are needed."""

import contextlib
import itertools
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
import torch

from mt.config import Config
from mt.data.batches import Batch, batch_order, collate, with_links
from mt.data.split import Examples, Split
from mt.distributed import ProcessGroup
from mt.training.transforms import Transform

# The random generators of a process, and others in their place.

COUNTED_EPOCHS = 10  # of which shares such as 0.1 and 0.3 are whole


def derived_seed(*numbers: int) -> int:
    """Returns a seed of 64 bits that depends on all of these numbers, each at least 0."""
    # Mixed, not added up: neighbouring updates of neighbouring seeds would share their random numbers.
    return int(np.random.SeedSequence(numbers).generate_state(1, np.uint64)[0])


@contextlib.contextmanager
def own_generators(*numbers: int) -> Iterator[None]:
    """Gives the code inside a seed of its own, derived from `numbers`, for torch's generators (CPU and GPUs), the only
    global ones that are drawn from. Afterwards, also after an error, they have their earlier states."""
    with torch.random.fork_rng(range(torch.cuda.device_count())):
        torch.manual_seed(derived_seed(*numbers))
        yield


# The batches of training: grouped by update, shared by processes, and read before they are needed.


class PendingBatch(NamedTuple):
    """A batch that has not been read yet, so that skipping it is cheap."""

    part: Split
    indices: np.ndarray
    transform: Transform | None = None
    seed: tuple[int, ...] = ()
    """The seed of the transform: that of the run, the epoch, and 0, which keeps the draws of 0.3.0."""

    def examples(self) -> Examples:
        """Reads and transforms the pairs. The first example of a batch is a part of its seed, since each is in one
        batch of an epoch. So resumed runs and several processes draw the same."""
        examples = self.part.read(self.indices)
        if self.transform is None:
            return examples
        return self.transform(examples, np.random.default_rng((*self.seed, int(self.indices[0]))))

    def read(self) -> Batch:
        """Reads the pairs, and pads them to a batch."""
        examples = self.examples()
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


class Group(NamedTuple):
    """The batches of one update: the share of this process, with counts over all processes."""

    share: Sequence[tuple[int, Batch]]
    """Each batch with its place among the batches of all processes."""
    tokens: int
    """Real target tokens, EOS included."""
    sentences: int
    ends_epoch: bool

    def passes(self, config: Config, number: int) -> Iterator[SeededBatch]:
        """Yields the input of each pass of this process. number: of the update, from 1."""
        if not self.share:
            yield SeededBatch(None, None, is_last=True)
        for place, batch in self.share:
            # A batch that is an update by itself has no seed: checkpoints keep the states of the generators.
            seed = derived_seed(config.seed, number, place) if config.training.gradient_accumulation > 1 else None
            yield SeededBatch(batch, seed, is_last=place == self.share[-1][0])


def prefetched(groups: Iterable[Sequence[PendingBatch]], processes: ProcessGroup) -> Iterator[Group]:
    """Reads and collates the batches of the next group in a thread, while the present group is computed."""
    remaining = iter(groups)
    with ThreadPoolExecutor(1, "prefetch") as reader:

        def submit(group: Sequence[PendingBatch]) -> list[tuple[int, Future[Batch]]]:
            # Neighbours, which are alike, go to different processes.
            own = [*enumerate(group)][processes.rank :: processes.size]
            return [(place, reader.submit(batch.read)) for place, batch in own]

        # One group ahead also shows which group is the last one of the epoch.
        group = next(remaining, None)
        pending = submit(group or ())
        while group is not None:
            next_group = next(remaining, None)
            next_pending = submit(next_group or ())
            # Reading alone shows how many tokens there are, since a transform may change them.
            share = [(place, batch.result()) for place, batch in pending]
            tokens = sum(int(batch.target_mask.sum()) for _, batch in share)
            if processes.size > 1:
                tokens = int(processes.all_reduce(torch.tensor(tokens)))
            yield Group(share, tokens, sum(len(batch.indices) for batch in group), ends_epoch=next_group is None)
            group = next_group
            pending = next_pending


def epoch_groups(
    training: Split, config: Config, epoch: int, transform: Transform | None = None
) -> Iterator[list[PendingBatch]]:
    """Yields the batches of an epoch, grouped by update."""
    options = config.training
    pairs = training.of_epoch(config.seed, epoch)
    # Batches of pairs of like lengths, in an order that depends on nothing but the seed and the epoch.
    order = batch_order(
        *pairs.lengths(),
        max_tokens=options.batch_tokens,
        max_sentences=options.batch_sentences,
        seed=config.seed,
        epoch=epoch,
        together=options.gradient_accumulation,
    )
    batches = (PendingBatch(pairs, indices, transform, (config.seed, epoch, 0)) for indices in order)
    # So many batches make an update, of which the last one may have fewer.
    while group := list(itertools.islice(batches, options.gradient_accumulation)):
        yield group


def batches_per_update(training: Split, config: Config, epoch: int = 1) -> list[int]:
    """Counts the batches of each update of an epoch."""
    return [len(group) for group in epoch_groups(training, config, epoch)]


def total_updates(training: Split, config: Config) -> int:
    """Counts the updates of a whole run. Where epochs differ, as in mixed corpora, the mean over the first ones stands
    for all."""
    options = config.training
    differ = training.of_epoch(config.seed, epoch=1) is not training
    counted = range(1, 1 + min(options.epochs, COUNTED_EPOCHS if differ else 1))
    updates = sum(len(batches_per_update(training, config, epoch)) for epoch in counted)
    whole = round(options.epochs * updates / len(counted))
    return min(whole, options.max_updates or whole)
