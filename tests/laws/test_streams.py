"""Streams against offline decoding over every attention, encoder, decoder and search of the tables: a pair writes the
same both ways, whatever comes later, or it is refused."""

import itertools
import random
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import pytest

from mt.data.tokenizer import EOS
from mt.decoding.modes import extends, reads_hard, require_extending
from mt.decoding.streaming.stepper import StreamState, advance_streams
from mt.errors import UserError
from mt.models.attention import ATTENTIONS
from mt.models.decoders import DECODERS
from mt.models.encoders import ENCODERS
from mt.models.seq2seq import Seq2Seq
from mt.search.config import OnlineConfig, SearchConfig, WaitKConfig
from tests.components import shaken
from tests.decoding.decoded import decode_ids
from tests.marks import combined
from tests.models.small import small

VOCABULARY = 24
LIMITS = {"max_ratio": 1.0, "max_extra": 3, "min_length": 4}
READERS: dict[str, list[dict[str, Any]]] = {
    "none": [{"context": "last"}],
    "location": [{"max_source_length": 12}],
    "local_m": [{"window": 1}, {"window": 2}, {"window": 2, "energy": {"name": "location", "max_source_length": 12}}],
    "local_p": [{"window": 1}],
    "monotonic": [{"mass_preservation": True}, {"mass_preservation": False}],
    "mocha": [{"chunk_size": 2}, {"chunk_size": 3, "mass_preservation": False}],
    "marginal": [{"order": order, "monotonic": monotonic} for order in (0, 1) for monotonic in (False, True)],
}
FED: dict[str, list[dict[str, Any]]] = {
    "luong": [{"input_feeding": False}, {"input_feeding": True}, {"copy": True}],
    "bahdanau": [{}, {"copy": True}],
}


def variants(table: dict[str, Any], options: dict[str, list[dict[str, Any]]]) -> list[dict[str, Any]]:
    return [{"name": name} | chosen for name in table for chosen in options.get(name, [{}])]


def label(options: dict[str, Any]) -> str:
    return "-".join(str(value["name"] if isinstance(value, dict) else value) for value in options.values())


READING = variants(ATTENTIONS, READERS)
ENCODING = variants(ENCODERS, {})
WRITING = variants(DECODERS, FED)


def build(attention, encoder, decoder, *, seed=5, **first) -> Seq2Seq:
    parts = {"embedding": {"tie_output": False}, "encoder": encoder, "decoder": decoder | first, "attention": attention}
    # Large enough that what is written differs from step to step, and with the source.
    model = shaken(small(VOCABULARY, VOCABULARY, **parts), seed, 1.2)
    if ATTENTIONS[attention["name"]].monotonic:
        model.decoder.attention.energy.gain.data.fill_(1.0)
        model.decoder.attention.energy.bias.data.fill_(0.0)
    return model


def searches(model: Seq2Seq) -> list[SearchConfig]:
    """Those that this model may stream with."""
    waits = [WaitKConfig(k=k, **LIMITS) for k in (1, 3)] if model.supports_wait_k else []
    return [*waits, *([OnlineConfig(**LIMITS)] if model.online else [])]


def ids() -> list[list[int]]:
    """Sources of 1 to 9 tokens, EOS included; of the longer ones others that go on in another way."""
    draw = random.Random(0)
    sources = [[draw.randrange(4, VOCABULARY) for _ in range(length)] for length in range(9)]
    for place, cut in ((6, 1), (7, 4), (8, 2), (8, 5)):
        sources.append(sources[place][:cut] + [draw.randrange(4, VOCABULARY) for _ in range(draw.randint(0, 8 - cut))])
    return [[*source, EOS] for source in sources]


