"""Decoding with a model in torch: batches of sources of like lengths, their memories, and steppers for searches.

`TorchNetwork` is the `Network` of a model, and `torch_translator` and `load_runs` make translators with one."""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from mt.checkpoint import load_meta, load_model, locate
from mt.common.options import as_written
from mt.config import Config
from mt.data.batches import fixed_order
from mt.data.fields import TEXT, Field, Row, build_field
from mt.data.tokenizer import Tokenizers
from mt.decoding.forced import PosteriorAlignment
from mt.decoding.modes import (
    DecodableModel,
    as_searched,
    attends,
    evaluation_mode,
    extends,
    online_model,
    reads_hard,
    require_compatible,
    wait_k_of,
)
from mt.decoding.network import BatchHypotheses, EncodedBatch, Network, Part
from mt.decoding.translator import Translator
from mt.device import autocast, choose
from mt.distributed import ALONE, ProcessGroup
from mt.errors import UserError
from mt.kernels.int8 import int8_copy
from mt.models.ensemble import Ensemble
from mt.models.seq2seq import Seq2Seq
from mt.search.config import Precision, SearchConfig, width
from mt.search.graph_stepper import GraphStepper
from mt.search.options import BeamConfig, GreedyConfig
from mt.search.torch_stepper import Predict, TorchStepper
from mt.trees import map_tensors

MAX_LOGITS = 1 << 27
"""The most logits in a step of search, 0.5 GB: with a wide beam fewer sentences are decoded at once."""


