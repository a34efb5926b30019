"""Random models that can write while they read, and a vocabulary with words of several pieces."""

import random
from collections.abc import Callable, Iterable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from mt.data.fields import TEXT, AudioConfig, AudioField, Field
from mt.data.fields.text import TextConfig
from mt.data.tokenizer import EOS, TokenizerConfig, Tokenizers, train
from mt.decoding.streaming import Session
from mt.decoding.streaming.extend import ExtendedSession
from mt.decoding.streaming.session import Streaming
from mt.decoding.torch_network import TorchNetwork
from mt.decoding.translator import Translator
from mt.models.attention.energy import Energy
from mt.models.encoders import Encoded
from mt.models.frontends.logmel import LogMelConfig
from mt.models.seq2seq import Seq2Seq
from mt.search.config import OnlineConfig, SearchConfig, WaitKConfig
from mt.search.hypothesis import Hypothesis
from tests.components import shaken
from tests.decoding.decoded import decode_ids
from tests.models.small import small

MONOTONIC = ("monotonic", "mocha", "matcha", "milk")
LETTERS = "aeinstrdhu"
SEARCH = OnlineConfig(max_ratio=1.2, max_extra=4)
RATE = 4000
"""Of sounds."""
FIELD = AudioField(AudioConfig(rate=RATE))
HEARING: dict[str, tuple[dict[str, Any], SearchConfig]] = {
    "monotonic": ({"name": "monotonic"}, SEARCH),
    "absorbing": ({"name": "monotonic", "mass_preservation": False}, SEARCH),
    "mocha": ({"name": "mocha", "chunk_size": 3}, SEARCH),
    "matcha": ({"name": "matcha"}, SEARCH),
    "milk": ({"name": "milk"}, SEARCH),
    "wait-5": ({"name": "general"}, WaitKConfig(k=5, max_ratio=1.2, max_extra=4)),
}


Sources = list[list[str]]


def sentence(draw: random.Random, least: int = 1, most: int = 10) -> list[str]:
    """Words, some of them of several pieces."""
    return ["".join(draw.choices(LETTERS, k=draw.randint(1, 5))) for _ in range(draw.randint(least, most))]


@pytest.fixture(scope="session")
def tokenizers() -> Tokenizers:
    draw = random.Random(3)
    both = train(TokenizerConfig(vocab_size=60), [" ".join(sentence(draw)) for _ in range(200)])
    return Tokenizers(both, both)


@pytest.fixture(scope="session")
def characters() -> Tokenizers:
    draw = random.Random(4)
    texts = [" ".join(sentence(draw)) for _ in range(50)]
    both = train(TokenizerConfig(model_type="char", vocab_size=30), texts)
    return Tokenizers(both, both)


def random_model(tokenizers: Tokenizers, attention: dict[str, Any], bias: float, encoder: str, **parts: Any) -> Seq2Seq:
    """A model whose stops vary; the larger the bias of its energies, the earlier they are."""
    sizes = {"hidden_size": 12, "readout_size": 8, "init_hidden": "zeros"}
    parts["embedding"] = {"embedding_dim": 8} | parts.get("embedding", {})
    parts |= {"encoder": {"name": encoder, "hidden_size": 12}, "decoder": sizes | parts.get("decoder", {})}
    model = shaken(small(*map(len, tokenizers), attention=attention, **parts), scale=0.6)
    with torch.no_grad():
        model.decoder.output.bias[EOS] -= 1
        if attention["name"] in MONOTONIC:
            # Decisions go both ways.
            model.decoder.attention.energy.gain.fill_(1.0)
            model.decoder.attention.energy.bias.fill_(bias)
    return model


def translator_of(model: Seq2Seq, tokenizers: Tokenizers, field: Field = TEXT) -> Translator:
    config: Any = SimpleNamespace(dataset=SimpleNamespace(field=TextConfig(), latency_unit="word"), search=SEARCH)
    translator = Translator(TorchNetwork(model, field, vocab_size=len(tokenizers.target)), tokenizers, config)
    translator.field = field
    return translator


