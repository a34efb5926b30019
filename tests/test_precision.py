"""Decoding in another precision than the run's."""

import statistics
from pathlib import Path

import numpy as np
import pytest

import mt
from mt.data.corpus import Corpus
from mt.decoding.translator import Translation
from mt.errors import UserError
from mt.search.config import BeamConfig, GreedyConfig, OnlineConfig, SearchConfig


def same(one: Translation, other: Translation) -> bool:
    return one.tokens == other.tokens and one.score == other.score and np.array_equal(one.alignment, other.alignment)


@pytest.mark.parametrize("run", ["trained", "trained_hard"])
@pytest.mark.parametrize("search", [GreedyConfig(), BeamConfig(beam_size=3)], ids=["greedy", "beam"])
def test_steps_of_search_in_int8(
    run: str, search: SearchConfig, request: pytest.FixtureRequest, corpus: Corpus
) -> None:
    """Nearly the same is found; where targets are given, nothing is rounded."""
    folder = request.getfixturevalue(run)
    sources = corpus.split("test").column("source")
    exact, rough = (mt.load(folder, device="cpu", precision=precision) for precision in ("fp32", "int8"))
    ours, theirs = (translator.translate(sources, search=search) for translator in (rough, exact))
    assert statistics.mean(one.text == other.text for one, other in zip(ours, theirs, strict=True)) > 0.8
    assert any(one.score != other.score for one, other in zip(ours, theirs, strict=True))
    texts = [translation.text for translation in theirs]
    assert all(map(same, rough.align(sources, texts), exact.align(sources, texts)))


def test_online_searches_are_not_rounded(trained_hard: Path) -> None:
    rough = mt.load(trained_hard, device="cpu", precision="int8")
    with pytest.raises(UserError, match=r"^precision=int8 is not for search=online, which computes in fp32"):
        rough.translate(["two big cats see streets", "three dogs"], search=OnlineConfig())


def test_a_precision_that_there_is_not(trained: Path) -> None:
    with pytest.raises(UserError, match=r"^precision=int4 is an invalid choice: did you mean int8"):
        mt.load(trained, precision="int4")  # type: ignore[arg-type]
