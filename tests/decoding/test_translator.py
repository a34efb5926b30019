import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from threading import Barrier
from typing import Any
from unittest.mock import MagicMock

import numpy as np
import pytest

import mt
from mt.decoding.explore import explore
from mt.decoding.network import decode_rows
from mt.decoding.torch_network import torch_translator
from mt.decoding.translator import Translation, Translator
from mt.errors import UserError
from mt.models.seq2seq import Seq2Seq
from mt.search.config import BeamConfig, GreedyConfig, OnlineConfig, SampleConfig, SearchConfig, WaitKConfig
from mt.search.hypothesis import EMPTY
from tests.marks import exhaustive
from tests.refusals.sentences import require_refusal

GREEDY = GreedyConfig()


def same(one: Translation, other: Translation) -> bool:
    return (
        (one.text, one.tokens, one.source_tokens) == (other.text, other.tokens, other.source_tokens)
        and one.score == pytest.approx(other.score, abs=1e-4)
        and np.allclose(one.alignment, other.alignment, atol=1e-5)
    )


def test_a_bar_shows_progress_where_it_is_asked_for(translator: Translator, monkeypatch: pytest.MonkeyPatch) -> None:
    bar = MagicMock()
    monkeypatch.setattr("mt.decoding.network.Bar", bar)
    for shown in (False, True):
        translator.translate(["Good evening."], progress=shown)
        assert bar.call_args.kwargs["shown"] is shown
        translator.n_best(["Good evening."], n=2, progress=not shown)
        assert bar.call_args.kwargs["shown"] is not shown
        translator.translate(["<p>Good evening.</p>"], format="html", progress=shown)
        assert bar.call_args.kwargs["shown"] is shown


@pytest.mark.parametrize("search", [GREEDY, BeamConfig(beam_size=3)], ids=["greedy", "beam"])
def test_order_and_company_change_nothing(search: SearchConfig, translator: Translator, texts: Path) -> None:
    sources = (texts / "test.en").read_text().splitlines()
    together = translator.translate(sources, search)
    alone = [translator.translate([source], search)[0] for source in sources]
    backwards = translator.translate(sources[::-1], search)[::-1]
    assert len({translation.text for translation in together}) > 3
    assert all(same(*pair) for pair in zip(together, alone, strict=True))
    assert all(same(*pair) for pair in zip(together, backwards, strict=True))
    small = search.model_copy(update={"batch_tokens": 10})
    assert all(same(*pair) for pair in zip(together, translator.translate(sources, small), strict=True))


def test_a_translation_fits_together(translator: Translator) -> None:
    (result,) = translator.translate(["the big cats see two green houses"])
    assert result.source_tokens == ("▁the", "▁big", "▁cats", "▁see", "▁two", "▁green", "▁houses", "</s>")
    assert result.tokens[-1] == "</s>"
    assert "".join(result.tokens[:-1]).replace("▁", " ").strip() == result.text
    assert result.alignment.shape == (len(result.tokens), 8) and result.alignment.dtype == np.float32
    np.testing.assert_allclose(result.alignment.sum(1), 1, atol=1e-5)
    assert result.stops is None and result.timing is None and result.score < 0
    assert translator.align("two", "Ha\u0308user").text == "Häuser"


def test_blank_texts_and_none_at_all(translator: Translator) -> None:
    result = translator.translate(["", "two cats see houses", " \t"])
    assert [bool(translation.text) for translation in result] == [False, True, False]
    assert result[0].tokens == result[0].source_tokens == () and result[0].alignment.shape == (0, 0)
    assert translator.translate([]) == [] and translator.align([], []) == []
    for nothing in ("\u200b", "\u00ad", "\u200e \u2060"):  # as cleaning and scores have it
        assert translator.translate(nothing).text == "" and translator.translate(nothing).source_tokens == ()
    assert translator.translate("two \u200bcats").text


