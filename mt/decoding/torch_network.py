"""A model in torch as a network that decodes: batches of like length, encoded, and their steps."""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from mt.checkpoint import load_model
from mt.config import Config
from mt.data.batches import Batch, collate, fixed_order
from mt.data.fields import TEXT, Field, Row, build_field
from mt.data.tokenizer import EOS, Tokenizers
from mt.decoding.forced import forced_batches
from mt.decoding.long_sources import refuse_long_rows
from mt.decoding.model import DecodableModel, single_model
from mt.decoding.modes import decodes_hard
from mt.decoding.network import BatchHypotheses, EncodedBatch
from mt.decoding.translator import Translator
from mt.device import autocast, choose
from mt.distributed import ALONE, ProcessGroup
from mt.errors import UserError
from mt.kernels.int8 import int8_copy
from mt.models.ensemble import Ensemble
from mt.models.seq2seq import Loss, Seq2Seq
from mt.search.config import BeamConfig, Precision, SearchConfig, is_online, waits
from mt.search.torch_stepper import TorchStepper
from mt.trees import map_tensors

MAX_LOGITS = 1 << 27
"""Most logits of a step of search, 0.5 GB: under a wide beam fewer sentences are decoded at once."""


class _FixedMode(NamedTuple):
    """A model as search sees it, with the mode of its attention fixed."""

    init_state: Callable[[Any], Any]
    step: Callable[[Tensor, Any, Any], Any]


