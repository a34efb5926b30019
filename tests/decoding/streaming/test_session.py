"""A stream writes what offline decoding does, earlier, and nothing that it writes depends on what comes later."""

import random
from itertools import pairwise, zip_longest
from typing import Any

import numpy as np
import pytest
import torch

from mt.data.fields import ReadSource
from mt.data.placeholders import FIRST
from mt.data.tokenizer import EOS, TokenizerConfig, Tokenizers, train, units as word_units
from mt.decoding.confidence import Calibration, Confidence, word_features
from mt.decoding.delays import timing
from mt.decoding.lexical import ConstraintEncoder
from mt.decoding.request import LexicalConstraints, Request
from mt.decoding.streaming import finish, finish_each, open_session, read, read_each
from mt.decoding.streaming.extend import ExtendedSession
from mt.errors import UserError
from mt.search.config import GreedyConfig, OnlineConfig, WaitKConfig
from mt.search.policies import AgreeConfig, AlignAttConfig, RetranslateConfig
from tests.decoding.streaming.conftest import LETTERS, offline, stream, wander
from tests.marks import exhaustive, few
from tests.refusals.sentences import require_refusal

ONLINE = OnlineConfig(max_ratio=1.2, max_extra=4)
WAIT_3, WAIT_5 = (WaitKConfig(k=k, max_ratio=1.2, max_extra=4) for k in (3, 5))
POLICIES: dict[str, tuple[dict[str, Any], Any]] = {
    "monotonic": ({"name": "monotonic"}, ONLINE),
    "monotonic-absorbing": ({"name": "monotonic", "mass_preservation": False, "energy": {"name": "concat"}}, ONLINE),
    "mocha": ({"name": "mocha", "chunk_size": 3}, ONLINE),
    "matcha": ({"name": "matcha"}, ONLINE),
    "matcha-absorbing": ({"name": "matcha", "mass_preservation": False}, ONLINE),
    "milk": ({"name": "milk"}, ONLINE),
    "wait-3": ({"name": "general"}, WAIT_3),
    "wait-5": ({"name": "bahdanau"}, WAIT_5),
    "wait-3-local": ({"name": "local_m", "window": 2}, WAIT_3),
}
every_policy = pytest.mark.parametrize(("attention", "search"), POLICIES.values(), ids=POLICIES)
parts = pytest.mark.parametrize(
    ("encoder", "decoder"), [("lstm", "luong"), ("gru", "bahdanau"), *exhaustive(("none", "luong"), ("ssru", "ssru"))]
)


@every_policy
@parts
def test_a_stream_is_offline_decoding_token_for_token(attention, search, encoder, decoder, setting, sentences):
    ours, sources = setting(attention, encoder, decoder, search=search), sentences(few(5))
    hypotheses = offline(ours, sources)
    sessions = [stream(ours, source)[0] for source in sources]
    assert [session.tokens for session in sessions] == [hypothesis.tokens for hypothesis in hypotheses]
    target, network = ours.tokenizers.target, ours.translator.network
    assert [session.text for session in sessions] == [target.decode(hypothesis.tokens) for hypothesis in hypotheses]
    for session, source, hypothesis in zip(sessions, sources, hypotheses, strict=True):
        arrivals = [len(ours.tokenizers.source.encode_word(word)) for word in source]
        read_source = ReadSource([], [], arrivals.copy, sum(arrivals) + 1)
        assert tuple(session.delays) == timing(target, read_source, hypothesis, network).word_delays
    if search == ONLINE:
        greedy = offline(ours, sources, GreedyConfig(mode="hard", max_ratio=1.2, max_extra=4))
        assert [hypothesis.tokens for hypothesis in greedy] == [hypothesis.tokens for hypothesis in hypotheses]
        for session, source in zip(sessions, sources, strict=True):
            # A step begins at the position where the one before stopped.
            (ids,) = ours.tokenizers.source.encode([" ".join(source)])
            assert 0 < session.energies <= len(ids) + len(session.tokens)


@every_policy
@pytest.mark.parametrize("encoder", ["lstm", *exhaustive("ssru")])
def test_together_is_as_alone(attention, search, encoder, setting, sentences) -> None:
    ours, sources, draw = setting(attention, encoder, search=search), sentences(few(5)), random.Random(1)
    alone = [stream(ours, source) for source in sources]
    sessions, written = [ExtendedSession(ours) for _ in sources], [[] for _ in sources]
    waiting = [[*source, None] for source in sources]  # None: the end
    while open_ones := [i for i, words in enumerate(waiting) if words]:
        chosen = draw.sample(open_ones, draw.randint(1, len(open_ones)))
        for ends in (False, True):
            now = [i for i in chosen if (waiting[i][0] is None) == ends]
            group, words = [sessions[i] for i in now], [waiting[i].pop(0) for i in now]
            for i, result in zip(now, finish(group) if ends else read(group, words), strict=True):
                written[i].append(result)
    assert written == [result for _, result in alone]
    for ours_, (theirs, _) in zip(sessions, alone, strict=True):
        assert (ours_.text, ours_.delays) == (theirs.text, theirs.delays)
        assert ours_.energies == theirs.energies
        assert ours_._scored()[2] == pytest.approx(theirs._scored()[2], abs=1e-5)


