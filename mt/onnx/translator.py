"""An exported model in ONNX Runtime, with the interface of one in torch, which need not be installed."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mt.data.fields import Row
from mt.data.tokenizer import Tokenizers
from mt.errors import UserError
from mt.input_files import read_json
from mt.onnx.manifest import ExportedConfig
from mt.onnx.networks import Networks
from mt.onnx.search import Found, Rules, search
from mt.parsing import parse
from mt.progress import Bar
from mt.reading import Reading
from mt.search.config import BeamConfig, GreedyConfig, SearchConfig, without_removed


def decode_ids(networks: Networks, ids: np.ndarray, options: Any) -> list[Found]:
    """The hypotheses of one source, best first. ids: [S], EOS last; options: `GreedyConfig` or `BeamConfig`."""
    beam = {} if isinstance(options, GreedyConfig) else options.model_dump(include=set(Rules._fields))
    rules = Rules(
        longest=options.longest(len(ids)),
        min_length=options.min_length,
        no_repeat_ngram_size=options.no_repeat_ngram_size,
    )._replace(**beam)
    return search(networks.read(ids, rules.beam_size), rules)


class OnnxTranslator(Reading):
    """A folder that `scripts/export.py RUN DIR --format onnx` made; see `Reading`. Sentences are decoded one by one."""

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

    def _searched(self, rows: Sequence[Row], search: SearchConfig, progress: bool) -> list[list[Found]]:
        self._refuse_search(search)
        found = []
        with Bar("decoding", len(rows), "sentences", shown=progress, leave=False) as bar:
            for row in rows:
                found.append(decode_ids(self.networks, np.asarray(row), search))
                bar.update()
        return found

    def _places(self, lengths: Sequence[int]) -> list[int]:
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
