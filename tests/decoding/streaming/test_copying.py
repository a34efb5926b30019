"""Streams that copy write what offline decoding does, and copy nothing that they have not read."""

import pytest
import torch

from mt.decoding.streaming import finish, read
from mt.decoding.streaming.extend import ExtendedSession
from mt.search.config import OnlineConfig
from tests.decoding.streaming.test_session import POLICIES


@pytest.mark.parametrize("policy", ["monotonic", "mocha", "matcha", "milk", "wait-5"])
@pytest.mark.parametrize(("encoder", "decoder"), [("lstm", "luong"), ("gru", "bahdanau"), ("ssru", "ssru")])
def test_it_is_offline_decoding_token_for_token(policy, encoder, decoder, setting, sentences, offline) -> None:
    attention, search = POLICIES[policy]
    ours = setting(attention, encoder, decoder, search=search, copy=True)
    with torch.no_grad():
        # It copies more often than not.
        ours.model.decoder.copying.gate.weight *= 0.1
        ours.model.decoder.copying.gate.bias.fill_(-3.0)
    sources = sentences(8)
    expected = [hypothesis.tokens for hypothesis in offline(ours, sources)]
    together = [ExtendedSession(ours) for _ in sources]
    for position in range(max(map(len, sources))):
        now = [i for i, source in enumerate(sources) if position < len(source)]
        read([together[i] for i in now], [sources[i][position] for i in now])
    finish(together)
    assert [session.tokens for session in together] == expected
    alone = ExtendedSession(ours)
    for word in sources[0]:
        alone.read(word)
    alone.finish()
    assert alone.tokens == expected[0]
    # Without copies it is another model.
    with torch.no_grad():
        ours.model.decoder.copying.gate.weight.zero_()
        ours.model.decoder.copying.gate.bias.fill_(100.0)
    assert [hypothesis.tokens for hypothesis in offline(ours, sources)] != expected


def test_of_a_long_source_a_stream_keeps_no_more(setting, sentences, wander) -> None:
    """The tokens of what was dropped are dropped, too."""
    ours = setting({"name": "mocha", "chunk_size": 2}, "lstm", search=OnlineConfig(max_length=100_000), copy=True)
    with torch.no_grad():
        ours.model.decoder.output.bias[3] = -100.0
        ours.model.decoder.copying.gate.weight.zero_()
    wander(ours)
    session = ExtendedSession(ours)
    kept = []
    for word in sentences(1, least=200, most=200)[0]:
        session.read(word)
        kept.append(session.stored_numbers)
    assert len(session.words) > 10 and max(kept[100:]) < 2 * max(kept[:50])