def test_characters(setting, characters) -> None:
    ours = setting({"name": "mocha", "chunk_size": 2}, unit="char", tokenizers=characters)
    texts = ["  nd rest, \u9ce5\u9ce5x ", "a", "tree shade   and", "\u9ce5 \u9ce5", "dense"] + ["the dense thread"] * 3
    for text, hypothesis in zip(texts, offline(ours, [text.split() for text in texts]), strict=True):
        session = ExtendedSession(ours)
        written = [written for character in text for written in session.read(character)] + session.finish()
        assert session.tokens == hypothesis.tokens
        assert "".join(written) == session.text == ours.tokenizers.target.decode(hypothesis.tokens)
        assert session.source_read == len("".join(text.split()))
        units = ours.tokenizers.target.decoded_unit_ids(hypothesis.tokens, "char")
        features = word_features(units, hypothesis.log_probs, np.zeros(len(units)))
        assert Confidence(unit="char").written(session) == pytest.approx(np.exp(features[:, 0]), abs=1e-4)


@every_policy
def test_words_of_a_stream_have_the_confidences_of_offline_decoding(attention, search, setting, sentences) -> None:
    table = Calibration(judged="words", words=3, weights=(1, 0.5, 0), centres=(-9.0, 1.0), shares=(0.25, 0.75))
    ours = setting(attention, search=search)
    confidence = Confidence(table)
    for source in sentences(few(5)):
        (hypothesis,) = offline(ours, [source])
        session = ExtendedSession(ours)
        known = []
        for word in source:
            session.read(word)
            assert confidence.written(session)[: len(known)] == known  # of what was written nothing changes
            known = confidence.written(session)
        session.finish()
        weights = hypothesis.windows.dense().astype(float)
        entropies = -(weights * np.log(np.maximum(weights, 1e-30))).sum(1)
        units = ours.tokenizers.target.decoded_unit_ids(hypothesis.tokens)
        expected = table.confidences(word_features(units, hypothesis.log_probs, entropies))
        parts = [len(word_units(word, "word")) for word in session.words]
        ends = np.cumsum([0, *parts])
        least = [min(expected[begin:end]) for begin, end in pairwise(ends.tolist())]
        assert ends[-1] == len(expected) and confidence.written(session) == pytest.approx(least, abs=1e-4)


def test_placeholders_are_those_of_offline_decoding(setting, sentences) -> None:
    """Each is a symbol of the vocabulary, and written as in the source."""
    config = TokenizerConfig(vocab_size=60, placeholders=3)
    both = train(config, [" ".join(source) for source in sentences(200)])
    ours = setting({"name": "mocha", "chunk_size": 2}, tokenizers=Tokenizers(both, both))
    with torch.no_grad():  # the symbols are often written
        ours.translator.model.decoder.output.bias[[both.encode_word(chr(FIRST + i))[-1] for i in range(3)]] += 2
    written = set()
    for source in sentences(8):
        source = ["{name}", *source[:2], "%s", *source[2:], "x{0}!", "{name}"]
        (hypothesis,) = offline(ours, [source])
        session = ExtendedSession(ours)
        words = [word for part in source for word in session.read(part)] + session.finish()
        placeholders = both.restored(hypothesis.tokens, " ".join(source))
        assert session.tokens == hypothesis.tokens
        assert " ".join(words) == session.text == both.decode(hypothesis.tokens, placeholders)
        written.update(placeholders.values())
    assert len(written) > 1


@pytest.mark.parametrize("name", ["monotonic", *exhaustive("mocha", "matcha", "milk")])
def test_memory_does_not_grow_where_nothing_must_be_kept(name, setting, sentences) -> None:
    ours = setting({"name": name}, search=OnlineConfig(max_ratio=100.0, min_length=1000), copy=True)
    wander(ours)
    sessions, kept = [ExtendedSession(ours) for _ in range(2)], []
    for words in zip(*sentences(2, least=100, most=100), strict=True):
        read(sessions, words)
        kept.append(max(session.stored_numbers for session in sessions))
    # Tokens: a random model may go round in pieces none of which begins a word.
    assert all(len(session.tokens) > 100 for session in sessions)
    assert (max(kept[50:]) > max(kept[:50]) * 1.5) == (name == "milk")
    assert name == "milk" or max(kept) < 1000


