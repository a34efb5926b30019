"""Minimum Bayes risk decoding: the hypothesis of a search with the largest expected utility. That is the score of its
text against what else the model may say (Kumar & Byrne 2004, equation 4; Eikema & Aziz 2020).

The expectation is over the hypotheses themselves. Samples are draws from the model, so that each counts once, as often
as it was drawn (Eikema & Aziz 2022, equation 5). Those of a beam are not: each text counts by its probability among all
of the beam (Kumar & Byrne 2004, section 3.2).
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from mt.data.dataset import DatasetConfig
from mt.metrics.base import PLAIN, Settings
from mt.metrics.sentence import SENTENCE_SCORES, SentenceScore
from mt.search.config import BeamConfig, SampleConfig, SearchConfig
from mt.search.hypothesis import Hypothesis

if TYPE_CHECKING:
    from mt.decoding.translator import Translator

Rank = Callable[[Sequence[Hypothesis]], Sequence[Hypothesis]]
"""Chooses among the hypotheses of a sentence, and orders them, best first."""


def metric_settings(dataset: DatasetConfig, *, lowercase: bool) -> Settings:
    """Returns how texts of a dataset are scored. lowercase: whether capitals are compared as small letters, since the
    tokenizer of the target writes no others."""
    return Settings(
        target_language=dataset.target,
        bleu_tokenizer=dataset.bleu_tokenizer,
        rouge=replace(PLAIN, tokenizer=dataset.rouge_tokenizer),
        lowercase=lowercase,
    )


def ranking(search: SearchConfig, translator: "Translator") -> Rank | None:
    """Returns how a search that has a utility ranks its hypotheses; None for others.

    Raises UserError where the utility cannot be used here: its tokenizer is not installed."""
    if not isinstance(search, SampleConfig | BeamConfig) or search.utility is None:
        return None
    target = translator.tokenizers.target
    lowercase = target.lowercases
    utility = SENTENCE_SCORES[search.utility](metric_settings(translator.config.dataset, lowercase=lowercase))
    samples = isinstance(search, SampleConfig)
    count = search.n_best

    def rank(hypotheses: Sequence[Hypothesis]) -> list[Hypothesis]:
        texts = [target.decode(hypothesis.tokens) for hypothesis in hypotheses]
        # Each sample counts once; a hypothesis of a beam by its probability.
        log_probs = np.array([hypothesis.log_prob for hypothesis in hypotheses])
        weights = np.ones(len(texts)) if samples else np.exp(log_probs - log_probs.max())
        return ranked(hypotheses, texts, weights, utility)[:count]

    return rank


def ranked(
    hypotheses: Sequence[Hypothesis], texts: Sequence[str], weights: np.ndarray, utility: SentenceScore
) -> list[Hypothesis]:
    """Returns the first hypothesis of each text, largest expected utility first, which is its score then; of equals, in
    the order in which they are.

    weights: [N], how much each hypothesis counts; their sum is made 1.
    """
    first_of_text: dict[str, int] = {}
    for index, text in enumerate(texts):
        first_of_text.setdefault(text, index)
    numbers = {text: number for number, text in enumerate(first_of_text)}
    mass = np.bincount([numbers[text] for text in texts], weights)
    expected = utility.matrix([*first_of_text], [*first_of_text]) @ (mass / mass.sum())
    order = np.argsort(-expected, kind="stable")
    indices = [*first_of_text.values()]
    return [replace(hypotheses[indices[number]], score=float(expected[number])) for number in order]
