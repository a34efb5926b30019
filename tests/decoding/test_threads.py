"""A translator is shared between threads: each gets what it would get alone."""

import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest

import mt
from mt import Translator
from mt.decoding.explore import explore
from mt.search.config import BeamConfig, GreedyConfig, OnlineConfig, SampleConfig

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
