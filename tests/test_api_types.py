"""Whatever is given to the Python API: it is taken, or refused in one sentence."""

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from mt import Translator, load
from mt.evaluation.likelihood import likelihoods
from mt.search.config import BeamConfig
from tests.refusals.sentences import require_refusal

Call = Callable[[Any], object]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (None, "text 1 is None, and this is for text: give a str"),
        (b"the cats", "text 1 is of type bytes"),
        (object(), "text 1 is of type object"),
        (np.zeros(3), "text 1 is of type ndarray"),
        (["the cats", None], "text 2 is None"),
        (["the cats", ["see"]], "text 2 is of type list"),
        ((b"the" for _ in range(2)), "text 1 is of type bytes"),
        ("the \ud800 cats", r"text 1 holds half of a character (\ud800)"),
        (["the cats", "a\0b"], "text 2 holds a NUL character: remove it"),
    ],
)
def test_what_is_no_text(translator: Translator, text: Any, sentence: str):
    require_refusal(lambda: translator.translate(text), f"^{re.escape(sentence)}")


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda it: it.n_best("the cats", n=0), "n=0 translations of a text are not possible: ask for 1 to 1000"),
        (lambda it: it.n_best("the cats", n="2"), "n='2' translations of a text are not possible"),
        (lambda it: it.translate("two cats", BeamConfig(mode="hard")), "search.mode=hard needs an attention that can"),
        (lambda it: it.align("two cats", "zwei Katzen", hard=True), "search.mode=hard needs an attention that can"),
        (lambda it: it.align("two", ["zwei"]), "align takes two texts or two lists of texts, not one of each"),
        (lambda it: it.align(["two"], "zwei"), "align takes two texts or two lists of texts, not one of each"),
        (lambda it: it.translate("the cats", search="beam"), "search is of type str: give a configuration"),
        (lambda it: it.stream("online"), "search is of type str: give a configuration"),
        (lambda it: it.align(["the", "cats"], ["die"]), "align takes a target for each source, and 1 for 2 were given"),
        (lambda it: it.align("the", b"die"), "target 1 is of type bytes"),
        (lambda it: it.align(None, None), "target 1 is None"),
        (lambda it: likelihoods(it, ["the", "cats"], ["die"]), "each source has a target, and 1 for 2 were given"),
        (lambda it: likelihoods(it, None, None), "source 1 is None"),  # type: ignore[arg-type]
        (lambda it: likelihoods(it, ["the"], ["\ud800"]), "target 1 holds half of a character"),
        (lambda it: likelihoods(it, ["the"], ["word " * 10_001]), "target 1 has 10001 words"),
        (lambda it: it.translate(["the", "cats"], glossary=[{"the": "die"}]), "glossaries of single texts are one for"),
        (lambda it: it.translate(["the"], prefix=["die", "der"]), "prefix is asked of 1 text: give a list with an"),
        (lambda it: it.translate("the two cats see streets").plot(None), "None names no file: give a path"),
        (lambda it: it.translate("the two cats see streets").plot("/"), "'/' names no file: give a path"),
    ],
)
def test_what_does_not_fit(translator: Translator, call: Call, sentence: str):
    require_refusal(lambda: call(translator), f"^{re.escape(sentence)}")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"run": None}, "run is of type NoneType: give the folder that training printed"),
        ({"run": b"run"}, "run is of type bytes: "),
        ({"run": ""}, "run is empty: "),
        ({"run": [None]}, "run is of type NoneType: "),
        ({"run": [["run"]]}, "run is of type list: "),
        ({"run": []}, "there is no run to load: "),
        ({"run": "run", "checkpoint": 3}, "checkpoint is of type int: give a str, as checkpoint='best'"),
        ({"run": "run", "device": None}, "device is of type NoneType: give a str, as device='auto'"),
        ({"run": "run", "engine": 3}, "engine is of type int: give a str, as engine='torch'"),
        ({"run": "run", "precision": 3}, "precision=3 is an invalid choice: "),
    ],
    ids=str,
)
def test_what_cannot_be_loaded(options: dict[str, Any], sentence: str):
    require_refusal(lambda: load(**options), f"^{re.escape(sentence)}")


@pytest.mark.parametrize("make", [iter, np.array, lambda texts: dict.fromkeys(texts).keys()])
def test_any_iterable_is_several_texts(make: Call, translator: Translator, hard: Translator) -> None:
    sources = ["two cats", "the big dogs see houses"]
    targets = ["zwei Katzen", "die großen Hunde"]
    expected = [translation.text for translation in translator.translate(sources)]
    assert [translation.text for translation in translator.translate(make(sources))] == expected
    assert [best.text for best, _ in translator.n_best(make(sources), n=2)] == expected
    aligned = translator.align(make(sources), make(targets))
    assert [pair.text for pair in aligned] == targets
    assert likelihoods(translator, make(sources), make(targets)) == likelihoods(translator, sources, targets)
    together = hard.stream()
    word_by_word = hard.stream()
    words = sources[1].split()
    assert together.read(make(words)) == [target for word in words for target in word_by_word.read(word)]
    assert together.finish() == word_by_word.finish()


def test_an_array_of_one_text_is_one_text(translator: Translator) -> None:
    assert translator.translate(np.array("two cats")).text == translator.translate("two cats").text