@pytest.mark.parametrize("search", [None, GREEDY, BeamConfig(beam_size=2, n_best=2)], ids=str)
def test_n_best_is_a_beam_search_that_is_wide_enough(search: SearchConfig | None, translator: Translator) -> None:
    result, blank = translator.n_best(["the big cats see houses", ""], 6, search)
    assert len(result) == len({translation.tokens for translation in result}) == 6
    assert [t.score for t in result] == sorted((t.score for t in result), reverse=True)
    assert [translation.text for translation in blank] == [""]
    few = translator.n_best(["the big cats see houses"], n=2, search=search)[0]
    assert len(few) == 2


def test_n_best_of_samples_are_samples(translator: Translator) -> None:
    text = "the big cats see houses"
    for drawn in (1, 12):
        search = SampleConfig(samples=drawn, seed=7)
        expected = SampleConfig(samples=max(drawn, 4), n_best=4, seed=7)
        assert translator.n_best(text, 4, search) == translator.n_best(text, search=expected)
    for online in (OnlineConfig(), WaitKConfig()):
        with pytest.raises(UserError, match=rf"^search={online.name} writes one translation of a text, and n=2 were"):
            translator.n_best(text, 2, online)


def test_results_are_equal_by_their_values(translator: Translator) -> None:
    text = "the big cats see houses"
    one, other = translator.translate(text), translator.translate(text)
    assert one == other and hash(one) == hash(other) and one.windows == other.windows and {one} == {other}
    assert one != translator.translate("two cats") and one != one.text
    assert one != replace(one, windows=EMPTY) and one.windows != EMPTY and one.windows != 1
    (made,) = decode_rows(translator.network, translator.encoded([text]), GreedyConfig())[0]
    assert made == replace(made) and made != replace(made, score=0.0)
    read = replace(made, delays=np.array([1, 2]))
    assert read == replace(read) and read != made and read != replace(read, delays=np.array([1, 3]))


def test_decoding_leaves_a_model_in_its_mode(trained: Path) -> None:
    translator = mt.load(trained, device="cpu")
    text = "the big cats see houses"
    expected = translator.translate(text)
    model = translator.model.train()
    model.frontend.eval()
    again = torch_translator(model, translator.tokenizers, translator.config)
    assert model.training
    assert again.translate(text) == expected
    assert again.align(text, expected.text) == again.align(text, expected.text)
    assert model.training and model.decoder.training and not model.frontend.training


@pytest.mark.parametrize("hard_mode", [None, False, True])
def test_forced_alignment_follows_the_run_or_what_is_asked(hard: Translator, hard_mode: bool | None) -> None:
    (result,) = hard.align(["two dogs find houses"], ["zwei Hunde"], hard=hard_mode)
    (own,) = hard.align(["two dogs find houses"], ["zwei Hunde"], hard=hard_mode is not False)
    assert np.array_equal(result.alignment, own.alignment)
    # A hard MoChA of chunks of 2 has at most two weights in a row.
    assert (np.count_nonzero(result.alignment, axis=1) <= 2).all() == (hard_mode is not False)
    assert (result.stops is None) == (hard_mode is False)
    for row, stop in zip(result.alignment, () if result.stops is None else result.stops, strict=hard_mode is not False):
        assert {*np.flatnonzero(row).tolist()} <= {stop - 1, stop}


def test_hard_alignments_are_decisions(hard: Translator) -> None:
    sources = ["the big cats see houses", "two dogs"]
    for result in hard.translate(sources, GreedyConfig(mode="hard")):
        length = len(result.source_tokens)
        assert result.stops is not None and result.stops.shape == (len(result.tokens),)
        assert (np.diff(result.stops) >= 0).all() and result.stops.max() <= length
        for row, stop in zip(result.alignment, result.stops, strict=True):
            read = set(np.flatnonzero(row))
            assert read <= {stop - 1, stop} and (stop == length) == (not read)
    soft = hard.translate(sources, GreedyConfig(mode="soft"))
    assert all(result.stops is None for result in soft)