def test_a_runaway_hypothesis_waits_for_the_source_and_ends_with_it(setting, sentences) -> None:
    endless = OnlineConfig(max_ratio=1.0, max_extra=2, min_length=100_000 - 1)
    ours = setting({"name": "monotonic"}, search=endless.model_copy(update={"min_length": 0}))
    with torch.no_grad():
        ours.translator.model.decoder.output.bias[EOS] = -1e4
    lengths = []
    for source in sentences(5, least=4):
        session, tokens = ExtendedSession(ours), 0
        for word in source:
            session.read(word)
            tokens += len(ours.tokenizers.source.encode_word(word))
            assert len(session.tokens) <= tokens + 2
            lengths.append(len(session.tokens) == tokens + 2)
        session.finish()
        assert len(session.tokens) == tokens + 1 + 2 and EOS not in session.tokens
        assert session.text == ours.tokenizers.target.decode(session.tokens)
    assert any(lengths)


def test_what_follows_the_end_of_the_translation_is_read_and_left(setting, sentences) -> None:
    ours = setting({"name": "monotonic"})
    with torch.no_grad():
        ours.translator.model.decoder.output.bias[EOS] = 1e4
        ours.translator.model.decoder.attention.energy.bias.fill_(1e4)
    session, (source,) = ExtendedSession(ours), sentences(1, least=5)
    assert [session.read(word) for word in source] == [[]] * len(source) and session.finish() == []
    assert session.source_read == len(source) and session.text == ""


def test_blank_sources_and_several_words_at_once(setting, sentences) -> None:
    ours, (source,) = setting({"name": "mocha"}), sentences(1, least=6)
    session = ExtendedSession(ours)
    assert session.read("") == session.read(" \t") == session.finish() == []
    assert (session.text, session.source_read, session.delays) == ("", 0, [])
    session = ExtendedSession(ours)
    assert session.read("\u200b \u00ad") == session.read("\u2060") == session.finish() == []
    expected, written = stream(ours, source)
    session = ExtendedSession(ours)
    actual = session.read(" ".join(source[:4])) + session.read(f"  {source[4]}\n")
    assert actual == [word for words in written[:5] for word in words]
    actual = session.read(" ".join(source[5:])) + session.finish()
    assert actual == [word for words in written[5:] for word in words]
    assert session.delays == expected.delays


def test_a_session_that_is_finished_reads_nothing_more(setting) -> None:
    ours = setting({"name": "monotonic"})
    session, other = ExtendedSession(ours), ExtendedSession(ours)
    session.read("dies")
    session.finish()
    sentence = r"^a session that is finished reads nothing more: begin another with translator\.stream\(\)$"
    for late in (lambda: session.read("tun"), session.finish, lambda: read([other, session], ["tun", "tun"])):
        with pytest.raises(UserError, match=sentence):
            late()
    assert other.source_read == 0


@pytest.mark.parametrize("given", [3, None, b"two", [b"two"], [3], 3.5, np.zeros(3), ["two", None], [["two"]], True])
def test_what_is_no_source_is_refused_and_changes_nothing(given, setting) -> None:
    session, other = ExtendedSession(setting({"name": "monotonic"})), ExtendedSession(setting({"name": "monotonic"}))
    require_refusal(lambda: session.read(given), r"^this model reads text, not \w+: give it words$")
    for one in (session, other):
        one.read("dies")
        one.finish()
    assert (session.source_read, session.tokens) == (other.source_read, other.tokens)
    require_refusal(lambda: session.read(given), r"^a session that is finished reads nothing more: begin another")


@pytest.mark.parametrize("search", [AlignAttConfig(f=1), AgreeConfig(), RetranslateConfig()])
@pytest.mark.parametrize("tail", [3, None, b"tun", [b"tun"], "tun\0", "\ud800"])
def test_a_tail_that_is_no_text_is_refused_and_changes_nothing(search, tail: Any, setting) -> None:
    ours = setting({"name": "general"}, "bilstm")
    session, beside, other = (open_session(ours.translator, search, "word") for _ in range(3))
    for one in (session, beside, other):
        one.read("das")
    with pytest.raises(UserError, match=r"^(this model reads text, not |the text holds )"):
        read([beside, session], ["nein tun", "nein tun"], ["", tail])
    assert [one.read("nein") for one in (session, beside)] == [other.read("nein")] * 2
    assert (session.words, session.delays, session.source_read) == (other.words, other.delays, other.source_read)


