"""Minimum Bayes risk decoding chooses the hypothesis with the largest expected utility: the expected score of its text
against the other texts that the model may write (Kumar & Byrne 2004, equation 4; Eikema & Aziz 2020).

The expectation is over the hypotheses themselves. Samples are draws from the model, so each draw counts once (Eikema &
Aziz 2022, equation 5). Hypotheses of a beam are no draws, so each counts by its probability within the beam (Kumar &
Byrne 2004, section 3.2).
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from mt.data.dataset import DatasetConfig
from mt.decoding.network import DecodedBatch, Part
from mt.decoding.translator import Translator
from mt.metrics.base import PLAIN, Settings
from mt.metrics.sentence import SENTENCE_SCORES, SentenceScore
from mt.search.config import BeamConfig, SampleConfig
from mt.search.hypothesis import Hypothesis


def metric_settings(dataset: DatasetConfig, *, lowercase: bool) -> Settings:
    """Returns how texts of a dataset are scored. lowercase: whether capitals are compared as small letters, since the
    tokenizer of the target writes no others."""
    return Settings(
        target_language=dataset.target,
        bleu_tokenizer=dataset.bleu_tokenizer,
        rouge=replace(PLAIN, tokenizer=dataset.rouge_tokenizer),
        lowercase=lowercase,
    )


class MinimumBayesRisk(Part):
    """Chooses among the hypotheses of each sentence by the utility of a search, and orders them."""

    def __init__(self, search: SampleConfig | BeamConfig, translator: Translator) -> None:
        """Raises UserError where the utility cannot be used here: its tokenizer is not installed."""
        assert search.utility is not None
        self._search = search
        self._target = translator.tokenizers.target
        # Texts are compared as the metric of that name compares them.
        settings = metric_settings(translator.config.dataset, lowercase=self._target.lowercases)
        self._utility = SENTENCE_SCORES[search.utility](settings)

    def revised(self, batch: DecodedBatch) -> list[list[Hypothesis]]:
        return [self._ranked(hypotheses)[: self._search.n_best] for hypotheses in batch.hypotheses]

    def _ranked(self, hypotheses: Sequence[Hypothesis]) -> list[Hypothesis]:
        texts = [self._target.decode(hypothesis.tokens) for hypothesis in hypotheses]
        # Each sample counts once; a hypothesis of a beam by its probability.
        log_probs = np.array([hypothesis.log_prob for hypothesis in hypotheses])
        samples = isinstance(self._search, SampleConfig)
        weights = np.ones(len(texts)) if samples else np.exp(log_probs - log_probs.max())
        return ranked(hypotheses, texts, weights, self._utility)


def ranked(
    hypotheses: Sequence[Hypothesis], texts: Sequence[str], weights: np.ndarray, utility: SentenceScore
) -> list[Hypothesis]:
    """Returns the first hypothesis of each text with its expected utility as the score, largest first. Equal ones stay
    in order.

    weights: [N], how much each hypothesis counts; their sum is made 1.
    """
    # The weight of a text is the sum of the weights of its hypotheses.
    first_of_text: dict[str, int] = {}
    for index, text in enumerate(texts):
        first_of_text.setdefault(text, index)
    numbers = {text: number for number, text in enumerate(first_of_text)}
    mass = np.bincount([numbers[text] for text in texts], weights)
    expected = utility.matrix([*first_of_text], [*first_of_text]) @ (mass / mass.sum())
    order = np.argsort(-expected, kind="stable")
    # The score becomes the expected utility, by which the result is ordered.
    indices = [*first_of_text.values()]
    return [replace(hypotheses[indices[number]], score=float(expected[number])) for number in order]
