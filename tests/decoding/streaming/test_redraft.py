"""Sessions that draft anew: laws over all policies, on random models."""

import math
import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from mt.data.glossary import glossaries_of
from mt.data.tokenizer import EOS
from mt.decoding.request import LexicalConstraints, Request
from mt.decoding.streaming import Session, finish, finish_each, open_session, read, simulated
from mt.decoding.streaming.extend import ExtendedSession
from mt.decoding.streaming.redraft import RedraftedSession
from mt.decoding.streaming.session import Streaming
from mt.errors import UserError
from mt.evaluation.score import simultaneous
from mt.kernels import hard_step as kernel
from mt.search.config import BeamConfig, SearchConfig, WaitKConfig
from mt.search.hypothesis import Windows
from mt.search.policies import AgreeConfig, AlignAttConfig, Draft, RetranslateConfig
from tests.decoding.streaming.conftest import MONOTONIC, SEARCH, Sources, noises, offline
from tests.marks import chosen, few

LIMITS: dict[str, Any] = {"max_ratio": 1.5, "max_extra": 4}
BEAM: dict[str, Any] = {"beam_size": 3, **LIMITS}
POLICIES: dict[str, SearchConfig] = {
    "alignatt-0": AlignAttConfig(f=0, **BEAM),
    "alignatt-1": AlignAttConfig(f=1, **BEAM),
    "alignatt-2-step-2": AlignAttConfig(f=2, step=2, **BEAM),
    "alignatt-2-sure": AlignAttConfig(f=2, sure=0.2, **BEAM),
    "edatt": AlignAttConfig(f=1, share=0.5, **BEAM),
    "agree-2": AgreeConfig(**BEAM),
    "agree-3-step-2": AgreeConfig(n=3, step=2, **BEAM),
    "hold-2": AgreeConfig(n=1, hold=2, **BEAM),
    "wait-2": WaitKConfig(k=2, **LIMITS),
    "retranslate": RetranslateConfig(mask_k=1, **BEAM),
    "beam": BeamConfig(**BEAM),
}