def test_what_is_no_batch_of_sessions_is_refused(setting) -> None:
    one, other = ExtendedSession(setting({"name": "monotonic"})), ExtendedSession(setting({"name": "monotonic"}))
    no_list = "sessions are a list of what translator.* type "
    for sessions, sources, sentence in (
        (one, ["a"], f"{no_list}ExtendedSession$"),
        (None, ["a"], f"{no_list}NoneType$"),
        ([one, 3], ["a", "b"], f"{no_list}int$"),
        ("ab", ["a", "b"], f"{no_list}str$"),
        ([one], [], "each session reads one source, and 0 for 1 were given"),
        ([one], ["a", "b"], "each session reads one source, and 2 for 1 were given"),
        ([one, other], ["dies", "dies"], "sessions of different models or searches have no batch in common: let them"),
        ([one, one], ["dies", "dies"], "a session is there twice, and reads one word at a time: give each session o"),
    ):
        with pytest.raises(UserError, match=f"^{sentence}"):
            read(sessions, sources)
        if not sentence.startswith("each"):
            with pytest.raises(UserError, match=f"^{sentence}"):
                finish(sessions)
    assert read([], []) == finish([]) == []


def test_a_source_longer_than_the_model_can_read(setting) -> None:
    ours = setting({"name": "monotonic", "energy": {"name": "location", "max_source_length": 9}})
    session = ExtendedSession(ours)
    for _ in range(8):
        session.read("n")
    beside = ExtendedSession(ours)
    sentence = "^a source of 10 tokens, its end included, is longer than the 9 that this model reads: end the sentence"
    require_refusal(lambda: read([session, beside], ["n", "n n"]), sentence)
    assert (session.source_read, beside.source_read) == (8, 2)
    session.finish()
    assert session.source_read == 8


def test_a_session_that_comes_to_a_dead_end_fails_alone(setting, sentences) -> None:
    """A greedy search writes a prefix in letters of which the last may not follow, as longer words would."""
    ours = setting({"name": "monotonic"}, bias=3.0)
    encoder = ConstraintEncoder(ours.tokenizers.target)
    source = sentences(1, least=5)[0]
    alone, _ = stream(ours, source)
    stuck = 0
    for prefix in (*LETTERS, "da", "tu", "de", "ra", "ni"):
        lexical = LexicalConstraints(prefix=prefix, avoid=(prefix,))
        try:
            session = ExtendedSession(ours, encoder.encoded(Request("a source", lexical)))
        except UserError:  # no longer word begins so
            continue
        beside = ExtendedSession(ours)
        for word in source:
            read_each([session, beside], [word] * 2)
        *_, ended = finish_each([beside, session])
        assert (beside.words, beside.delays, beside.failure) == (alone.words, alone.delays, None)
        stuck += isinstance(ended, UserError)
        if session.failure is not None:
            assert str(session.failure).startswith("this search found no translation of a source with all that it")
            assert not session.words
    assert stuck


@pytest.mark.parametrize("name", ["monotonic", "wait"])
def test_prefixes_and_avoided_phrases_are_those_of_offline_decoding(name, setting, sentences) -> None:
    """Of each source something else is asked, or nothing; avoided are the words that it would write. A prefix may
    repeat what else may not be repeated."""
    search = OnlineConfig(max_ratio=2.0, min_length=4, no_repeat_ngram_size=2, max_length=12)
    if name == "wait":
        search = WaitKConfig(k=2, max_ratio=2.0, max_length=12)
    ours, sources = setting({"name": "general" if name == "wait" else name}, search=search), sentences(12, least=3)
    target = ours.tokenizers.target
    free = [target.decode(hypothesis.tokens) for hypothesis in offline(ours, sources)]
    encoder = ConstraintEncoder(target)
    asked = []
    for i, text in enumerate(free):
        first, last = tuple(text.split()[:2]), tuple(text.split()[-1:])
        wanted = [{}, {"avoid": first}, {"prefix": "er nah er nah", "avoid": last}][i % 3]
        asked.append(encoder.encoded(Request("text", LexicalConstraints(**wanted))) if wanted else None)
    hypotheses = offline(ours, sources, asked=asked)
    sessions = [ExtendedSession(ours, one) for one in asked]
    for words in zip_longest(*sources):
        now = [i for i, word in enumerate(words) if word is not None]
        read([sessions[i] for i in now], [words[i] for i in now])
    finish(sessions)
    assert [session.tokens for session in sessions] == [hypothesis.tokens for hypothesis in hypotheses]
    for i, (session, text) in enumerate(zip(sessions, free, strict=True)):
        written = session.text.split()
        assert i % 3 != 0 or session.text == text
        assert i % 3 != 1 or not {*text.split()[:2]} & {*written}
        assert i % 3 != 2 or (session.text.startswith("er nah er nah") and text.split()[-1] not in written)
