"""Decoding with exported graphs in ONNX Runtime, whose one door this is. Needs no torch.

`Manifest` and `ExportedConfig` describe an exported folder, and `verified` checks it. `OnnxNetwork` is the `Network` of
its graphs, of which `OnnxStepper` takes the steps, and `load_graphs` makes the translator of a folder.
"""

import contextlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from pydantic import Field

from mt.common.earlier import as_now
from mt.common.input_files import read_json, sha256
from mt.common.options import MAX_SIZE, Options, as_written, parse
from mt.data.dataset import DatasetConfig
from mt.data.fields import Row
from mt.data.tokenizer import Tokenizers
from mt.decoding.network import EncodedBatch, Network, Part
from mt.decoding.translator import Translator
from mt.errors import UserError, message_of
from mt.kernels.threads import step_threads
from mt.search.config import BeamConfig, Precision, SearchConfig, width
from mt.search.policies import require_attention
from mt.search.stepper import Scores, Step
from mt.step import Attended

if TYPE_CHECKING:
    from mt.decoding.torch_network import TorchNetwork

# The description of an exported folder, for the export and for decoding.

FORMAT = 1
"""Raised whenever the graphs' inputs or outputs change."""
MANIFEST = "onnx.json"
ENCODER = "encoder.onnx"
STEP = "step.onnx"


class Manifest(Options):
    """`onnx.json`. The graphs' inputs and outputs, of N hypotheses of one source of S tokens:

    - `encoder`: source [1, S] int64 -> memory.0, ... [1, ...], state.0, ... [1, ...]
    - `step`: tokens [N] int64, memory.* [N, ...], state.* [N, ...] -> log_probs [N, V], weights [N, W], next.*
      [N, ...]. Where the attention is hard, also stops and first, [N] each
    """

    format: int
    hard: bool
    """Whether the attention reads hard, so that a step returns where it stopped."""
    chunk_size: Annotated[int, Field(ge=1, le=MAX_SIZE)] | None
    """How many positions a hard attention attends to; None where it is one, or no fixed number."""
    max_source_length: Annotated[int, Field(ge=1, le=MAX_SIZE)] | None
    dtype: Literal["float32", "bfloat16", "int8"]
    """The type of the matrices; graphs are of float32 or int8."""
    checkpoint: dict[str, int | float | str | list[int]]
    """Which checkpoint the weights are of, as in `results.json`."""
    sha256: dict[str, str]
    """The sums of the other files that decoding reads, by name."""


class ExportedChoice(Options, extra="ignore"):
    """The choice of a group of options, by name."""

    name: str


class ExportedConfig(Options, extra="ignore"):
    """The part of the `config.json` of a run that decoding needs."""

    attention: ExportedChoice
    dataset: DatasetConfig
    search: SearchConfig
    init_from: str | None = None


_REMEDY = "copy the folder again"


def verified(folder: Path) -> Manifest:
    """Reads the manifest of a folder. Raises UserError where a file is not the one that was exported."""
    path = folder / MANIFEST
    if not os.path.isfile(path):
        raise UserError(
            f"{folder} holds no graphs for {as_written('engine', 'onnx')}: make them with mt export RUN --out DIR "
            "--format onnx, and give DIR"
        )
    # The manifest itself: its format, then its fields.
    plain = read_json(path, _REMEDY)
    if (known := plain.get("format")) != FORMAT:
        raise UserError(
            f"{folder} was exported in format {known}, and this version reads {FORMAT}: export the run again"
        )
    manifest = parse(plain, Manifest, str(path))
    # The files that it lists, byte for byte, and those that it must list.
    for name, expected in manifest.sha256.items():
        if Path(name).name != name or not (folder / name).is_file():
            raise UserError(f"{folder}/{name} is missing: {_REMEDY}")
        if sha256(folder / name) != expected:
            raise UserError(f"{folder}/{name} is not the file that was exported (its SHA-256 differs): {_REMEDY}")
    if missing := {ENCODER, STEP, "config.json"} - set(manifest.sha256):
        raise UserError(f"{path} lists no SHA-256 of {min(missing)}: {_REMEDY}")
    return manifest


def session(path: Path, threads: int) -> Any:
    """Returns a graph that ONNX Runtime computes on the CPU. Raises UserError where it cannot be loaded."""
    try:
        import onnxruntime  # Not above: who decodes with torch needs none.
    except ImportError as error:
        raise UserError(f"ONNX Runtime is not installed ({error}): pip install onnxruntime") from None
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3  # errors alone
    options.intra_op_num_threads = threads
    try:
        return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # it has a class for each kind of fault, under no common one
        raise UserError(f"{path} cannot be loaded ({message_of(error)[:200]}): {_REMEDY}") from None


# Decoding.


