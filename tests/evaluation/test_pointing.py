"""The pointing game over what a model wrote."""

from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from mt.data.tokenizer import Tokenizer, TokenizerConfig, train
from mt.decoding.translation import Translation
from mt.evaluation.timing import pointing_score
from mt.search.hypothesis import Windows

PICTURE = "large red circle 5,5,31,31; small blue star 75,74,89,88"
CAPTION = "a large red circle in the top left and a small blue star in the bottom right"
# Of 4 x 4 places.
TOP_LEFT = 0
BOTTOM_RIGHT = 15


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return train(TokenizerConfig(model_type="word", vocab_size=40), [CAPTION] * 5)


def of(tokenizer: Tokenizer, metrics: list[str], peaks: dict[str, int], text: str = CAPTION) -> dict[str, Any]:
    """`pointed` of one caption whose attention is at these places while these words are written, else in between."""
    [ids] = tokenizer.encode([text])
    weights = np.full((len(ids), 16), 0.01, np.float32)
    for step, word in enumerate(text.split()):
        weights[step, peaks.get(word, 5)] = 0.5
    caption = Translation(text, 0.0, (*text.split(), "</s>"), ("",) * 16, Windows.whole(weights), ids=tuple(ids))
    config = SimpleNamespace(dataset=SimpleNamespace(metrics=metrics))
    model = SimpleNamespace(uses_source=True)
    tokenizers = SimpleNamespace(target=tokenizer)
    translator = SimpleNamespace(config=config, model=model, tokenizers=tokenizers)
    columns = {"source": [PICTURE], "references": [[CAPTION]]}
    return pointing_score(cast(Any, translator), [caption], cast(Any, SimpleNamespace(column=columns.__getitem__)))


@pytest.mark.parametrize(
    ("circle", "star", "expected"), [(TOP_LEFT, BOTTOM_RIGHT, 100), (TOP_LEFT, TOP_LEFT, 50), (9, 9, 0)]
)
def test_attention_while_an_object_is_named(tokenizer: Tokenizer, circle: int, star: int, expected: float) -> None:
    [(name, score)] = of(tokenizer, ["truth", "bleu"], {"circle": circle, "star": star}).items()
    assert (name, score.score) == ("pointing", expected)
    assert score.signature == "n:2|of:objects of true captions|grid:4x4"


def test_of_captions_that_are_checked_and_true_alone(tokenizer: Tokenizer) -> None:
    assert of(tokenizer, ["bleu"], {}) == {}
    assert of(tokenizer, ["truth"], {}, "a small blue star in the top left") == {}
