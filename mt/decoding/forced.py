"""Teacher forcing: what a model says while it is given the targets."""

from collections.abc import Callable, Iterator

import numpy as np
import torch

from mt.data.batches import Batch, collate, fixed_order
from mt.data.fields import TEXT, Field
from mt.decoding.model import DecodableModel
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
    """Teacher forcing, batch by batch: the indices, what the model was given, its loss and attention.

    lengths: [N], by which pairs are put into batches of at most `max_tokens`. pairs: gives the (source ids, target ids)
    of indices, EOS last. wait_k: see `Seq2Seq.wait`. source: the field of the sources. processes: each of them
    goes through a share of the batches.
    """
    device = next(model.parameters()).device
    for indices in processes.share(fixed_order(lengths, max_tokens=max_tokens)):
        batch = collate(pairs(indices), source).to(device)
        # Not around the yield, which would change how the caller computes in between.
        with torch.no_grad(), autocast(device, precision):
            loss = model(batch, hard=hard, wait_k=wait_k)
        yield indices, batch, loss
