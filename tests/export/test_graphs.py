"""Graphs are written of models that the small run is not."""

from collections.abc import Callable
from pathlib import Path

import pytest

from mt.config import Config
from mt.data.corpus import Corpus
from mt.decoding.onnx import load_graphs
from mt.export.graphs import write_graphs
from mt.models.seq2seq import Seq2Seq
from mt.storage import write_json

for library in ("onnx", "onnxscript", "onnxruntime"):
    pytest.importorskip(library, reason="the extra onnx is not installed")


@pytest.mark.slow
def test_int8_of_a_model_whose_first_state_is_the_same_for_all_sources(
    configure: Callable[..., Config], corpus: Corpus, tmp_path: Path
) -> None:
    decoder = {"name": "ssru", "hidden_size": 16, "readout_size": 16, "init_hidden": "zeros"}
    encoder = {"name": "bissru", "hidden_size": 16}
    config = configure({"encoder": encoder, "decoder": decoder, "embedding": {"embedding_dim": 16}})
    model = Seq2Seq(config, *corpus.tokenizers.sizes)
    corpus.tokenizers.save(tmp_path)
    write_json(tmp_path / "config.json", config.model_dump(mode="json"))
    write_graphs(tmp_path, model, config, {"name": "ema", "update": 1, "ema_decay": 0.998}, "int8")
    assert len(load_graphs([tmp_path]).translate(["two cats", "the green birds find streets"])) == 2