@pytest.fixture(scope="session")
def setting(tokenizers: Tokenizers) -> Callable[..., Streaming]:
    """setting(attention, encoder, decoder, search=, unit=, tokenizers=, bias=, copy=): of a random model."""

    def made(attention, encoder="lstm", decoder="luong", *, tokenizers=tokenizers, bias=0.0, copy=False, **policy):
        parts = {"embedding": {"tie_output": False}, "decoder": {"name": decoder, "copy": copy}}
        model = random_model(tokenizers, attention, bias, encoder, **parts)
        return Streaming(translator_of(model, tokenizers), **{"search": SEARCH, "unit": "word"} | policy)

    return made


class Wandering(Energy):
    """A random energy, with which a pointer moves on, as that of a random model would not."""

    def __init__(self, energy: Energy) -> None:
        super().__init__()
        self.energy = energy
        self.generator = torch.Generator().manual_seed(0)

    def keys(self, encoded: Encoded) -> torch.Tensor:
        return self.energy.keys(encoded)

    def forward(self, queries: torch.Tensor, keys: torch.Tensor) -> torch.Tensor:
        return torch.randn(*queries.shape[:2], keys.shape[1], generator=self.generator)


def wander(setting: Streaming) -> None:
    """Lets the pointer of a model wander."""
    attention = setting.translator.model.decoder.attention
    attention.energy = Wandering(attention.energy)


@pytest.fixture
def sentences() -> Callable[..., Sources]:
    """sentences(count, least=, most=): sources of so many words."""
    draw = random.Random(5)
    return lambda count, **bounds: [sentence(draw, **bounds) for _ in range(count)]


def decoded(setting: Streaming, rows: Any, search: SearchConfig | None = None, **options: Any) -> list[Hypothesis]:
    """The best hypotheses of whole sources, decoded in one batch."""
    size = len(setting.tokenizers.target)
    result = decode_ids(setting.translator.model, rows, search or setting.search, vocab_size=size, **options)
    return [hypotheses[0] for hypotheses in result]


def offline(setting: Streaming, sources: Sources, *search: Any, **options: Any) -> list[Hypothesis]:
    """The hypotheses of whole sources of words."""
    return decoded(
        setting, setting.tokenizers.source.encode([" ".join(source) for source in sources]), *search, **options
    )


def stream(setting: Streaming, pieces: Iterable[Any]) -> tuple[Session, list[list[str]]]:
    """The finished session, and what it wrote at each piece of the source and at the end."""
    session = ExtendedSession(setting)
    return session, [*[session.read(piece) for piece in pieces], session.finish()]


@pytest.fixture(scope="session")
def hearing(characters: Tokenizers) -> Callable[..., Streaming]:
    """hearing(policy, encoder=, search=, bias=, ...): of a random model that hears and writes characters; the rest are
    options of its front-end."""

    def made(policy, *, encoder="lstm", search=None, bias=0.0, **options) -> Streaming:
        attention, usual = HEARING[policy]
        frontend = LogMelConfig(**{"bands": 12, "channels": 3, "causal": True} | options)
        model = random_model(characters, attention, bias, encoder, frontend=frontend)
        model.frontend.mean.fill_(8.0)
        model.frontend.std.fill_(2.0)
        return Streaming(translator_of(model, characters, FIELD), search or usual, "char")

    return made


def noises(count: int, seconds: float = 1.2, seed: int = 0) -> list[np.ndarray]:
    """Sounds of about this length that come and go."""
    draw = np.random.default_rng(seed)
    result = []
    for _ in range(count):
        length = int(seconds * RATE * draw.uniform(0.7, 1.3))
        loud = np.repeat(10 ** draw.uniform(0, 4, -(-length // 400)), 400)[:length]
        result.append((loud * draw.normal(0, 1, length)).clip(-32_000, 32_000).astype(np.int16))
    return result
