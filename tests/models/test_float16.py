"""Every part of a model computes in float16, forward and backward, what it computes in float32."""

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from mt.common.options import parse
from mt.data.batches import Batch, collate
from mt.data.tokenizer import EOS
from mt.device import autocast
from mt.models.attention import ATTENTIONS
from mt.models.config import ModelConfig
from mt.models.encoders import ENCODERS
from mt.models.frontends.image import ImageGrid, ImageGridConfig
from mt.models.frontends.logmel import LogMel, LogMelConfig
from mt.models.seq2seq import Seq2Seq

CPU = torch.device("cpu")
SIZES: dict[str, Any] = {
    "embedding": {"embedding_dim": 16, "dropout": 0.1},
    "encoder": {"name": "bilstm", "hidden_size": 16},
    "decoder": {"name": "luong", "hidden_size": 16, "readout_size": 16},
    "attention": {"name": "general"},
}
DECODERS = [
    {"name": "luong"},
    {"name": "luong", "input_feeding": True},
    {"name": "bahdanau"},
    {"name": "gnmt"},
    {"name": "ssru"},
]


@pytest.fixture
def batch() -> Batch:
    draw = np.random.default_rng(1)
    pairs = [[np.append(draw.integers(4, 20, n), EOS) for n in lengths] for lengths in ((9, 7), (3, 2), (12, 9))]
    return collate([(source, target) for source, target in pairs])


def learnt(batch: Batch, precision: str, parts: dict[str, Any]) -> tuple[Tensor, Tensor]:
    """The loss and the gradient, [] and [number of parameters]."""
    torch.manual_seed(3)
    model = Seq2Seq(parse({**SIZES, **parts}, ModelConfig), 20, 20)
    with autocast(CPU, precision):
        loss = model(batch, label_smoothing=0.1)
    total = loss.sum + loss.auxiliary
    assert total.dtype == torch.float32
    (64 * total).backward()
    return total.detach(), gradient(model) / 64


def gradient(module: nn.Module) -> Tensor:
    return torch.cat([p.grad.flatten() for p in module.parameters() if p.grad is not None])


def assert_near(batch: Batch, parts: dict[str, Any]) -> None:
    (exact, slope), (near, rounded) = (learnt(batch, precision, parts) for precision in ("fp32", "fp16"))
    assert not torch.equal(rounded, slope)
    # float16 has 11 significant bits, of which large energies lose some. Where a maximum is taken, as in Bahdanau's
    # decoder, a tie may fall the other way.
    torch.testing.assert_close(near, exact, rtol=5e-3, atol=0)
    assert (rounded - slope).norm() < (0.1 if parts["decoder"]["name"] == "bahdanau" else 0.05) * slope.norm()


@pytest.mark.parametrize("decoder", DECODERS, ids=lambda options: "-".join(options))
@pytest.mark.parametrize("attention", ATTENTIONS)
def test_attentions_and_decoders(attention: str, decoder: dict[str, Any], batch: Batch) -> None:
    chosen = {"name": attention} | ({"context": "last"} if attention == "none" else {})
    assert_near(batch, {"decoder": SIZES["decoder"] | decoder, "attention": chosen})


@pytest.mark.parametrize("encoder", ENCODERS)
def test_encoders_and_further_losses(encoder: str, batch: Batch) -> None:
    fields = ENCODERS[encoder].Config.model_fields
    chosen = {"name": encoder} | ({"hidden_size": 16} if "hidden_size" in fields else {})
    decoder = SIZES["decoder"] | {"init_hidden": "zeros"}
    penalties = {"doubly_stochastic_weight": 1.0, "coverage_weight": 1.0}
    assert_near(batch, {"encoder": chosen, "decoder": decoder, "ctc_weight": 0.3, **penalties})


def sound() -> tuple[nn.Module, Tensor]:
    torch.manual_seed(0)
    return LogMel(LogMelConfig(bands=12, channels=3)), torch.randint(-20_000, 20_000, (2, 23, 80)).short()


def picture() -> tuple[nn.Module, Tensor]:
    torch.manual_seed(0)
    return ImageGrid(ImageGridConfig(stages=2, channels=16, dropout=0.0)), torch.randint(0, 256, (2, 32, 32, 3)).byte()


@pytest.mark.parametrize("build", [sound, picture])
def test_frontends(build: Any) -> None:
    result = {}
    for precision in ("fp32", "fp16"):
        frontend, source = build()
        frontend.eval()
        with autocast(CPU, precision):
            vectors, _ = frontend(source, torch.ones(source.shape[:2], dtype=torch.bool))
        vectors.float().square().mean().backward()
        result[precision] = vectors.detach().float(), gradient(frontend)
    for exact, near in zip(*result.values(), strict=True):
        assert 0 < (near - exact).norm() < 0.02 * exact.norm()
