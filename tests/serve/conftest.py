"""A server of the small run, in a thread of the tests."""

import contextlib
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="the extra serve is not installed")
pytest.importorskip("uvicorn", reason="the extra serve is not installed")

import torch
import uvicorn

from mt import Translator
from mt.common.options import parse
from mt.config import Config
from mt.decoding.torch_network import torch_translator
from mt.models.seq2seq import Seq2Seq
from mt.serve.app import build
from mt.serve.limits import Limits
from mt.serve.server import configured, listen
from tests.serve.clients import Client

LIMITS = Limits()
FIELD = {"name": "audio", "rate": 8000}
SOUND = {
    "dataset": {"name": "sounds", "source": "sound", "target": "de", "folder": ".", "field": FIELD},
    "frontend": {"name": "logmel", "bands": 12, "channels": 4, "causal": True},
    "embedding": {"embedding_dim": 8},
    "encoder": {"name": "lstm", "hidden_size": 8},
    "decoder": {"name": "luong", "hidden_size": 8, "readout_size": 8, "init_hidden": "zeros"},
    "attention": {"name": "mocha", "chunk_size": 2},
    "search": {"name": "online", "max_length": 5},
    "device": "cpu",
}
Serve = Callable[..., contextlib.AbstractContextManager[Client]]


@pytest.fixture(scope="session")
def serving() -> Serve:
    """Serves translators while a context lasts."""

    @contextlib.contextmanager
    def served(translators: Mapping[str, Translator], limits: Limits = LIMITS, **options: Any) -> Iterator[Client]:
        listening = listen("127.0.0.1", 0)
        server = uvicorn.Server(configured(build(translators, limits, **options), limits))
        thread = threading.Thread(target=server.run, args=([listening],))
        thread.start()
        try:
            yield Client(listening.getsockname()[1])
        finally:
            server.should_exit = True
            thread.join()

    return served


@pytest.fixture(scope="module")
def client(serving: Serve, translator: Translator) -> Iterator[Client]:
    """A client of a server that serves the small run as `tiny`."""
    with serving({"tiny": translator}, local=True) as client:
        yield client


@pytest.fixture(scope="module")
def sounds(translator: Translator) -> Translator:
    """A model of sound that has learnt nothing."""
    torch.manual_seed(1)
    config = parse(SOUND, Config)
    tokenizers = translator.tokenizers
    model = Seq2Seq(config, len(tokenizers.source), len(tokenizers.target))
    return torch_translator(model.eval(), tokenizers, config)
