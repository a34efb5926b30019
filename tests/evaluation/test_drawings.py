"""Heatmaps of a split: of pieces or words, with the gold links that hold of a hypothesis."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from mt.common.links import weights_between_words
from mt.decoding.torch_network import torch_translator
from mt.evaluation.drawings import drawings, gold_links


@pytest.mark.parametrize(
    ("hypothesis", "expected"),
    [
        ("Wir sehen die Hunde.", {(0, 0), (2, 1), (1, 2), (1, 3)}),  # the target itself
        ("Wir sehen heute die Katzen.", {(0, 0), (2, 1), (1, 3)}),  # one word more, and another one
        ("Nichts davon", set()),
    ],
)
def test_links_are_of_the_words_that_hypothesis_and_target_share(hypothesis: str, expected: set) -> None:
    gold = ["0-0 2-1 1p2 1-3", ""]
    split: Any = SimpleNamespace(links=lambda: gold, column={"target": ["Wir sehen die Hunde.", "x"]}.__getitem__)
    (links, words), unknown = gold_links(split, [hypothesis, "x"])
    assert links.possible == expected and unknown is None and {j for _, j in links.possible} <= {*words}
    possible_alone = hypothesis.split().index("die") if "die" in hypothesis else -1
    assert links.sure == expected - {(1, possible_alone)}


def test_weights_between_words_are_sums_over_the_source_and_means_over_the_target() -> None:
    weights = np.array([[0.1, 0.3, 0.6, 0], [0.5, 0.1, 0.4, 0], [0, 0, 0.2, 0.8]])
    result = weights_between_words(weights, [0, 0, 1, None], [0, 0, None])
    np.testing.assert_allclose(result, [[0.5, 0.5, 0], [0, 0.2, 0.8]], atol=1e-12)


@pytest.mark.parametrize(("configured", "chosen"), [(False, None), (True, None), (True, False)])
def test_a_heatmap_has_a_row_for_each_piece_or_word(translator, corpus, configured, chosen):
    training = translator.config.training.model_copy(update={"plots": 2, "plot_words": configured})
    config = translator.config.model_copy(update={"training": training})
    drawing = torch_translator(translator.model, translator.tokenizers, config)
    split = corpus.split("test")
    translations = drawing.translate(split.column("source")[:3])
    drawn = [*drawings(drawing, translations, split, words=chosen)]
    assert [number for number, *_ in drawn] == [0, 1]
    by_word = configured and chosen is None
    for _, translation, figure in drawn:
        rows = [label.get_text() for label in figure.axes[0].get_yticklabels()]
        assert rows == ([*translation.text.split(), "</s>"] if by_word else [*translation.tokens])
