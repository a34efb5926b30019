"""What an exported folder says of its graphs, for who writes it and who decodes with it; needs no torch."""

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
    """Whether the attention chooses one position."""
    chunk_size: int | None
    """How many positions a hard attention attends to; None where it is one, or no fixed number."""
    max_source_length: int | None
    dtype: str
    """Of the matrices: float32 or int8."""
    checkpoint: dict[str, int | str | list[int]]
    """Which weights they are, as `results.json` says it."""
    sha256: dict[str, str]
    """Of the other files that decoding reads."""


class ExportedConfig(Options):
    """What decoding needs of the `config.json` of a run."""

    dataset: DatasetConfig
    search: SearchConfig
    init_from: str | None = None