class TorchNetwork(Network):
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
            processes: share the batches: all get the same sources, and each decodes a part.
            online_precision: the precision that the user has asked for, since online searches refuse all but fp32.

        Raises UserError for int8 on another device than a CPU.
        """
        self.model = model
        self.field = field
        self.precision: Precision = precision
        self.processes = processes
        self.device = next(model.parameters()).device
        self.max_source_length = model.max_source_length
        self.chunk_size = model.chunk_size
        self.attends = attends(model)
        self.parts: Sequence[Part] = [PosteriorAlignment()] if model.mixes_predictions else []
        self.steps: Callable[[DecodableModel, bool], Predict] | None = None
        """Returns the steps of a model, soft or hard, where an explorer forces some of them; None: the model's own."""
        self._vocab_size = vocab_size
        self._online_precision = online_precision
        if precision == "int8" and self.device.type != "cpu":
            raise UserError(f"precision=int8 is for CPUs, and device={self.device} is none: choose precision=bf16")
        # The int8 copy shares the parameters of the model, and rounds the layers of a step once.
        self._search_model = int8_copy(self.model) if precision == "int8" else self.model

    def require(self, search: SearchConfig) -> None:
        require_compatible(search, self.model)
        if search.extends and self._online_precision not in (None, "fp32"):
            raise UserError(
                f"{as_written('precision', self._online_precision)} is not for {as_written('search', search.name)}, "
                "which computes in fp32, so that what it decides does not depend on the batch: leave it out"
            )

    def extends(self, search: SearchConfig) -> bool:
        return extends(search, self.model)

    def encoded_lengths(self, lengths: Sequence[int]) -> list[int]:
        return self.model.frontend.output_lengths(torch.tensor(lengths)).tolist()

    def needed(self, vectors: np.ndarray) -> np.ndarray:
        return self.model.frontend.needed(torch.from_numpy(vectors)).numpy()

    def batches(self, rows: Sequence[Row], search: SearchConfig) -> list[np.ndarray]:
        # Sources of like lengths form batches; wide beams and large vocabularies allow fewer at once.
        lengths = np.array([self.field.length(row) for row in rows], dtype=np.int64)
        # The most logits of a row; of mixed predictions, for each position of its source.
        logits = np.full(len(rows), width(search) * self._vocab_size)
        if self.model.mixes_predictions:
            logits *= np.array(self.encoded_lengths(lengths.tolist()), dtype=np.int64)
        whole = fixed_order(lengths, max_tokens=search.batch_tokens)
        # Into how many parts each batch is split, rounded up.
        counts = [-(-len(batch) // max(1, MAX_LOGITS // int(logits[batch].max()))) for batch in whole]
        smaller = [part for batch, count in zip(whole, counts, strict=True) for part in np.array_split(batch, count)]
        return list(self.processes.share(smaller))

    def merged(self, share: list[BatchHypotheses]) -> list[BatchHypotheses]:
        return self.processes.merged(share)

    def in_torch(self) -> "TorchNetwork":
        return self

    @contextlib.contextmanager
    def encoded(self, rows: Sequence[Row], search: SearchConfig) -> Iterator[EncodedBatch]:
        # The search decides on precision and on hard or soft attention.
        model = as_searched(self._search_model, search)
        hard = reads_hard(search, model)
        precision = "fp32" if search.extends else self.precision
        source, mask = (part.to(self.device) for part in self.field.collate([np.asarray(row) for row in rows]))
        lengths = torch.tensor([self.field.length(row) for row in rows])
        with evaluation_mode(model), torch.no_grad(), autocast(self.device, precision):
            # The sources, read whole; by wait-k each step sees a part of them.
            memory = _memory(model, source, mask, precision)
            if (k := wait_k_of(search, model)) is not None:
                memory = online_model(model).wait(memory, k)
            # On a GPU a step is recorded once and replayed, if its operations do not depend on computed values.
            state = model.init_state(memory, hard=hard)
            step: Predict = self.steps(model, hard) if self.steps else partial(model.step, hard=hard)
            is_fixed = self.steps is None and not hard and isinstance(search, GreedyConfig | BeamConfig)
            recorded = is_fixed and self.device.type == "cuda"
            single = TorchStepper(step, memory, state, len(rows), self.device)
            stepper = GraphStepper(single, width(search)) if recorded else single
            yield EncodedBatch(stepper, model.frontend.output_lengths(lengths).tolist())

    def __repr__(self) -> str:
        parameters = sum(parameter.numel() for parameter in self.model.parameters())
        return f"{parameters:,} parameters on {self.device}"


def _memory(model: DecodableModel, source: Tensor, mask: Tensor, precision: str) -> Any:
    """Returns the memory of sources [B, S, ...] with their mask [B, S]. int8 is for steps: sources are read in bfloat16
    where the processor has it."""
    if precision != "int8":
        return model.encode(source, mask)
    with autocast(source.device, "bf16"):
        memory = model.encode(source, mask)
    # The steps in int8 take and return float32.
    return map_tensors(lambda part: part.float() if part.is_floating_point() else part, memory)


# Translators of models, of a run folder, and of several as an ensemble.


def torch_translator(
    model: DecodableModel,
    tokenizers: Tokenizers,
    config: Config,
    processes: ProcessGroup = ALONE,
    *,
    precision: Precision | None = None,
) -> Translator:
    """Returns the translator of a model in torch.

    processes: see `TorchNetwork`. precision: of products; by default that of the run. On a CPU fp32 takes the place of
    fp16, which is several times as slow there. Raises UserError for int8 on another device than a CPU.
    """
    # Half precision is for GPUs.
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
    """Returns the translator of a run folder (or of one of its checkpoints' folders). Several runs give the translator
    of their ensemble, with the configuration of the first.

    checkpoint: best, last, average or ema where the run made one. precision: see `torch_translator`. Raises UserError
    where a folder is damaged or no run, and where runs have different vocabularies or kinds of sources.
    """
    if not runs:
        raise UserError("there is no run to load: give the folder that training printed, or several")
    loaded = [load_model(folder, checkpoint) for folder in runs]
    models, (tokenizers, *others), (config, *configs) = zip(*loaded, strict=True)
    # An ensemble averages next tokens: these must be the same pieces, after the same sources.
    for path, side, other in zip(runs[1:], others, configs, strict=True):
        if [tokenizer.model for tokenizer in side] != [tokenizer.model for tokenizer in tokenizers]:
            raise UserError(
                f"{path} has another vocabulary than {runs[0]}, and an ensemble averages the probabilities of the same "
                "pieces. Give runs that were trained on one prepared corpus, or from one another (init_from)"
            )
        if other.dataset.field != config.dataset.field:
            raise UserError(f"{path} reads other sources than {runs[0]}: give runs with the same dataset.field")
    model: Seq2Seq | Ensemble = models[0] if len(runs) == 1 else Ensemble(models)
    translator = torch_translator(model.to(choose(device)).eval(), tokenizers, config, precision=precision)
    # A table of confidences is found by the folder of the run, and fits its weights alone.
    if len(runs) == 1:
        translator.folder = runs[0]
        translator.trained = load_meta(locate(runs[0], checkpoint)).trained
    return translator
