"""From ids to hypotheses: a model, batches of like length, and a search or given targets."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from mt.data.batches import Batch, collate, fixed_order
from mt.data.fields import TEXT, Field, Row
from mt.data.tokenizer import EOS
from mt.decoding.model import DecodableModel, single_model
from mt.device import autocast
from mt.distributed import ALONE, ProcessGroup
from mt.errors import UserError
from mt.models.seq2seq import Loss, Seq2Seq
from mt.ops.int8 import int8_steps
from mt.progress import Bar
from mt.search.config import MAX_LENGTH, BeamConfig, OnlineConfig, SearchConfig, WaitKConfig, decode, is_online, waits
from mt.search.hypothesis import Hypothesis
from mt.search.torch_stepper import TorchStepper
from mt.trees import mapped

MAX_LOGITS = 1 << 27
"""Most logits of a step of search, 0.5 GB: under a wide beam fewer sentences are decoded at once."""

Pair = tuple[np.ndarray, np.ndarray]


class _Verbs(NamedTuple):
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

    vocab_size: of the target. precision: see `Precision`; online searches compute in fp32 all the same.
    processes: share the batches, which are those of one process; all are given the same.
    Raises UserError as `decodes_hard` and `decode`.
    """
    hard = decodes_hard(search, model)
    device, k = next(model.parameters()).device, waits(search)
    online = single_model(model) if is_online(search) else None
    precision = "fp32" if is_online(search) else precision
    verbs = _Verbs(partial(model.init_state, hard=hard), partial(model.step, hard=hard))
    found: list[Sequence[Hypothesis]] = [() for _ in sources]
    lengths = np.array([field.length(source) for source in sources], dtype=np.int64)
    share: list[tuple[np.ndarray, Sequence[Sequence[Hypothesis]]]] = []
    mine = processes.share([*_batches(lengths, search, vocab_size)])
    with Bar("decoding", sum(map(len, mine)), "sentences", shown=progress, leave=False) as bar:
        for indices in mine:
            rows = [np.asarray(sources[i]) for i in indices]
            batch = collate([(row, np.array([EOS])) for row in rows], field).to(device)
            with torch.no_grad(), int8_steps() if precision == "int8" else autocast(device, precision):
                memory = _encoded(model, batch, precision)
                memory = memory if online is None or k is None else online.wait(memory, k)
                read_for = None if online is None else online.read_for(memory).cpu().numpy()
                vectors = model.frontend.output_lengths(torch.from_numpy(lengths[indices])).tolist()
                stepper = TorchStepper(verbs, memory, len(rows), device)
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
    return mapped(lambda part: part.float() if part.is_floating_point() else part, memory)


def _batches(lengths: np.ndarray, search: SearchConfig, vocab_size: int) -> Iterator[np.ndarray]:
    width = search.beam_size if isinstance(search, BeamConfig) else 1
    most = max(1, MAX_LOGITS // (width * vocab_size))
    for indices in fixed_order(lengths, max_tokens=search.batch_tokens):
        yield from np.array_split(indices, -(-len(indices) // most))


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


def decodes_hard(search: SearchConfig, model: DecodableModel) -> bool:
    """Whether this search reads this model's attention hard. Raises UserError where they do not go together."""
    if isinstance(search, OnlineConfig):
        one = single_model(model)
        if not one.online:
            raise UserError(
                f"search=online writes while it reads: it needs {_frontend(one)}an encoder that does not read the "
                "whole source first (encoder=lstm, gru, embedding or lc_bilstm), decoder.init_hidden=zeros and an "
                "attention that stops (attention=monotonic, mocha, matcha or milk); train such a model, or choose "
                "search=greedy or search=beam"
            )
        return True
    if isinstance(search, WaitKConfig):
        require_wait_k(single_model(model), search.k, "search=wait_k")
        return False
    if search.mode == "hard" and not model.supports_hard:
        raise UserError(
            "search.mode=hard needs an attention that can choose one position, and this model's cannot: choose "
            "search.mode=soft, or train with attention=monotonic, mocha, matcha, milk or stochastic"
        )
    return search.mode != "soft" and model.supports_hard


def require_wait_k(model: Seq2Seq, k: int, option: str) -> None:
    """Raises UserError where the model cannot see the source through the prefix mask of k, as the option wants it."""
    if not model.supports_wait_k:
        raise UserError(
            f"{option} shows the model only the source tokens read so far: it needs {_frontend(model)}encoder=lstm, "
            "gru, embedding or lc_bilstm, decoder.init_hidden=zeros and a soft attention that knows nothing of the "
            "source's length (attention=dot, general, concat, location, bahdanau or local_m); train such a model, or "
            "leave it out"
        )
    least = int(model.encoder.read_for(torch.tensor(0), torch.tensor(MAX_LENGTH)))
    if k < least:
        raise UserError(
            f"{option} with k={k} would write before anything is known, since this encoder looks ahead and needs "
            f"{least} source tokens for its first value: choose k={least} or more, or another encoder"
        )


def _frontend(model: Seq2Seq) -> str:
    """What a sentence on online models asks of this one's front-end."""
    option = model.frontend.incremental_with
    return f"{option}, " if option else ""
