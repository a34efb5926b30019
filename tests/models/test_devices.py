"""What training on a GPU needs of every part of a model. It computes in float16, forward and backward, what it computes
in float32. And a GPU is never waited for: nothing asks what a tensor holds.

Tensors without contents stand for those on a GPU: whoever asks them (`.item()`, `bool(...)`, `.cpu()`, a mask as index)
gets an error, and code that looks whether it is on a CPU takes the other way.
"""

import contextlib
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
from mt.models.decoders import DECODERS
from mt.models.encoders import ENCODERS
from mt.models.frontends.image import ImageGrid, ImageGridConfig
from mt.models.frontends.logmel import LogMel, LogMelConfig
from mt.models.losses import Objective
from mt.models.seq2seq import Seq2Seq
from tests.components import together
from tests.marks import combined

CPU = torch.device("cpu")
ENCODER = {"name": "bilstm", "hidden_size": 16}
SIZES = {"hidden_size": 16, "readout_size": 16}

every_pair = combined(
    attention=[{"name": name} | ({"context": "last"} if name == "none" else {}) for name in ATTENTIONS],
    decoder=[{"name": "luong", "input_feeding": True}, *({"name": name} for name in DECODERS)],
)
every_encoder = pytest.mark.parametrize(
    "encoder", [{"name": name, "hidden_size": 16} for name in ENCODERS], ids=ENCODERS
)
PENALTIES = {"doubly_stochastic_weight": 1.0, "coverage_weight": 1.0}


@pytest.fixture
def batch() -> Batch:
    draw = np.random.default_rng(1)
    pairs = [[np.append(draw.integers(4, 20, n), EOS) for n in lengths] for lengths in ((9, 7), (3, 2), (12, 9))]
    return collate([(source, target) for source, target in pairs])


def build(encoder: dict[str, Any] = ENCODER, decoder: dict[str, Any] | None = None, **parts: Any) -> Seq2Seq:
    made = SIZES | (decoder or {"name": "luong", "init_hidden": "zeros"})
    plain = {"embedding": {"embedding_dim": 16, "dropout": 0.1}, "encoder": encoder, "decoder": made}
    torch.manual_seed(3)
    return Seq2Seq(parse(plain | parts, ModelConfig), 20, 20)


def gradient(module: nn.Module) -> Tensor:
    return torch.cat([p.grad.flatten() for p in module.parameters() if p.grad is not None])


def assert_near(batch: Batch, largest: float = 0.05, **parts: Any) -> None:
    """largest: the difference of the gradients, as a share."""
    outcomes = []
    for precision in ("fp32", "fp16"):
        model = build(**parts)
        with autocast(CPU, precision):
            loss = model(batch, objective=Objective(0.1))
        total = loss.sum + loss.auxiliary
        assert total.dtype == torch.float32
        (64 * total).backward()
        outcomes.append((total.detach(), gradient(model) / 64))
    (exact, slope), (near, rounded) = outcomes
    # float16 has 11 significant bits, of which large energies lose some.
    torch.testing.assert_close(near, exact, rtol=5e-3, atol=0)
    assert 0 < (rounded - slope).norm() < largest * slope.norm()


@every_pair
def test_attentions_and_decoders_in_float16(attention: dict, decoder: dict, batch: Batch) -> None:
    if not together(attention["name"], decoder):
        pytest.skip("refused")
    # Where a maximum is taken, as in Bahdanau's decoder, a tie may fall the other way.
    assert_near(batch, 0.1 if decoder["name"] == "bahdanau" else 0.05, attention=attention, decoder=decoder)


@every_encoder
def test_encoders_and_further_losses_in_float16(encoder: dict, batch: Batch) -> None:
    assert_near(batch, encoder=encoder, ctc_weight=0.3, **PENALTIES)


FRONTENDS = {
    "sound": (LogMel, LogMelConfig(bands=12, channels=3), torch.randint(-20_000, 20_000, (2, 23, 80)).short()),
    "picture": (
        ImageGrid,
        ImageGridConfig(stages=2, channels=16, dropout=0.0),
        torch.randint(0, 256, (2, 32, 32, 3)).byte(),
    ),
}


@pytest.mark.parametrize("name", FRONTENDS)
def test_frontends_in_float16(name: str) -> None:
    kind, config, source = FRONTENDS[name]
    outcomes = []
    for precision in ("fp32", "fp16"):
        torch.manual_seed(0)
        frontend = kind(config).eval()
        with autocast(CPU, precision):
            vectors, _ = frontend(source, torch.ones(source.shape[:2], dtype=torch.bool))
        vectors.float().square().mean().backward()
        outcomes.append((vectors.detach().float(), gradient(frontend)))
    for exact, near in zip(*outcomes, strict=True):
        assert 0 < (near - exact).norm() < 0.02 * exact.norm()


@pytest.fixture
def contentless(batch: Batch, monkeypatch: pytest.MonkeyPatch) -> Batch:
    """A batch without contents; autocast knows nothing of its device."""
    usual = torch.autocast
    enabled = torch.is_autocast_enabled

    def any_device(device: str, *arguments: Any, **options: Any) -> Any:
        return contextlib.nullcontext() if device == "meta" else usual(device, *arguments, **options)

    monkeypatch.setattr(torch, "autocast", any_device)
    monkeypatch.setattr(torch, "is_autocast_enabled", lambda device: device != "meta" and enabled(device))
    return batch.to("meta")


def learn(batch: Batch, **parts: Any) -> None:
    with torch.device("meta"):
        model = build(**parts)
    loss = model(batch, objective=Objective(0.1))
    (loss.sum + loss.auxiliary).backward()
    assert all(parameter.grad is not None for parameter in model.decoder.recurrence.parameters())


def test_whoever_asks_is_found(contentless: Batch) -> None:
    mask = contentless.source_mask
    for ask in (lambda: mask.all().item(), lambda: bool(mask.all()), mask.cpu, lambda: contentless.source[mask]):
        with pytest.raises((RuntimeError, NotImplementedError)):
            ask()


@every_pair
def test_attentions_and_decoders_ask_nothing(attention: dict, decoder: dict, contentless: Batch) -> None:
    if not together(attention["name"], decoder):
        pytest.skip("refused")
    learn(contentless, attention=attention, decoder=decoder)


@every_encoder
def test_encoders_and_losses_beside_the_first_ask_nothing(encoder: dict, contentless: Batch) -> None:
    learn(
        contentless,
        encoder=encoder,
        attention={"name": "mocha", "latency_weight": 0.1},
        **PENALTIES,
    )
