"""Which of many captions says what most of them say: a caption without training, out of those of alike pictures
(Devlin et al. 2015, "Exploring nearest neighbor approaches for image captioning", section 3.2)."""

from collections import Counter
from collections.abc import Sequence

import numpy as np

from mt.metrics.captions import ORDER, SIGMA, document_frequencies, ngrams, tokenize


class Consensus:
    """The captions of a training set, to be chosen from.

    Captions are alike by CIDEr-D (Vedantam et al. 2015), but for its clipping of repeated n-grams.
    """

    def __init__(self, captions: Sequence[Sequence[str]]) -> None:
        """captions: of each picture; how rare an n-gram is counts pictures."""
        self._captions = captions
        counts = [[ngrams(tokenize(text)) for text in group] for group in captions]
        having = document_frequencies(counts)
        self._columns = {ngram: number for number, ngram in enumerate(having)}
        self._orders = np.array([len(ngram) for ngram in having], dtype=np.int64)
        self._rarity = np.log(len(captions) / np.array([*having.values()], dtype=float))
        self._counts = counts

    def choose(self, pictures: Sequence[int]) -> str:
        """The caption of these pictures that is most like the others on average, the first one in a tie.

        Raises ValueError where they have none.
        """
        captions = [text for picture in pictures for text in self._captions[picture]]
        if not captions:
            raise ValueError("there is no caption to choose from")
        counts = [found for picture in pictures for found in self._counts[picture]]
        vectors = self._vectors(counts)
        words = np.array([sum(n for ngram, n in found.items() if len(ngram) == 1) for found in counts], dtype=float)
        likeness = vectors @ vectors.T * np.exp(-((words[:, None] - words) ** 2) / (2 * SIGMA**2))
        np.fill_diagonal(likeness, 0)
        return captions[int(likeness.sum(1).round(6).argmax())]

    def _vectors(self, counts: Sequence[Counter[tuple[str, ...]]]) -> np.ndarray:
        """[captions, n-grams that occur] whose products are means over the orders of cosines."""
        rows = np.repeat(np.arange(len(counts)), [len(found) for found in counts])
        columns = np.array([self._columns[ngram] for found in counts for ngram in found], dtype=np.int64)
        numbers = np.array([number for found in counts for number in found.values()], dtype=float)
        known, places = np.unique(columns, return_inverse=True)
        vectors = np.zeros((len(counts), len(known)))
        vectors[rows, places] = numbers * self._rarity[columns]
        for order in range(1, ORDER + 1):
            part = self._orders[known] == order
            norms = np.linalg.norm(vectors[:, part], axis=1, keepdims=True)
            vectors[:, part] /= np.where(norms > 0, norms, 1) * ORDER**0.5
        return vectors
