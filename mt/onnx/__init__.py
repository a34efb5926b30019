"""The graphs of an exported folder: their description, and the one door to ONNX Runtime. Needs no torch.

`Manifest` and `ExportedConfig` describe the folder, `verified` checks it, `session` loads a graph, and `OnnxStepper`
takes the steps of a search.
"""

from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from mt.common.input_files import read_json, sha256
from mt.common.options import MAX_SIZE, Options, parse
from mt.data.dataset import DatasetConfig
from mt.errors import UserError, message_of
from mt.search.config import SearchConfig
from mt.search.scores import Scores
from mt.search.stepper import Step
from mt.step import Attended

# Defines the description of an exported folder's graphs, for the export and for decoding; needs no torch.

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


class ExportedChoice(Options):
    """The choice of a group of options, by name."""

    name: str


class ExportedConfig(Options):
    """The part of the `config.json` of a run that decoding needs."""

    attention: ExportedChoice
    dataset: DatasetConfig
    search: SearchConfig
    init_from: str | None = None


# The one door to ONNX Runtime: verifies and runs the graphs of an exported folder.

_REMEDY = "copy the folder again"


class OnnxStepper:
    """Takes the steps of the hypotheses of one source; see `mt.search.stepper.Stepper`."""

    def __init__(self, network: Any, encoded: dict[str, np.ndarray], hard: bool, beam_size: int) -> None:
        """network: the session of a step. encoded: the encoder's outputs by their names. hard: see `Manifest`."""
        self._network = network
        self._hard = hard
        inputs = {node.name for node in network.get_inputs()}
        # Repeated once: a step of fewer hypotheses sees the first rows of it.
        self._memory = {name: encoded[name].repeat(beam_size, 0) for name in inputs if name.startswith("memory.")}
        states = sorted((name for name in encoded if name.startswith("state.")), key=lambda name: int(name[6:]))
        self._state = [encoded[name] for name in states]
        self._read_states = [(index, name) for index, name in enumerate(states) if name in inputs]

    def step(self, tokens: list[int], parents: list[int]) -> Step:
        if parents != list(range(len(self._state[0]))):  # else each continues itself, as in greedy search
            rows = np.array(parents)
            self._state = [tensor.take(rows, 0) for tensor in self._state]
        inputs = {name: tensor[: len(tokens)] for name, tensor in self._memory.items()}
        inputs |= {name: self._state[index] for index, name in self._read_states}
        inputs["tokens"] = np.array(tokens)
        log_probs, weights, *rest = self._network.run(None, inputs)
        stops = rest.pop(0) if self._hard else None
        first_positions = rest.pop(0) if self._hard else None
        self._state = rest
        return Step(Scores(log_probs), Attended(weights, stops, first_positions))


def verified(folder: Path) -> Manifest:
    """Reads the manifest of a folder. Raises UserError where a file is not the one that was exported."""
    path = folder / MANIFEST
    if not path.is_file():
        raise UserError(
            f"{folder} holds no graphs for engine=onnx: make them with mt export RUN --out DIR --format onnx, "
            "and give DIR"
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
        raise UserError(f"engine=onnx needs ONNX Runtime ({error}): pip install onnxruntime") from None
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3  # errors alone
    options.intra_op_num_threads = threads
    try:
        return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # it has a class for each kind of fault, under no common one
        raise UserError(f"{path} cannot be loaded ({message_of(error)[:200]}): {_REMEDY}") from None