class OnnxStepper:
    """Takes the steps of the hypotheses of one source; see `mt.search.stepper.Stepper`."""

    def __init__(self, network: Any, encoded: dict[str, np.ndarray], hard: bool, beam_size: int) -> None:
        """network: the session of a step. encoded: the encoder's outputs by their names. hard: see `Manifest`."""
        self._network = network
        self._hard = hard
        inputs = {node.name for node in network.get_inputs()}
        # Repeated once: a step of fewer hypotheses sees the first rows of it.
        self._memory = {name: encoded[name].repeat(beam_size, 0) for name in inputs if name.startswith("memory.")}
        # By number, since state.10 would come before state.2.
        states = sorted((name for name in encoded if name.startswith("state.")), key=lambda name: int(name[6:]))
        self._state = [encoded[name] for name in states]
        # The exporter drops inputs that no operation reads, but the state still carries them.
        self._read_states = [(index, name) for index, name in enumerate(states) if name in inputs]

    def step(self, tokens: list[int], parents: list[int]) -> Step:
        if parents != list(range(len(self._state[0]))):  # else each continues itself, as in greedy search
            rows = np.array(parents)
            self._state = [tensor.take(rows, 0) for tensor in self._state]
        inputs = {name: tensor[: len(tokens)] for name, tensor in self._memory.items()}
        inputs |= {name: self._state[index] for index, name in self._read_states}
        inputs["tokens"] = np.array(tokens)
        log_probs, weights, *rest = self._network.run(None, inputs)
        # What is left after these is the state, `next.0` and so on, in order.
        stops = rest.pop(0) if self._hard else None
        first_positions = rest.pop(0) if self._hard else None
        self._state = rest
        return Step(Scores(log_probs), Attended(weights, stops, first_positions))


class OnnxNetwork(Network):
    """The graphs of a folder that `mt export RUN --out DIR --format onnx` made; see `Network`. Sentences are
    decoded one by one."""

    def __init__(self, folder: Path) -> None:
        """Raises UserError where the folder is damaged, of another format, or ONNX Runtime is not installed."""
        self.manifest = verified(folder)
        path = folder / "config.json"
        self.config = parse(as_now(read_json(path, _REMEDY)), ExportedConfig, str(path))
        # The one attention that learns no weights.
        self.attends = self.config.attention.name != "none"
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
        if search.extends:
            raise UserError(
                f"{as_written('search', search.name)} keeps the state of an encoder while it writes, as no export can: "
                f"choose {as_written('search', 'alignatt')}, agree or retranslate, or load the run itself"
            )
        require_attention(search, self.attends)
        drafting = search.drafting
        mode = "hard" if self.manifest.hard else "soft"
        if drafting.mode not in ("auto", mode):
            raise UserError(
                f"{as_written('search.mode', drafting.mode)} is not what was exported, an attention that reads {mode}: "
                f"choose {as_written('search.mode', mode)}, or decode the run itself"
            )
        if isinstance(drafting, BeamConfig) and drafting.penalties:
            drafting.penalties.require_readable(hard=self.manifest.hard)

    def batches(self, rows: Sequence[Row], search: SearchConfig) -> list[np.ndarray]:
        return [np.array([index]) for index in range(len(rows))]

    @contextlib.contextmanager
    def encoded(self, rows: Sequence[Row], search: SearchConfig) -> Iterator[EncodedBatch]:
        (row,) = rows
        source = {"source": np.asarray(row, np.int64)[None]}  # [1, S]
        encoded = dict(zip(self._encoded_names, self._encoder.run(self._encoded_names, source), strict=True))
        yield EncodedBatch(OnnxStepper(self._step, encoded, self.manifest.hard, width(search)), [len(row)])

    def in_torch(self) -> "TorchNetwork":
        raise UserError(
            "what was exported translates, streams and evaluates, and this needs the model in torch: load the run "
            "itself"
        )

    def __repr__(self) -> str:
        return f"weights in {self.manifest.dtype}"


def load_graphs(
    runs: Sequence[Path], checkpoint: str = "best", device: str = "auto", precision: Precision | None = None
) -> Translator:
    """Returns the translator of an exported folder. Raises UserError where it is damaged, or was not exported for
    ONNX Runtime, and where an option of `load` is not for that."""
    # What chooses among runs, devices and types has no meaning for a folder of graphs.
    engine = as_written("engine", "onnx")
    for option, value, usual, reason in (
        ("device", device, ("auto", "cpu"), "computes on the CPU: leave it out"),
        ("checkpoint", checkpoint, ("best",), "is of one: leave it out, or export that one (--checkpoint)"),
        ("precision", precision, (None,), "has its own: leave it out, or export again (--precision int8)"),
    ):
        if value not in usual:
            raise UserError(f"{as_written(option, value)} is not for {engine}, since what was exported {reason}")
    if len(runs) != 1:
        raise UserError(f"{engine} decodes with one exported folder, and {len(runs)} were given: give one")
    (folder,) = runs
    network = OnnxNetwork(folder)
    translator = Translator(network, Tokenizers.load(folder), network.config)
    translator.folder = folder
    return translator