def policies(*names: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("search", [POLICIES[name] for name in names], ids=names)


# The short run leaves out those whose options others have, too.
SHORT = [POLICIES[name] for name in POLICIES if name not in ("alignatt-0", "alignatt-1", "agree-2")]
every_policy = pytest.mark.parametrize("search", chosen(POLICIES.values(), *SHORT), ids=POLICIES)


@pytest.fixture
def ours(setting) -> Streaming:
    """A random model that has to hear all of a source before it writes, unless it drafts."""
    return setting({"name": "general"}, "bilstm")


def session_of(ours: Streaming, search: SearchConfig, **request: Any) -> RedraftedSession:
    return RedraftedSession(ours._replace(search=search), Request("a source", **request))


def read_by_words(session: Session, source: list[str]) -> Session:
    for word in source:
        before = [*session.words]
        session.read(word)
        assert session.words[: len(before)] == before
    before = [*session.words]
    session.finish()
    assert session.words[: len(before)] == before
    return session


@every_policy
def test_any_cutting_of_arrivals_gives_the_same_text_at_the_same_time(search, ours, sentences) -> None:
    draw = random.Random(1)
    for source in sentences(few(3), most=7):
        whole = read_by_words(session_of(ours, search), source)
        for _ in range(2):
            session = session_of(ours, search)
            rest = [*source]
            while rest:
                count = draw.randint(1, 3)
                session.read(" ".join(rest[:count]))
                rest = rest[count:]
            session.finish()
            assert (session.words, session.tokens) == (whole.words, whole.tokens)
    # Delays are counted when a word comes, not when the part that it came with does.
    assert session.delays == whole.delays


def test_a_tail_comes_with_the_last_of_several_words_and_is_gone_at_the_end(ours, sentences) -> None:
    for *source, tail in sentences(few(3), least=4, most=6):
        at_once, in_turn = (session_of(ours, POLICIES["agree-2"]) for _ in range(2))
        at_once.read(source, tail)
        for word in source[:-1]:
            in_turn.read(word)
        in_turn.read(source[-1], tail)
        assert (at_once.words, at_once._drafts) == (in_turn.words, in_turn._drafts)
        left, whole = (session_of(ours, POLICIES["retranslate"]) for _ in range(2))
        left.read(source, tail)
        left.finish()
        assert left.text == read_by_words(whole, source).text


@every_policy
def test_together_is_as_alone_and_as_a_simulation_of_whole_sources(search, ours, sentences) -> None:
    sources: Sources = sentences(few(4), most=7)
    alone = [read_by_words(session_of(ours, search), source) for source in sources]
    together = [session_of(ours, search) for _ in sources]
    read(together, sources)
    finish(together)
    assert [session.words for session in together] == [session.words for session in alone]
    if not search.timed:
        return
    texts = [" ".join(source) for source in sources]
    rows = ours.tokenizers.source.encode(texts)
    for (translation,), session in zip(simulated(ours.translator, rows, search, texts), alone, strict=True):
        assert translation.text == session.text
        if search.name != "retranslate":  # whose words are shown before they are written
            assert list(translation.timing.word_delays) == session.delays
        assert translation.timing.updates[-1] == session.text


@pytest.mark.parametrize("attention", MONOTONIC)
def test_a_hard_attention_drafts_what_it_extends(attention: str, setting, sentences) -> None:
    """Behind an encoder that reads from left to right: word for word, and delay for delay."""
    ours = setting({"name": attention}, "lstm", search=SEARCH)
    with torch.no_grad():
        ours.translator.model.decoder.output.bias[EOS] += 2  # sentences end by themselves, and early, too
    for source in sentences(few(6), most=7):
        extended = read_by_words(ExtendedSession(ours), source)
        drafted = read_by_words(session_of(ours, SEARCH), source)
        assert (drafted.words, drafted.delays, drafted.tokens) == (extended.words, extended.delays, extended.tokens)


@pytest.mark.parametrize(
    "search", [AlignAttConfig(f=99, **BEAM), AgreeConfig(n=99, **BEAM), RetranslateConfig(**BEAM), BeamConfig(**BEAM)]
)
def test_what_writes_nothing_before_the_end_is_offline_decoding(search, ours, sentences) -> None:
    sources = sentences(few(5), most=7)
    for source, hypothesis in zip(sources, offline(ours, sources, BeamConfig(**BEAM)), strict=True):
        session = read_by_words(session_of(ours, search), source)
        assert session.text == ours.tokenizers.target.decode(hypothesis.tokens)
        assert set(session.delays) <= {len(source)}


@policies("alignatt-0", "alignatt-1", "agree-2", "hold-2", "wait-2", "retranslate")
def test_a_tail_may_change_and_is_never_written_against(search, ours, sentences) -> None:
    draw = random.Random(2)
    for source in sentences(few(3), least=3, most=6):
        session = session_of(ours, search)
        for place, word in enumerate(source):
            before = [*session.words]
            tail = " ".join(draw.sample(["nie", "rein", "der", *source[place + 1 :]], 2))
            session.read(word, tail)
            session.read("", tail.upper().lower())  # the recogniser thinks again
            assert session.words[: len(before)] == before
            # The new words attend to what stays.
            if session.translation is not None and search.name == "alignatt" and len(session.words) > len(before):
                peaks = session.translation.alignment[: len(session.tokens), :-1].argmax(1)
                first = len(ours.tokenizers.target.encode([" ".join(before)])[0]) - 1 if before else 0
                assert max(peaks[first:], default=0) < sum(len(row) for row in session._rows)
        session.finish()
        assert session.finished and session.text


@every_policy
def test_an_update_without_news_changes_nothing_and_a_tail_can_go(search, ours, sentences) -> None:
    for source in sentences(few(3), least=4, most=6):
        session = session_of(ours, search)
        session.read(source[:2], tail=source[2])
        before = [*session.words], session.draft, len(session._drafts)
        assert session.read("", tail=source[2]) == []  # a draft does not agree with itself
        assert ([*session.words], session.draft, len(session._drafts)) == before
        session.read("")
        assert session.translation is not None
        assert len(session.translation.source_tokens) == len(ours.tokenizers.source.encode([" ".join(source[:2])])[0])


@every_policy
def test_nothing_is_written_of_invisible_characters_alone(search, ours) -> None:
    session = session_of(ours, search)
    assert session.read("  ") == session.read("\u200b", tail="\u200b") == [] and session.tokens == ()
    assert session.read("tun das", tail="\u200b") == session.words and session.source_read == 3
    begun = session_of(ours, search, lexical=LexicalConstraints(prefix="tun "))
    assert begun.read("\u200b", tail=" ") == begun.finish() == []


@every_policy
@pytest.mark.parametrize("gone", ["read", "finish"])
def test_a_tail_that_goes_before_a_word_was_read_leaves_nothing(search, gone: str, ours) -> None:
    session = session_of(ours, search)
    session.read("", tail="tun das")
    assert session.draft and not session.words
    shown = len(session.shown)
    assert (session.read("") if gone == "read" else session.finish()) == []
    assert (session.draft, session.shown, session.erased) == ([], [], shown)


@policies("alignatt-1", "agree-2", "wait-2", "retranslate", "beam")
def test_a_translation_begins_as_asked(search, ours, sentences) -> None:
    for source in sentences(few(3), least=4, most=6):
        free = read_by_words(session_of(ours, search), source)
        for prefix in ("tun dies ", "tun die"):
            request = Request("a source", LexicalConstraints(prefix=prefix))
            session = read_by_words(open_session(ours.translator, search, "word", request), source)
            assert session.text.startswith(prefix.rstrip()) and session.text != free.text


@policies("alignatt-1", "agree-2", "wait-2", "retranslate")
def test_what_has_no_room_yet_waits_and_leaves_other_sessions_alone(search, ours, sentences) -> None:
    source = sentences(1, least=6, most=7)[0]
    (plain, other), prefix = (session_of(ours, search) for _ in range(2)), "tun das rein der die nie"
    long = glossaries_of({source[0]: prefix}, 1)[0]
    asks: list[dict[str, Any]] = [{"lexical": LexicalConstraints(prefix=f"{prefix} ")}, {"glossary": long}]
    begun = [session_of(ours, search, **ask) for ask in asks]
    for word in source:
        read([*begun, plain], [word] * 3)
        other.read(word)
    finish([*begun, plain, other])
    assert begun[0].text.startswith(f"{prefix} ") and (plain.words, plain.delays) == (other.words, other.delays)
    # At the end the limit holds, as where a hypothesis is extended.
    session = session_of(ours, search, lexical=LexicalConstraints(prefix=prefix))
    session.read(source[0])
    session.finish()
    assert session.cut and prefix.startswith(session.text[:4])


@policies("alignatt-1", "agree-2", "retranslate", "beam")
def test_a_session_that_asks_for_the_impossible_fails_alone(search, ours, sentences) -> None:
    """A term of the source is to be avoided: nobody knows before it comes."""
    source = sentences(1, least=5, most=6)[0]
    alone = read_by_words(session_of(ours, search), source)
    term = {"glossary": glossaries_of({source[1]: "tun"}, 1)[0]}
    impossible = session_of(ours, search, lexical=LexicalConstraints(avoid=("tun",)), **term)
    beside = [session_of(ours, search) for _ in range(2)]
    refused = 0
    for number, word in enumerate(source):
        try:
            read([beside[0], impossible, beside[1]], [word] * 3)
        except UserError as error:
            refused += 1
            assert str(error).startswith('a source asks for "tun" and to avoid it at once') and number >= 1
            assert impossible.failure is error
        assert impossible.failure is None or not impossible.words
    if search.timed:
        assert refused
    answers = finish_each([*beside, impossible])
    assert isinstance(answers[2], UserError)
    for session in beside:
        assert (session.words, session.tokens, session.failure) == (alone.words, alone.tokens, None)
        assert session.delays == alone.delays


@policies("alignatt-1", "agree-2", "wait-2", "retranslate")
def test_phrases_are_refused_where_a_whole_source_is_read_as_if_it_arrived(search, ours, monkeypatch) -> None:
    translator = ours.translator
    # Before any source is drafted, however many come at once.
    monkeypatch.setattr("mt.decoding.streaming.redraft.TOGETHER", 1)
    monkeypatch.setattr(type(translator), "decode", lambda *_, **__: pytest.fail("a source is drafted"))
    requests = [Request("text 1"), Request("text 2", LexicalConstraints(constraints=("tun",)))]
    texts = ["das nein", "das nein"]
    with pytest.raises(UserError, match=f"^text 2 asks for phrases, for which search={search.name} has no room"):
        simulated(translator, translator.tokenizers.source.encode(texts), search, texts, requests)


@policies("alignatt-1", "agree-2", "wait-2", "retranslate")
def test_characters(search, setting, characters) -> None:
    """Of sources without blanks, too."""
    ours = setting({"name": "general"}, "bilstm", unit="char", tokenizers=characters)
    for text in ("dasnein", "tun das", "tu\u0308n de\u0301s"):
        session = session_of(ours, search)
        whole = session_of(ours, search)
        for character in text:
            session.read(character)
        session.finish()
        whole.read(text)
        whole.finish()
        assert session.text == whole.text == "".join(session.words) and session.delays == whole.delays
        (hypothesis,) = offline(ours, [[text]], BeamConfig(**BEAM))
        if search.name == "retranslate" and text.isascii():  # marks are characters of their own
            assert session.text == ours.tokenizers.target.decode(hypothesis.tokens)


def test_which_sessions_extend(setting) -> None:
    for attention, encoder, search, extends in (
        ("mocha", "lstm", SEARCH, True),
        ("mocha", "bilstm", SEARCH, False),
        ("general", "lstm", WaitKConfig(k=2), True),
        ("general", "bilstm", WaitKConfig(k=2), False),
        ("general", "lstm", AlignAttConfig(), False),
    ):
        ours = setting({"name": attention}, encoder)
        assert isinstance(open_session(ours.translator, search, "word"), ExtendedSession) == extends
    usual = {"mocha": "online", "general": "alignatt", "local_p": "alignatt"}
    for attention, name in usual.items():
        assert setting({"name": attention}).translator.streaming_search().name in (name, "online")


@pytest.mark.parametrize("attention", MONOTONIC)
@pytest.mark.parametrize("compiled", [True, False])
def test_a_threshold_moves_every_stop(attention: str, compiled: bool, setting, sentences, monkeypatch) -> None:
    """As a bias of the energies that is lower by its logit, in streams and simulations."""
    if not compiled:
        monkeypatch.setattr(kernel, "is_compiled", lambda *_: False)
    ours = setting({"name": attention}, "lstm", search=SEARCH)
    lowered = setting({"name": attention}, "lstm", search=SEARCH, bias=-math.log(0.8 / 0.2))
    search = SEARCH.model_copy(update={"threshold": 0.8})
    for source in sentences(few(3), most=7):
        session, usual = (read_by_words(one.translator.stream(one.search), source) for one in (lowered, ours))
        other = read_by_words(ours.translator.stream(search), source)
        assert (other.words, other.delays, other.tokens) == (session.words, session.delays, session.tokens)
        row = ours.tokenizers.source.encode([" ".join(source)])
        for translator, policy in ((ours.translator, search), (lowered.translator, SEARCH)):
            ((translation,),) = translator.decode(row, policy)
            assert (translation.ids, translation.timing.word_delays) == (other.tokens, tuple(other.delays))
        assert read_by_words(ours.translator.stream(SEARCH), source).tokens == usual.tokens


@pytest.mark.parametrize("attention", MONOTONIC)
def test_terms_are_chosen_by_a_model_with_the_same_stops(attention: str, setting, sentences) -> None:
    threshold = SEARCH.model_copy(update={"threshold": 0.8})
    lowered = setting({"name": attention}, "bilstm", search=SEARCH, bias=-math.log(0.8 / 0.2)).translator
    ours = setting({"name": attention}, "bilstm", search=SEARCH).translator
    for source in sentences(few(8), least=3, most=7):
        text = " ".join(source)
        request = Request("a source", glossary=glossaries_of({source[1]: ["dasnein", "tun"]}, 1)[0])
        rows = ours.tokenizers.source.encode([text])
        asked = {"texts": [text], "requests": [request]}
        assert ours.decode(rows, threshold, **asked)[0][0].ids == lowered.decode(rows, SEARCH, **asked)[0][0].ids


def test_alignatt_does_not_look_at_the_end_of_the_source(ours, sentences) -> None:
    """Attention that has nowhere to go rests there: a token is judged by where it attends beside."""
    search = AlignAttConfig(f=1, **BEAM)
    session = session_of(ours, search)
    session.read(sentences(1, least=4, most=6)[0])
    best = session.translation
    weights = np.zeros((len(best.ids), len(best.source_tokens)), np.float32)
    weights[:, 0], weights[:, -1] = 0.4, 0.6
    draft = session._draft(replace(best, windows=Windows.whole(weights)))
    assert search.writes(draft) >= draft.end - 1 > 0  # the last one may go on


def test_a_policy_sees_the_words_that_have_come_and_the_drafts_before(ours, sentences, monkeypatch) -> None:
    seen: list[Draft] = []
    monkeypatch.setattr(AgreeConfig, "certain", lambda self, draft: seen.append(draft) or draft.written)
    session = session_of(ours, AgreeConfig(**BEAM))
    for word in sentences(1, least=4, most=6)[0]:
        session.read(word, tail="nie")
        assert seen[-1].words == [*map(len, session._rows)] and [*seen[-1].earlier] == [one.tokens for one in seen[:-1]]
        assert sum(seen[-1].words) == seen[-1].read < seen[-1].weights.shape[1]


def test_a_last_word_that_is_cut_is_final_as_a_whole(ours, sentences) -> None:
    search = RetranslateConfig(beam_size=3, max_length=2)
    texts = [" ".join(source) for source in sentences(few(9), least=3, most=6)]
    found = simulated(ours.translator, ours.tokenizers.source.encode(texts), search, texts)
    cut = [best.timing for (best,) in found if best.cut]
    assert [timing.words_read[-1] for timing in cut] == [timing.word_delays[-1] for timing in cut]
    assert any(timing.word_delays[-1] < timing.source_words for timing in cut)


def test_nothing_is_written_by_what_may_become_part_of_a_term(ours, sentences) -> None:
    search = POLICIES["alignatt-0"]
    written = 0
    for source in sentences(few(4), least=3, most=5):
        glossary = glossaries_of({" ".join([*source, "more"]): "tun"}, 1)[0]
        session = open_session(ours.translator, search, "word", Request("a source", glossary=glossary))
        assert [session.read(word) for word in source] == [[]] * len(source)
        assert session.finish()
        plain = session_of(ours, search)
        written += sum(len(plain.read(word)) for word in source)
    assert written


@pytest.mark.parametrize(
    "search", [AlignAttConfig(f=2, step=3, **BEAM), AgreeConfig(step=4, **BEAM), WaitKConfig(k=3, **LIMITS)]
)
def test_a_sound_is_drafted_as_in_a_simulation(search, hearing) -> None:
    """By a model that hears all of it first."""
    ours = hearing("wait-5", encoder="bilstm", causal=False, search=search)
    for sound in noises(few(2), seconds=0.6):
        session = open_session(ours.translator, search, "char")
        pieces = [session_of(ours, search) for _ in range(2)]
        session.read(sound)
        session.finish()
        for size, other in zip((130, 999), pieces, strict=True):
            for begin in range(0, len(sound), size):
                other.read(sound[begin : begin + size])
            other.finish()
            assert (other.words, other.delays) == (session.words, session.delays)
        row = ours.field.encode([sound], None)
        ours.translator.config.dataset.latency_unit = "char"
        ((translation,),) = simulated(ours.translator, row, search, [sound])
        assert translation.text == session.text and translation.timing.source_words == session.source_read
        (instance,) = simultaneous([translation], [""], [[""]], "char", speech=True)
        assert list(instance.delays) == session.delays
