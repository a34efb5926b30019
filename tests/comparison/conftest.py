"""Run folders without a model: what a comparison reads, and no more."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mt.checkpoint import FORMAT
from mt.common.options import parse
from mt.config import Config
from mt.data.tokenizer import TokenizerConfig, Tokenizers
from mt.plots import heatmap, save

REFERENCES = [[f"this is sentence number {n} of the test"] for n in range(12)]

MakeRun = Callable[..., Path]


@pytest.fixture
def references() -> list[list[str]]:
    return REFERENCES


@pytest.fixture
def make_run(tmp_path: Path) -> MakeRun:
    """Writes a run `name` below a folder `runs` and returns its folder; by default its hypotheses are perfect."""

    def made(
        name: str,
        options: Mapping[str, Any] = {},
        results: Mapping[str, Any] = {},
        hypotheses: Sequence[str] | None = None,
        log: Sequence[Mapping[str, Any]] = (),
    ) -> Path:
        folder = tmp_path / "runs" / name
        best = folder / "checkpoints" / "best"
        alignments = folder / "alignments"
        for part in (best, alignments, folder / "hypotheses"):
            part.mkdir(parents=True)
        meta = {"update": 1, "metric": "bleu", "best": None, "averaged": None, "corpus": ""}
        (best / "meta.json").write_text(json.dumps(meta | {"versions": {}, "sha256": {}, "format": FORMAT}))
        config = parse(options, Config)
        (best / "config.json").write_text(json.dumps(config.model_dump(mode="json")))
        characters = TokenizerConfig(model_type="char", lowercase=config.dataset.tokenizer.lowercase)
        Tokenizers.train(characters, [("this", "this")]).save(best)
        search = {"name": "beam", "beam_size": 5, "mode": "soft"}
        (folder / "results.json").write_text(json.dumps({"search": search, "perplexity": 4.0, **results}))
        written = hypotheses or [group[0] for group in REFERENCES]
        split = results.get("split", "test")
        (folder / "hypotheses" / f"{split}.txt").write_text("".join(f"{line}\n" for line in written))
        if log:
            (folder / "metrics.jsonl").write_text("".join(f"{json.dumps(record)}\n" for record in log))
        save(heatmap(np.eye(2), ["a", "b"], ["c", "d"]), alignments / "0000.png")
        return folder

    return made