class TorchNetwork:
    """A model, or an ensemble, that decodes rows of a field; see `Network`."""

    def __init__(
        self,
        model: DecodableModel,
        field: Field = TEXT,
        *,
        vocab_size: int,
        precision: Precision = "fp32",
        processes: ProcessGroup = ALONE,
        online_precision: Precision | None = None,
    ) -> None:
        """
        Args:
            vocab_size: of the target.
            precision: of products; online searches compute in fp32 all the same.
            processes: decode together, each a share of what all of them are given alike.
            online_precision: what online searches were asked to compute in, which they refuse unless it is fp32.

        Raises UserError for int8 on another device than a CPU.
        """
        self.model = model.eval()
        self.field = field
        self.precision: Precision = precision
        self.processes = processes
        self.device = next(model.parameters()).device
        self.max_source_length = model.max_source_length
        self.chunk_size = model.chunk_size
        self._vocab_size = vocab_size
        self._online_precision = online_precision
        if precision == "int8" and self.device.type != "cpu":
            raise UserError(f"precision=int8 is for CPUs, and device={self.device} is none: choose precision=bf16")
        self._search_model = int8_copy(self.model) if precision == "int8" else self.model

    def require(self, search: SearchConfig) -> None:
        if is_online(search) and self._online_precision not in (None, "fp32"):
            raise UserError(
                f"precision={self._online_precision} is not for search={search.name}, which computes in fp32, so that "
                "what it decides does not depend on the batch: leave it out"
            )

    def encoded_lengths(self, lengths: Sequence[int]) -> list[int]:
        return self.model.encoded_lengths(torch.tensor(lengths)).tolist()

    def batches(self, rows: Sequence[Row], search: SearchConfig) -> list[np.ndarray]:
        decodes_hard(search, self.model)  # refuses before anything is computed
        lengths = np.array([self.field.length(row) for row in rows], dtype=np.int64)
        beam_size = search.beam_size if isinstance(search, BeamConfig) else 1
        most = max(1, MAX_LOGITS // (beam_size * self._vocab_size))
        whole = fixed_order(lengths, max_tokens=search.batch_tokens)
        parts = [part for batch in whole for part in np.array_split(batch, -(-len(batch) // most))]
        return list(self.processes.share(parts))

    def merged(self, share: list[BatchHypotheses]) -> list[BatchHypotheses]:
        return self.processes.merged(share)

    def in_torch(self) -> "TorchNetwork":
        return self

    @contextlib.contextmanager
    def encoded(self, rows: Sequence[Row], search: SearchConfig) -> Iterator[EncodedBatch]:
        model = self._search_model
        online = is_online(search)
        hard = decodes_hard(search, model)
        decoder = _FixedMode(partial(model.init_state, hard=hard), partial(model.step, hard=hard))
        precision = "fp32" if online else self.precision
        batch = collate([(np.asarray(row), np.array([EOS])) for row in rows], self.field).to(self.device)
        lengths = torch.tensor([self.field.length(row) for row in rows])
        with torch.no_grad(), autocast(self.device, precision):
            memory = _memory(model, batch, precision)
            read_for = None
            if online:
                one = single_model(model)
                k = waits(search)
                memory = memory if k is None else one.wait(memory, k)
                read_for = one.read_for(memory).cpu().numpy()
            stepper = TorchStepper(decoder, memory, len(rows), self.device)
            yield EncodedBatch(stepper, model.frontend.output_lengths(lengths).tolist(), read_for)

    def forced(
        self, rows: Sequence[Row], ids: Sequence[Sequence[int]], *, hard: bool, max_tokens: int, wait_k: int | None
    ) -> Iterator[tuple[list[int], Loss]]:
        """Yields the loss and attention of the model while it is given the targets, batch by batch, with the indices of
        the pairs.

        ids: of the targets, EOS last. hard, wait_k: how the attention reads. max_tokens: of a batch. Raises UserError
        where the model is not defined for so long a source.
        """
        refuse_long_rows(self, self.field, rows, range(len(rows)))
        pairs = [(np.asarray(row), np.array(target)) for row, target in zip(rows, ids, strict=True)]
        batches = forced_batches(
            self.model,
            np.array([max(self.field.length(row), len(target)) for row, target in pairs]),
            lambda indices: [pairs[i] for i in indices],
            precision=self.precision,
            hard=hard,
            max_tokens=max_tokens,
            wait_k=wait_k,
            source=self.field,
        )
        yield from ((indices.tolist(), loss) for indices, _, loss in batches)

    def __repr__(self) -> str:
        parameters = sum(parameter.numel() for parameter in self.model.parameters())
        return f"{parameters:,} parameters on {self.device}"


def _memory(model: DecodableModel, batch: Batch, precision: str) -> Any:
    """The memory of a batch. With int8, which is of steps, sources are read in bfloat16 where the processor has it."""
    if precision != "int8":
        return model.encode(batch.source, batch.source_mask)
    with autocast(batch.source.device, "bf16"):
        memory = model.encode(batch.source, batch.source_mask)
    return map_tensors(lambda part: part.float() if part.is_floating_point() else part, memory)


def torch_translator(
    model: DecodableModel,
    tokenizers: Tokenizers,
    config: Config,
    processes: ProcessGroup = ALONE,
    *,
    precision: Precision | None = None,
) -> Translator:
    """Returns the translator of a model in torch.

    processes: decode together, each a share of what all of them are given alike. precision: of products; by default the
    run's, or fp32 where that is fp16 and the device a CPU, which is several times as slow in it.
    Raises UserError for int8 on another device than a CPU.
    """
    usual: Precision = config.precision
    if usual == "fp16" and next(model.parameters()).device.type == "cpu":
        usual = "fp32"
    network = TorchNetwork(
        model,
        build_field(config.dataset.field),
        vocab_size=len(tokenizers.target),
        precision=precision or usual,
        processes=processes,
        online_precision=precision,
    )
    return Translator(network, tokenizers, config)


def load_runs(runs: Sequence[Path], checkpoint: str, device: str, precision: Precision | None) -> Translator:
    """The translator of a run folder (or of one of its checkpoints' folders); of several the ensemble, with the
    configuration of the first.

    checkpoint: best, last, average or ema where the run made one. precision: see `torch_translator`. Raises UserError
    where a folder is damaged or no run, and where runs have different vocabularies or kinds of sources.
    """
    if not runs:
        raise UserError("there is no run to load: give the folder that training printed, or several")
    models, (tokenizers, *others), (config, *configs) = zip(*(load_model(one, checkpoint) for one in runs), strict=True)
    for path, side, other in zip(runs[1:], others, configs, strict=True):
        if [one.model for one in side] != [one.model for one in tokenizers]:
            raise UserError(
                f"{path} has another vocabulary than {runs[0]}, and an ensemble averages the probabilities of the same "
                "pieces: give runs that were trained on one prepared corpus, or from one another (init_from)"
            )
        if other.dataset.field != config.dataset.field:
            raise UserError(f"{path} reads other sources than {runs[0]}: give runs with the same dataset.field")
    model: Seq2Seq | Ensemble = models[0] if len(runs) == 1 else Ensemble(models)
    return torch_translator(model.to(choose(device)), tokenizers, config, precision=precision)
