"""An exported model in ONNX Runtime, with the interface of one in torch, which need not be installed."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from mt.common.input_files import read_json
from mt.common.options import parse
from mt.common.progress import Bar
from mt.data.fields import Row
from mt.data.tokenizer import Tokenizers
from mt.decoding.base import BaseTranslator
from mt.errors import UserError
from mt.onnx.manifest import ExportedConfig
from mt.onnx.networks import Networks
from mt.search.config import BeamConfig, GreedyConfig, SearchConfig, decode, without_removed
from mt.search.hypothesis import Hypothesis


def decode_ids(networks: Networks, ids: np.ndarray, options: SearchConfig) -> Sequence[Hypothesis]:
    """The hypotheses of one source, best first. ids: [S], EOS last; options: `GreedyConfig` or `BeamConfig`."""
    stepper = networks.stepper(ids, options.beam_size if isinstance(options, BeamConfig) else 1)
    return decode(options, stepper, [len(ids)])[0]


class OnnxTranslator(BaseTranslator):
    """A folder that `scripts/export.py RUN DIR --format onnx` made. Sentences are decoded one by one."""

    config: ExportedConfig

    def __init__(self, folder: Path) -> None:
        """Raises UserError where the folder is damaged, or holds no such export."""
        self.networks = Networks(folder)
        path = str(folder / "config.json")
        plain = without_removed(read_json(folder / "config.json", "copy the folder again"))
        known = {name: plain[name] for name in ExportedConfig.model_fields if name in plain}
        super().__init__(Tokenizers.load(folder), parse(known, ExportedConfig, path))
        manifest = self.networks.manifest
        self.max_source_length, self.chunk_size = manifest.max_source_length, manifest.chunk_size

    def __repr__(self) -> str:
        return f"OnnxTranslator(dataset={self.config.dataset.name}, weights in {self.networks.manifest.dtype})"

    def _hypotheses(self, rows: Sequence[Row], search: SearchConfig, progress: bool) -> list[Sequence[Hypothesis]]:
        self._refuse_search(search)
        found = []
        with Bar("decoding", len(rows), "sentences", shown=progress, leave=False) as bar:
            for row in rows:
                found.append(decode_ids(self.networks, np.asarray(row), search))
                bar.update()
        return found

    def _encoded_lengths(self, lengths: Sequence[int]) -> list[int]:
        return list(lengths)

    def _refuse_search(self, search: SearchConfig) -> None:
        if not isinstance(search, GreedyConfig | BeamConfig):
            raise UserError(
                f"search={search.name} writes while it reads, which engine=onnx cannot: choose search=greedy or "
                "search=beam, or decode the run itself with engine=torch"
            )
        mode = "hard" if self.networks.manifest.hard else "soft"
        if search.mode not in ("auto", mode):
            raise UserError(
                f"search.mode={search.mode} is not what was exported, an attention that reads {mode}: choose "
                f"search.mode={mode}, or decode the run itself with engine=torch"
            )
