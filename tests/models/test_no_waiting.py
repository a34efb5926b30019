"""A GPU is never waited for within a forward and backward pass: nothing asks what a tensor holds.

Tensors without contents stand for those on a GPU: whoever asks them (`.item()`, `bool(...)`, `.cpu()`, a mask as index)
gets an error, and code that looks whether it is on a CPU takes the other way.
"""

import contextlib
from typing import Any

import numpy as np
import pytest
import torch

from mt.common.options import parse
from mt.data.batches import Batch, collate
from mt.data.tokenizer import EOS
from mt.models.attention import ATTENTIONS
from mt.models.config import ModelConfig
from mt.models.decoders import DECODERS
from mt.models.encoders import ENCODERS
from mt.models.seq2seq import Seq2Seq
from tests.marks import combined

SIZES: dict[str, Any] = {
    "embedding": {"embedding_dim": 8, "tie_output": False},
    "encoder": {"name": "bilstm", "hidden_size": 8},
    "decoder": {"name": "luong", "hidden_size": 8, "readout_size": 8},
}
# Packing, and looking ahead by chunks, ask for lengths: encoders for sound, and between on- and offline.
ASKING = {"lc_bilstm", "pyramid"}


@pytest.fixture
def batch() -> Batch:
    draw = np.random.default_rng(1)
    pairs = [[np.append(draw.integers(4, 20, n), EOS) for n in lengths] for lengths in ((9, 7), (3, 4), (12, 9))]
    return collate([(source, target) for source, target in pairs])


@pytest.fixture(autouse=True)
def autocast(monkeypatch: pytest.MonkeyPatch) -> None:
    """Which knows nothing of the device that has no contents."""
    usual = torch.autocast
    enabled = torch.is_autocast_enabled

    def any_device(device: str, *arguments: Any, **options: Any) -> Any:
        return contextlib.nullcontext() if device == "meta" else usual(device, *arguments, **options)

    monkeypatch.setattr(torch, "autocast", any_device)
    monkeypatch.setattr(torch, "is_autocast_enabled", lambda device: device != "meta" and enabled(device))


def learnt(batch: Batch, **parts: Any) -> None:
    config = parse({**SIZES, **parts}, ModelConfig)
    with torch.device("meta"):
        model = Seq2Seq(config, 20, 20)
    loss = model(batch.to("meta"), label_smoothing=0.1)
    (loss.sum + loss.auxiliary).backward()
    assert all(parameter.grad is not None for parameter in model.decoder.recurrence.parameters())


def test_whoever_asks_is_found(batch: Batch) -> None:
    there = batch.to("meta")
    for ask in (lambda: there.source_mask.all().item(), lambda: bool(there.source_mask.all()), there.source_mask.cpu):
        with pytest.raises((RuntimeError, NotImplementedError)):
            ask()
    with pytest.raises((RuntimeError, NotImplementedError)):
        there.source[there.source_mask]


@combined(attention=sorted(ATTENTIONS), input_feeding=[False, True])
def test_attentions(attention: str, input_feeding: bool, batch: Batch) -> None:
    decoder = SIZES["decoder"] | {"input_feeding": input_feeding}
    learnt(batch, attention={"name": attention}, decoder=decoder)


@pytest.mark.parametrize("encoder", sorted(ENCODERS.keys() - ASKING - {"none"}))
def test_encoders(encoder: str, batch: Batch) -> None:
    learnt(batch, encoder={"name": encoder, "hidden_size": 8})


@pytest.mark.parametrize("decoder", sorted(DECODERS))
def test_decoders(decoder: str, batch: Batch) -> None:
    learnt(batch, decoder={"name": decoder, "hidden_size": 8, "readout_size": 8})


def test_losses_beside_the_first(batch: Batch) -> None:
    learnt(batch, doubly_stochastic_weight=1.0, coverage_weight=1.0)
    learnt(batch, attention={"name": "mocha", "latency_weight": 0.1})
