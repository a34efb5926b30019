"""The model and the corpus of the benchmarks of training and decoding."""

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

from data_prep.prepare import prepare
from mt.cli.parser import Parser
from mt.common.options import parse
from mt.config import Config
from mt.data.corpus import Corpus
from mt.data.dataset import PHRASEBOOK
from mt.device import choose
from mt.models.seq2seq import Seq2Seq
from mt.training.loop import Progress, Update, updates
from mt.training.optimizer import build_optimizer

VOCABULARY = 8000
DECODERS: dict[str, dict[str, Any]] = {
    "input_feeding": {"name": "luong", "input_feeding": True},
    "parallel": {"name": "luong"},
    "ssru": {"name": "ssru"},
}


def configure(
    decoder: str,
    precision: str,
    size: int,
    *,
    device: str = "cpu",
    max_updates: int | None = None,
    batch_tokens: int | None = None,
) -> Config:
    """Returns the configuration of a model with general attention. decoder: a key of DECODERS. size: of the layers. In
    SSRU's blocks only the feed-forward networks and the readout have this size, and the other layers half of it."""
    encoder: dict[str, Any] = {"name": "bilstm", "hidden_size": size}
    layers = {"hidden_size": size, "readout_size": size}
    if decoder == "ssru":
        encoder = {"name": "bissru", "hidden_size": size // 2, "feed_forward_size": size}
        # The readout keeps its size, so that the output layer, half of the work, is equal in all models.
        layers |= {"hidden_size": size // 2, "feed_forward_size": size}
    training: dict[str, Any] = {"label_smoothing": 0.0, "epochs": 10_000}
    if max_updates is not None:
        training["max_updates"] = max_updates
    if batch_tokens is not None:
        training["batch_tokens"] = batch_tokens
    plain = {
        "embedding": {"embedding_dim": 256, "dropout": 0.2, "tie_output": False},
        "encoder": {**encoder, "dropout": 0.2},
        "decoder": {**DECODERS[decoder], **layers, "dropout": 0.2},
        "attention": {"name": "general"},
        "optimizer": {"name": "adam", "lr": 1e-3},
        "training": training,
        "precision": precision,
        "device": device,
    }
    return parse(plain, Config)


def build(config: Config, corpus: Corpus) -> Seq2Seq:
    """Returns a new model, always with the same weights. Its vocabularies have at least VOCABULARY tokens, since the
    output layer is half of the work."""
    torch.manual_seed(1)
    return Seq2Seq(config, *(max(VOCABULARY, size) for size in corpus.tokenizers.sizes[:2]))


def start_training(config: Config, corpus: Corpus) -> tuple[Seq2Seq, Iterator[Update]]:
    """Returns a new model on its device, and its updates, each made when it is asked for."""
    model = build(config, corpus).to(choose(config.device))
    return model, updates(model, build_optimizer(config.optimizer, model), corpus.split("train"), config, Progress())


def add_corpus(parser: Parser) -> None:
    parser.add_argument("--corpus", type=Path, help="folder of a prepared corpus of text; default: the phrasebook")


@contextlib.contextmanager
def prepared_corpus(folder: Path | None) -> Iterator[Path]:
    """Yields the folder, or for None one with the phrasebook, which is prepared now and removed at the end."""
    if folder is not None:
        yield folder
        return
    with tempfile.TemporaryDirectory() as root:
        yield prepare(PHRASEBOOK, Path(root), progress=False)
