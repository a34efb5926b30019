"""Defines the description of an exported folder's graphs, for the export and for decoding; needs no torch."""

from mt.common.options import Options
from mt.data.dataset import DatasetConfig
from mt.search.config import SearchConfig

FORMAT = 1
"""Raised whenever the graphs' inputs or outputs change."""
MANIFEST = "onnx.json"
ENCODER = "encoder.onnx"
STEP = "step.onnx"


class Manifest(Options):
    """`onnx.json`. The graphs' inputs and outputs, of N hypotheses of one source of S tokens:

    encoder: source [1, S] int64 -> memory.0, ... [1, ...], state.0, ... [1, ...]
    step: tokens [N] int64, memory.* [N, ...], state.* [N, ...]
        -> log_probs [N, V], weights [N, W], next.0, ... [N, ...], and where the attention is hard stops, first [N]
    """

    format: int
    hard: bool
    """Whether the attention reads hard, so that a step returns where it stopped."""
    chunk_size: int | None
    """How many positions a hard attention attends to; None where it is one, or no fixed number."""
    max_source_length: int | None
    dtype: str
    """The type of the matrices: float32 or int8."""
    checkpoint: dict[str, int | str | list[int]]
    """Which checkpoint the weights are of, as in `results.json`."""
    sha256: dict[str, str]
    """The sums of the other files that decoding reads, by name."""


class ExportedChoice(Options):
    """What was chosen of a group of options."""

    name: str


class ExportedConfig(Options):
    """The part of the `config.json` of a run that decoding needs."""

    attention: ExportedChoice
    dataset: DatasetConfig
    search: SearchConfig
    init_from: str | None = None
