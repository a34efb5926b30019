"""Random models that can write while they read, and a vocabulary with words of several pieces."""

import random
from collections.abc import Callable
from typing import Any

import pytest
import torch

from mt.data.tokenizer import EOS, TokenizerConfig, Tokenizers, Unit, train
from mt.decoding import decode_ids
from mt.models.decoders import DECODERS
from mt.models.encoders import ENCODERS
from mt.models.frontends import EmbeddingConfig
from mt.models.seq2seq import ModelConfig, Seq2Seq
from mt.search.config import OnlineConfig, SearchConfig
from mt.search.hypothesis import Hypothesis
from mt.streaming import Session, Setting
from mt.streaming.progress import Progress

MONOTONIC = ("monotonic", "mocha", "matcha", "milk")
LETTERS = "aeinstrdhu"
SEARCH = OnlineConfig(max_ratio=1.2, max_extra=4)


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


@pytest.fixture(scope="session")
def setting(tokenizers: Tokenizers) -> Callable[..., Setting]:
    """setting(attention, encoder, decoder, search=, unit=, tokenizers=): of a random model whose stops vary."""

    def made(
        attention: dict[str, Any],
        encoder: str = "lstm",
        decoder: str = "luong",
        *,
        search: SearchConfig = SEARCH,
        unit: Unit = "word",
        tokenizers: Tokenizers = tokenizers,
    ) -> Setting:
        config = ModelConfig(
            embedding=EmbeddingConfig(embedding_dim=8, tie_output=False),
            encoder=ENCODERS[encoder].Config(hidden_size=12),
            decoder=DECODERS[decoder].Config(hidden_size=12, readout_size=8, init_hidden="zeros"),
            attention=attention,
        )
        model = Seq2Seq(config, *(len(side) for side in tokenizers)).eval()
        generator = torch.Generator().manual_seed(0)
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.normal_(0, 0.6, generator=generator)
            model.decoder.output.bias[EOS] -= 1
            if attention["name"] in MONOTONIC:
                # Decisions go both ways.
                model.decoder.attention.energy.gain.fill_(1.0)
                model.decoder.attention.energy.bias.zero_()
        return Setting(model, tokenizers, search, unit)

    return made


class Tokens(dict[Progress, list[int]]):
    """The hypotheses of sessions."""

    def of(self, session: Session) -> tuple[int, ...]:
        return tuple(self.get(session._progress, ()))


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> Tokens:
    """The tokens that hypotheses have gone on with."""
    tokens, take = Tokens(), Progress.take

    def recorded(progress: Progress, token: int) -> None:
        tokens.setdefault(progress, []).append(token)
        take(progress, token)

    monkeypatch.setattr(Progress, "take", recorded)
    return tokens


@pytest.fixture
def sentences() -> Callable[..., Sources]:
    """sentences(count, least=, most=): sources of so many words."""
    draw = random.Random(5)
    return lambda count, **bounds: [sentence(draw, **bounds) for _ in range(count)]


@pytest.fixture(scope="session")
def offline() -> Callable[..., list[Hypothesis]]:
    """offline(setting, sources, search): the hypotheses of whole sources, decoded in one batch."""

    def decoded(setting: Setting, sources: Sources, search: SearchConfig | None = None) -> list[Hypothesis]:
        ids = setting.tokenizers.source.encode([" ".join(source) for source in sources])
        size = len(setting.tokenizers.target)
        found = decode_ids(setting.model, ids, search or setting.search, vocab_size=size, precision="fp32")
        return [hypotheses[0] for hypotheses in found]

    return decoded


@pytest.fixture(scope="session")
def streamed() -> Callable[[Setting, list[str]], tuple[Session, list[list[str]]]]:
    """streamed(setting, source): the finished session, and what it wrote at each word and at the end."""

    def read(setting: Setting, source: list[str]) -> tuple[Session, list[list[str]]]:
        session = Session(setting)
        return session, [*[session.read(word) for word in source], session.finish()]

    return read
