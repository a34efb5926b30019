"""Teacher forcing: the loss and the attention of a model that reads the targets as they are."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import torch

from mt.data.batches import Batch, collate, fixed_order
from mt.data.fields import TEXT, Field, Row
from mt.decoding.long_sources import refuse_long_rows
from mt.decoding.model import DecodableModel
from mt.decoding.torch_network import TorchNetwork
from mt.device import autocast
from mt.distributed import ALONE, ProcessGroup
from mt.models.seq2seq import Loss

Pair = tuple[np.ndarray, np.ndarray]


def forced_batches(
    model: DecodableModel,
    lengths: np.ndarray,
    pairs: Callable[[np.ndarray], list[Pair]],
    *,
    precision: str,
    hard: bool,
    max_tokens: int,
    wait_k: int | None = None,
    source: Field = TEXT,
    processes: ProcessGroup = ALONE,
) -> Iterator[tuple[np.ndarray, Batch, Loss]]:
    """Yields the indices of each batch of pairs, the batch, and its loss with the attention.

    lengths: [N], by which pairs are put into batches of at most `max_tokens`. pairs: returns the (source row, target
    ids) of indices, EOS last. wait_k: see `Seq2Seq.wait`. source: the field of the sources. processes: each of them
    goes through a share of the batches.
    """
    device = next(model.parameters()).device
    for indices in processes.share(fixed_order(lengths, max_tokens=max_tokens)):
        batch = collate(pairs(indices), source).to(device)
        # Not around the yield, which would change how the caller computes in between.
        with torch.no_grad(), autocast(device, precision):
            loss = model(batch, hard=hard, wait_k=wait_k)
        yield indices, batch, loss


def forced_rows(
    network: TorchNetwork,
    rows: Sequence[Row],
    targets: Sequence[Sequence[int]],
    *,
    hard: bool,
    max_tokens: int,
    wait_k: int | None,
) -> Iterator[tuple[list[int], Loss]]:
    """Yields the indices of each batch of pairs, and its loss with the attention, for pairs in any order.

    targets: the ids of each, EOS last. hard, wait_k: how the attention reads. max_tokens: of a batch. Raises UserError
    where the model is not defined for so long a source.
    """
    refuse_long_rows(network, network.field, rows, range(len(rows)))
    pairs = [(np.asarray(row), np.array(target)) for row, target in zip(rows, targets, strict=True)]
    batches = forced_batches(
        network.model,
        np.array([max(network.field.length(row), len(target)) for row, target in pairs]),
        lambda indices: [pairs[i] for i in indices],
        precision=network.precision,
        hard=hard,
        max_tokens=max_tokens,
        wait_k=wait_k,
        source=network.field,
    )
    yield from ((indices.tolist(), loss) for indices, _, loss in batches)
