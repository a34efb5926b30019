"""The interface of networks that decode, in torch or exported, and the loop over batches. Needs no torch.

`Network` is the interface, `refuse_long_rows` refuses sources that are too long for it, and `decode_rows` is the loop,
into which a `Part` hooks.
"""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from mt.common.stop import go_on
from mt.common.terminal import Bar
from mt.data.fields import Field, Row
from mt.errors import UserError
from mt.search.config import SearchConfig, decode
from mt.search.hypothesis import Hypothesis
from mt.search.processor import Processor
from mt.search.stepper import Stepper

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
    """The most positions that it can read; None for any number."""
    chunk_size: int | None
    """How many positions a hard attention attends to; see `Attention`."""
    attends: bool
    """Whether it learns where to attend."""
    single: bool = False
    """Whether sources are encoded one by one."""
    parts: "Sequence[Part]"
    """The parts that its model needs. They change hypotheses before all other parts."""

    def require(self, search: SearchConfig) -> None:
        """Raises UserError where this search is not for this model, engine and precision."""

    def extends(self, search: SearchConfig) -> bool:
        """Returns whether this search writes while the encoder reads on; see `mt.search.policies`."""
        return False

    def encoded_lengths(self, lengths: Sequence[int]) -> list[int]:
        """Returns how many positions sources of these lengths have for the attention. lengths: as the field counts."""
        return [*lengths]

    def needed(self, vectors: np.ndarray) -> np.ndarray:
        """Returns how many positions of a source must have come for these numbers of vectors; see `Frontend.needed`."""
        return vectors

    def batches(self, rows: Sequence[Row], search: SearchConfig) -> list[np.ndarray]:
        """Returns the batches of this process: the indices of rows that are decoded together."""

    def encoded(self, rows: Sequence[Row], search: SearchConfig) -> AbstractContextManager[EncodedBatch]:
        """Encodes a batch; the context lasts while it is searched. Raises UserError where the search is not for the
        model."""

    def merged(self, share: list[BatchHypotheses]) -> list[BatchHypotheses]:
        """Returns the hypotheses of all processes. share: those of this process."""
        return share

    def in_torch(self) -> "TorchNetwork":
        """Returns itself where it has a model in torch, which alignments and statistics need. Raises UserError
        where it is exported."""


class DecodedBatch(NamedTuple):
    """The hypotheses that a search has found for a batch."""

    network: Network
    search: SearchConfig
    indices: np.ndarray
    """The numbers of the sources of the batch among all."""
    rows: Sequence[np.ndarray]
    """The rows of these sources."""
    hypotheses: Sequence[Sequence[Hypothesis]]
    """The hypotheses of each source, best first."""


def refuse_long_rows(network: Network, field: Field, rows: Sequence[Row], indices: Sequence[int]) -> None:
    """Raises UserError where a source is too long for the model. indices: the numbers of the sources, from 0, for the
    sentence."""
    limit = network.max_source_length
    if limit is None or not rows:
        return
    # The encoder may leave fewer positions than the source has.
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


class Part:
    """A part of decoding beside the search. It adds processors to the search of each batch, or changes what was found,
    or both."""

    def processors(self, indices: np.ndarray, limits: Sequence[int]) -> Sequence[Processor]:
        """Returns the processors of a batch. indices: the numbers of its sources. limits: the most tokens of each
        hypothesis of a source."""
        return ()

    def revised(self, batch: DecodedBatch) -> Sequence[Sequence[Hypothesis]]:
        """Returns the hypotheses of a batch, changed or not."""
        return batch.hypotheses


def decode_rows(
    network: Network, rows: Sequence[Row], search: SearchConfig, parts: Sequence[Part] = (), *, progress: bool = False
) -> list[Sequence[Hypothesis]]:
    """Returns the hypotheses of each row, best first. parts: they change hypotheses in this order. Raises UserError as
    `Network.encoded` and `decode`."""
    hypotheses: list[Sequence[Hypothesis]] = [() for _ in rows]
    parts = [*network.parts, *parts]
    # This process decodes its share of the batches.
    batches = network.batches(rows, search)
    share: list[BatchHypotheses] = []
    with Bar("decoding", sum(map(len, batches)), "sentences", leave=False, shown=progress) as bar:
        for indices in batches:
            go_on()  # raises where the work was given up, as in each step of a search
            sources = [np.asarray(rows[i]) for i in indices]
            with network.encoded(sources, search) as batch:
                limits = [search.longest(length) for length in batch.lengths]
                processors = [each for part in parts for each in part.processors(indices, limits)]
                decoded = decode(search, *batch, sources, processors)
            # Outside, since a part may encode the sources once more.
            for part in parts:
                decoded = part.revised(DecodedBatch(network, search, indices, sources, decoded))
            share.append((indices, decoded))
            bar.update(len(indices))
    # Each process has decoded its share of the batches; now all processes get all hypotheses.
    for indices, batch_hypotheses in network.merged(share):
        for i, best in zip(indices, batch_hypotheses, strict=True):
            hypotheses[i] = best
    return hypotheses
