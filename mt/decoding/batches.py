"""From rows of a field to hypotheses: batches of like length, encoded and searched."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from mt.common.progress import Bar
from mt.data.batches import Batch, collate, fixed_order
from mt.data.fields import TEXT, Field, Row
from mt.data.tokenizer import EOS
from mt.decoding.model import DecodableModel, single_model
from mt.decoding.modes import decodes_hard
from mt.device import autocast
from mt.distributed import ALONE, ProcessGroup
from mt.search.config import BeamConfig, SearchConfig, decode, is_online, waits
from mt.search.hypothesis import Hypothesis
from mt.search.torch_stepper import TorchStepper
from mt.trees import map_tensors

MAX_LOGITS = 1 << 27
"""Most logits of a step of search, 0.5 GB: under a wide beam fewer sentences are decoded at once."""


class _FixedMode(NamedTuple):
    """A model as search sees it, with the mode of its attention fixed."""

    init_state: Callable[[Any], Any]
    step: Callable[[Tensor, Any, Any], Any]


def decode_ids(
    model: DecodableModel,
    sources: Sequence[Row],
    search: SearchConfig,
    *,
    vocab_size: int,
    precision: str,
    field: Field = TEXT,
    progress: bool = False,
    processes: ProcessGroup = ALONE,
) -> list[Sequence[Hypothesis]]:
    """For each source, a row of its field, its hypotheses, best first.

    vocab_size: of the target. precision: see `Precision`; online searches compute in fp32 all the same. For
    int8 the model is an `int8_copy`.
    processes: share the batches, which are those of one process; all are given the same.
    Raises UserError as `decodes_hard` and `decode`.
    """
    hard = decodes_hard(search, model)
    device, k = next(model.parameters()).device, waits(search)
    online = single_model(model) if is_online(search) else None
    precision = "fp32" if is_online(search) else precision
    decoder = _FixedMode(partial(model.init_state, hard=hard), partial(model.step, hard=hard))
    found: list[Sequence[Hypothesis]] = [() for _ in sources]
    lengths = np.array([field.length(source) for source in sources], dtype=np.int64)
    share: list[tuple[np.ndarray, Sequence[Sequence[Hypothesis]]]] = []
    mine = processes.share([*_batches(lengths, search, vocab_size)])
    with Bar("decoding", sum(map(len, mine)), "sentences", shown=progress, leave=False) as bar:
        for indices in mine:
            rows = [np.asarray(sources[i]) for i in indices]
            batch = collate([(row, np.array([EOS])) for row in rows], field).to(device)
            with torch.no_grad(), autocast(device, precision):
                memory = _encoded(model, batch, precision)
                memory = memory if online is None or k is None else online.wait(memory, k)
                read_for = None if online is None else online.read_for(memory).cpu().numpy()
                vectors = model.frontend.output_lengths(torch.from_numpy(lengths[indices])).tolist()
                stepper = TorchStepper(decoder, memory, len(rows), device)
                share.append((indices, decode(search, stepper, vectors, read_for)))
            bar.update(len(indices))
    for indices, hypotheses in processes.merged(share):
        for i, best in zip(indices, hypotheses, strict=True):
            found[i] = best
    return found


def _encoded(model: DecodableModel, batch: Batch, precision: str) -> Any:
    """The memory of a batch. With int8, which is of steps, sources are read in bfloat16 where the processor has it."""
    if precision != "int8":
        return model.encode(batch.source, batch.source_mask)
    with autocast(batch.source.device, "bf16"):
        memory = model.encode(batch.source, batch.source_mask)
    return map_tensors(lambda part: part.float() if part.is_floating_point() else part, memory)


def _batches(lengths: np.ndarray, search: SearchConfig, vocab_size: int) -> Iterator[np.ndarray]:
    width = search.beam_size if isinstance(search, BeamConfig) else 1
    most = max(1, MAX_LOGITS // (width * vocab_size))
    for indices in fixed_order(lengths, max_tokens=search.batch_tokens):
        yield from np.array_split(indices, -(-len(indices) // most))