def streamed(model: Seq2Seq, search: SearchConfig, sources: Sequence[list[int]], seed: int) -> list[tuple[int, ...]]:
    """The hypotheses of sources that arrive side by side, one to three tokens at a time, and their ends with the last
    of them or alone."""
    draw = random.Random(seed)
    streams = [StreamState(model, search) for _ in sources]
    left = [[*source] for source in sources]
    while going := [index for index, rest in enumerate(left) if rest and not streams[index].ended]:
        arrived = []
        for index in going:
            count = min(draw.randint(1, 3), len(left[index]) - 1) or 1
            arrived.append((streams[index], left[index][:count]))
            del left[index][:count]
            streams[index].complete = not left[index]
        advance_streams(arrived)
    return [tuple(stream.tokens) for stream in streams]


@combined(label, attention=READING, encoder=ENCODING)
def test_a_stream_is_offline_decoding_or_refused(attention: dict[str, Any], encoder: dict[str, Any]) -> None:
    number = [*ATTENTIONS].index(attention["name"]) + [*ENCODERS].index(encoder["name"])
    kind = ATTENTIONS[attention["name"]]
    writing = WRITING[:1] if kind.mixes_predictions else WRITING
    writing = [decoder for decoder in writing if kind.learns_weights or not decoder.get("copy")]
    build_with = partial(build, attention, encoder, writing[number % len(writing)], init_hidden="zeros")
    model = build_with()
    for search in (OnlineConfig(), WaitKConfig(k=20)):
        if not (model.online if search.name == "online" else model.supports_wait_k):
            with pytest.raises(UserError, match=rf"^search={search.name} (writes while it|shows the model only)"):
                require_extending(search, model)
    for search in searches(model):
        agrees(build_with, search)


@combined(label, attention=[{"name": "general"}, {"name": "local_m", "window": 1}, {"name": "matcha"}], decoder=WRITING)
def test_every_decoder_streams(attention: dict[str, Any], decoder: dict[str, Any]) -> None:
    encoder = {"name": "lstm"}
    build_with = partial(build, attention, encoder, decoder, init_hidden="zeros")
    for search in searches(build_with()):
        agrees(build_with, search)


def agrees(build_with: Callable[..., Seq2Seq], search: SearchConfig) -> None:
    sources = ids()
    # A model that writes the same whatever it reads tests nothing.
    for seed in range(5, 15):
        model = build_with(seed=seed)
        result = decode_ids(model, sources, search, vocab_size=VOCABULARY)
        hypotheses = [best[0] for best in result]
        tokens = [hypothesis.tokens for hypothesis in hypotheses]
        if len(set(tokens)) > 1:
            break
    assert len(set(tokens)) > 1
    assert extends(search, model)
    assert reads_hard(search, model) == (search.name == "online")
    assert streamed(model, search, sources, seed=1) == tokens
    # What was written before a token was read is the same for every source that is the same up to it.
    for one, other in itertools.combinations(range(len(sources)), 2):
        pairs = zip(sources[one], sources[other], strict=False)
        alike = next((i for i, (a, b) in enumerate(pairs) if a != b), 0)
        before = int((hypotheses[one].delays <= alike).sum())
        assert tokens[one][:before] == tokens[other][:before]


@combined(label, attention=[{"name": "general"}, {"name": "mocha"}], decoder=WRITING, encoder=ENCODING)
def test_a_first_state_of_the_whole_source_is_refused(attention, decoder, encoder):
    model = build(attention, encoder, decoder, init_hidden="final_state")
    assert not searches(model)
    for search in (OnlineConfig(), WaitKConfig(k=20)):
        with pytest.raises(UserError, match=r"decoder\.init_hidden=zeros"):
            require_extending(search, model)


def test_the_tables_have_pairs_that_stream() -> None:
    decoder = {"name": "luong"}
    able: dict[str, set[str]] = {"online": set(), "wait_k": set()}
    for attention, encoder in itertools.product(READING, ENCODING):
        for search in searches(build(attention, encoder, decoder, init_hidden="zeros")):
            able[search.name] |= {attention["name"], encoder["name"]}
    incremental = {"lstm", "gru", "ssru", "none"}
    assert able["online"] >= incremental | {"monotonic", "mocha", "matcha", "milk"}
    assert able["wait_k"] >= incremental | {"dot", "general", "location", "bahdanau", "local_m", "marginal"}
