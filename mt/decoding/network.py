"""The interface of networks that decode, in torch or exported, and the one loop over batches. Needs no torch.

`Network` is the interface, and `decode_rows` the loop. Between them stands the refusal of sources that are too long.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from mt.common.stop import go_on
from mt.common.terminal import Bar
from mt.data.fields import Field, Row
from mt.decoding.term_choice import write_terms
from mt.errors import UserError
from mt.search.config import SearchConfig, decode
from mt.search.hypothesis import Hypothesis
from mt.search.steering import TokenConstraints
from mt.search.stepper import Stepper
from mt.search.tree import Observer

if TYPE_CHECKING:
    from mt.decoding.torch_network import TorchNetwork

BatchHypotheses = tuple[np.ndarray, Sequence[Sequence[Hypothesis]]]
"""The indices of the sources of a batch, and the hypotheses of each source, best first."""


class EncodedBatch(NamedTuple):
    """A batch of sources that is ready to be searched."""

    stepper: Stepper
    lengths: Sequence[int]
    """The lengths of the sources in vectors of the front-end (tokens of a text), which limit those of hypotheses."""


class Network(Protocol):
    """A trained model that reads rows of a field."""

    max_source_length: int | None
    """Most positions that it is defined for; None for any number."""
    chunk_size: int | None
    """How many positions a hard attention attends to; see `Attention`."""
    single: bool
    """Whether sources are encoded one by one."""

    def require(self, search: SearchConfig) -> None:
        """Raises UserError where this search is not for this engine and precision."""

    def encoded_lengths(self, lengths: Sequence[int]) -> list[int]:
        """Returns how many positions sources of these lengths have for the attention. lengths: as the field counts."""

    def batches(self, rows: Sequence[Row], search: SearchConfig) -> list[np.ndarray]:
        """Returns the batches of this process: the indices of rows that are decoded together."""

    def encoded(self, rows: Sequence[Row], search: SearchConfig) -> AbstractContextManager[EncodedBatch]:
        """Encodes a batch; the context lasts while it is searched. Raises UserError where the search is not for the
        model."""

    def merged(self, share: list[BatchHypotheses]) -> list[BatchHypotheses]:
        """Returns the hypotheses of all processes. share: those of this process."""

    def in_torch(self) -> "TorchNetwork":
        """Returns itself where it has a model in torch, which alignments, streams and statistics need. Raises UserError
        where it is exported."""


def refuse_long_rows(network: Network, field: Field, rows: Sequence[Row], indices: Sequence[int]) -> None:
    """Raises UserError where the model is not defined for so long a source. indices: of the sources among all, from 0,
    for the sentence."""
    limit = network.max_source_length
    if limit is None or not rows:
        return
    lengths = network.encoded_lengths([field.length(row) for row in rows])
    for length, index in zip(lengths, indices, strict=True):
        if length > limit and field.written:
            raise UserError(
                f"text {index + 1} has {length} tokens, and this model reads at most {limit}: split it into sentences, "
                "one a line"
            )
        if length > limit:
            raise UserError(f"source {index + 1} has {length} positions, and this model reads at most {limit}: cut it")


# The one loop over batches.


def decode_rows(
    network: Network,
    rows: Sequence[Row],
    search: SearchConfig,
    rank: Callable[[Sequence[Hypothesis]], Sequence[Hypothesis]] | None = None,
    *,
    asked: Sequence[TokenConstraints | None] | None = None,
    observer: Observer | None = None,
    progress: bool = False,
) -> list[Sequence[Hypothesis]]:
    """Returns for each row its hypotheses, best first. rank: chooses among those of a row, and
    orders them. asked: of the hypotheses of each. observer: of the search of a single row. Raises UserError as
    `Network.encoded` and `decode`."""
    hypotheses: list[Sequence[Hypothesis]] = [() for _ in rows]
    batches = network.batches(rows, search)
    share: list[BatchHypotheses] = []
    with Bar("decoding", sum(map(len, batches)), "sentences", shown=progress, leave=False) as bar:
        for indices in batches:
            go_on()  # as each step of a search does
            sources = [np.asarray(rows[i]) for i in indices]
            with network.encoded(sources, search) as batch:
                own = [asked[i] for i in indices] if asked else []
                decoded = decode(search, *batch, sources, own, observer)
            if any(one is not None and one.terms is not None for one in own):
                decoded = write_terms(network, search, sources, decoded, own)
            if rank is not None:
                decoded = [rank(found) for found in decoded]
            share.append((indices, decoded))
            bar.update(len(indices))
    # Each process has decoded a share of the batches; all get all of them.
    for indices, batch_hypotheses in network.merged(share):
        for i, best in zip(indices, batch_hypotheses, strict=True):
            hypotheses[i] = best
    return hypotheses
