"""Decoding with exported graphs in ONNX Runtime. Needs no torch.

`OnnxNetwork` is the `Network` of graphs, and `load_graphs` makes the translator of an exported folder.
"""

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from mt.common.earlier import as_now
from mt.common.input_files import read_json
from mt.common.options import parse
from mt.data.fields import Row
from mt.data.tokenizer import Tokenizers
from mt.decoding.network import BatchHypotheses, EncodedBatch, Part
from mt.decoding.translator import Translator
from mt.errors import UserError
from mt.kernels.threads import step_threads
from mt.onnx import ENCODER, STEP, ExportedConfig, OnnxStepper, session, verified
from mt.search.config import BeamConfig, GreedyConfig, Precision, SampleConfig, SearchConfig, width

if TYPE_CHECKING:
    from mt.decoding.torch_network import TorchNetwork


class OnnxNetwork:
    """The graphs of a folder that `mt export RUN --out DIR --format onnx` made; see `Network`. Sentences are
    decoded one by one."""

    def __init__(self, folder: Path) -> None:
        """Raises UserError where the folder is damaged, of another format, or ONNX Runtime is not installed."""
        self.manifest = verified(folder)
        self.max_source_length = self.manifest.max_source_length
        self.chunk_size = self.manifest.chunk_size
        self.single = True
        self.parts: Sequence[Part] = ()
        # Threads of both would wait for work at the same time, and take the processors from each other. The encoder is
        # a tenth of the work, most of it one step after another.
        self._encoder = session(folder / ENCODER, 1)
        self._encoded_names = [node.name for node in self._encoder.get_outputs()]
        self._step = session(folder / STEP, step_threads())

    def require(self, search: SearchConfig) -> None:
        if not isinstance(search, GreedyConfig | SampleConfig | BeamConfig):
            raise UserError(
                f"search={search.name} writes while it reads, which engine=onnx cannot: choose search=greedy or "
                "search=beam, or decode the run itself with engine=torch"
            )
        mode = "hard" if self.manifest.hard else "soft"
        if search.mode not in ("auto", mode):
            raise UserError(
                f"search.mode={search.mode} is not what was exported, an attention that reads {mode}: choose "
                f"search.mode={mode}, or decode the run itself with engine=torch"
            )
        if isinstance(search, BeamConfig) and search.penalties:
            search.penalties.require_readable(hard=self.manifest.hard)

    def extends(self, search: SearchConfig) -> bool:
        return False

    def encoded_lengths(self, lengths: Sequence[int]) -> list[int]:
        return list(lengths)

    def batches(self, rows: Sequence[Row], search: SearchConfig) -> list[np.ndarray]:
        return [np.array([index]) for index in range(len(rows))]

    @contextlib.contextmanager
    def encoded(self, rows: Sequence[Row], search: SearchConfig) -> Iterator[EncodedBatch]:
        (row,) = rows
        source = {"source": np.asarray(row, np.int64)[None]}  # [1, S]
        encoded = dict(zip(self._encoded_names, self._encoder.run(self._encoded_names, source), strict=True))
        yield EncodedBatch(OnnxStepper(self._step, encoded, self.manifest.hard, width(search)), [len(row)])

    def merged(self, share: list[BatchHypotheses]) -> list[BatchHypotheses]:
        return share

    def in_torch(self) -> "TorchNetwork":
        raise UserError(
            "engine=onnx translates and evaluates, and this needs the model in torch: load the run itself with "
            "engine=torch"
        )

    def __repr__(self) -> str:
        return f"weights in {self.manifest.dtype}"


def load_graphs(
    runs: Sequence[Path], checkpoint: str = "best", device: str = "auto", precision: Precision | None = None
) -> Translator:
    """Returns the translator of an exported folder. Raises UserError where it is damaged, or holds no such export, and
    where an option of `load` is not for ONNX Runtime."""
    # What chooses among runs, devices and types has no meaning for a folder of graphs.
    if device not in ("auto", "cpu"):
        raise UserError(f"device={device} is not for engine=onnx, which computes on the CPU: leave it out")
    if len(runs) != 1:
        raise UserError(f"engine=onnx decodes with one exported folder, and {len(runs)} were given: give one")
    if checkpoint != "best":
        raise UserError(
            f"checkpoint={checkpoint} is not for engine=onnx, whose folder holds what was exported alone: leave it "
            "out, or export that one (--checkpoint)"
        )
    if precision is not None:
        raise UserError(
            f"precision={precision} is not for engine=onnx, which computes in what was exported: leave it out, or "
            "export again (--precision int8)"
        )
    # The run's own configuration, of which the core that has no torch knows some parts alone.
    (folder,) = runs
    network = OnnxNetwork(folder)
    path = folder / "config.json"
    plain = as_now(read_json(path, "copy the folder again"))
    known = {name: plain[name] for name in ExportedConfig.model_fields if name in plain}
    known["attention"] = {"name": plain.get("attention", {}).get("name")}
    translator = Translator(network, Tokenizers.load(folder), parse(known, ExportedConfig, str(path)))
    translator.folder = folder
    return translator
