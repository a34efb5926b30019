"""The Python API takes texts as any iterable gives them."""

import numpy as np
import pytest

from mt.decoding.translator import Translator
from mt.evaluation.likelihood import likelihoods

ITERABLES = {
    "generator": lambda texts: (text for text in texts),
    "tuple": tuple,
    "array": np.array,
    "array of objects": lambda texts: np.array(texts, dtype=object),
    "map": lambda texts: map(str, texts),
    "keys": lambda texts: dict.fromkeys(texts).keys(),
    "values": lambda texts: dict(enumerate(texts)).values(),
}


@pytest.mark.parametrize("kind", ITERABLES)
def test_any_iterable_is_several_texts(kind: str, translator: Translator, hard: Translator) -> None:
    make = ITERABLES[kind]
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