def test_a_source_of_more_tokens_than_the_model_reads_is_refused(configure, corpus):
    config = configure({"attention": {"name": "location", "max_source_length": 5}})
    model = Seq2Seq(config, *(len(side) for side in corpus.tokenizers))
    limited = torch_translator(model, corpus.tokenizers, config)
    assert len(limited.translate(["two cats see houses", ""], GREEDY)) == 2
    sentence = "^text 3 has 6 tokens, and this model reads at most 5: split it into sentences, one a line$"
    with pytest.raises(UserError, match=sentence):
        # A blank text in between is counted.
        limited.translate(["two cats", "", "two big cats see houses"], GREEDY)
    require_refusal(lambda: limited.align(["two", "two cats", "two big cats see houses"], ["zwei"] * 3), sentence)


@pytest.mark.parametrize(
    ("word", "size"),
    [
        ("word ", "10001 words"),
        ("鳥", "1 word of 10001 characters in all, as long as 10001 words"),
        ("a" * 20, "1 word of 200020 characters in all, as long as 10001 words"),
        *exhaustive(("word ", "100000 words")),
    ],
)
def test_an_endless_text_is_refused(word: str, size: str, translator: Translator) -> None:
    """Its size is told as it is: one word is not told as thousands."""
    count = 100_000 if size == "100000 words" else 10_001
    sentence = rf"^text 2 has {size}, and at most 10000 are read at once: split it into sentences, one a line$"
    require_refusal(lambda: translator.translate(["two", word * count]), sentence)
    require_refusal(lambda: translator.align(["two", "two"], ["zwei", word * count]), sentence)


# A translator is shared between threads: each gets what it would get alone.

TEXTS = ["two cats", "the big dogs find streets", "three green birds see two houses", "", "鳥 leave the bridges"]
BEAM = BeamConfig(beam_size=4, n_best=2)


def streamed(translator: Translator, text: str) -> tuple[str, list[int]]:
    session = translator.stream()
    for word in text.split():
        session.read(word)
    session.finish()
    return session.text, session.delays


def calls(translator: Translator, *, hard: bool) -> list[Callable[[], Any]]:
    """All that a server asks of a translator, in different orders of length."""
    found: list[Callable[[], Any]] = [
        lambda: translator.translate(TEXTS, GreedyConfig()),
        lambda: translator.n_best(TEXTS[::-1], search=BEAM),
        lambda: translator.n_best(TEXTS[1:3], search=SampleConfig(samples=3, seed=5)),
        lambda: translator.align(TEXTS[:2], ["zwei Katzen", "die Hunde finden"]),
        lambda: translator.translate(TEXTS[1:3], BEAM, prefix=["die", "drei"], avoid=[["Hunde"], None]),
        lambda: explore(translator, TEXTS[2], BEAM, places={0: [2]}, top=3).translations,
        lambda: translator.translate("<p>two <b>big</b> cats</p>", format="html").text,
    ]
    if hard:
        found += [lambda: translator.translate(TEXTS, OnlineConfig()), lambda: streamed(translator, TEXTS[2])]
    return found


@pytest.mark.parametrize("kind", ["soft", "int8", "hard"])
def test_threads_do_not_disturb_one_another(kind: str, trained: Path, trained_hard: Path):
    run = trained_hard if kind == "hard" else trained
    translator = mt.load(run, device="cpu", precision="int8" if kind == "int8" else None)
    assert not translator.model.training, "a loaded model is in evaluation mode, which no thread changes"
    wanted = [call() for call in calls(translator, hard=kind == "hard")]
    threads = 6
    barrier = Barrier(threads)

    def work(number: int) -> None:
        barrier.wait()
        made = calls(translator, hard=kind == "hard")
        for turn in range(2 * len(made)):
            place = (turn + number) % len(made)
            assert made[place]() == wanted[place], place

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)  # threads take turns within the smallest steps
    try:
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(work, range(threads)))
    finally:
        sys.setswitchinterval(interval)
