"""How probable it is that a word of a translation is right, by the probabilities and the attention of the model itself.

`word_features` has two numbers for each word. A `Calibration`, which `mt.evaluation.confidence` makes of the dev split,
weighs them. Its table of bins says how many words of the same weight were right there. Needs no torch."""

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from pydantic import Field, model_validator

from mt.common.input_files import read_json
from mt.common.options import Options, parse
from mt.errors import UserError

if TYPE_CHECKING:
    from mt.decoding.translation import Translation

FILE = "confidence.json"
"""The name of a calibration in the folder of its run."""
_Number = Annotated[float, Field(ge=-1e9, le=1e9)]
_Share = Annotated[float, Field(ge=0, le=1)]
_Judge = Literal["edits", "words"]


def word_features(translation: "Translation") -> np.ndarray:
    """Returns two numbers for each word, [words, 2]: the log-probability of its pieces, and their attention's mean
    entropy as a share of the largest. A word without a piece of its own has those of the word before.

    Raises UserError where the log-probabilities are not known.
    """
    count = 1 + max((unit for unit in translation.target_units if unit is not None), default=-1)
    steps: list[list[int]] = [[] for _ in range(count)]
    if steps and not translation.log_probs:
        raise UserError("how probable the words of a stream are is not known: translate the whole text")
    for step, unit in enumerate(translation.target_units):
        if unit is not None:
            steps[unit].append(step)
    # Attention of zero adds nothing to the entropy.
    weights = translation.alignment.astype(float)
    entropies = -(weights * np.log(np.maximum(weights, 1e-30))).sum(1) / math.log(max(weights.shape[1], 2))
    log_probs = np.array(translation.log_probs)
    features = np.zeros((len(steps), 2))
    for word, of_word in enumerate(steps):
        if of_word:
            features[word] = log_probs[of_word].sum(), entropies[of_word].mean()
        elif word:
            features[word] = features[word - 1]
    return features


class Calibration(Options):
    """The table by which features become confidences."""

    judged: _Judge
    """What was right: edits: what the fewest edits to the nearest reference keep; words: what some reference has."""
    words: int = Field(ge=1)
    """How many words it was made of."""
    weights: tuple[_Number, _Number, _Number]
    """Of the log-probability, of the entropy, and what is added: a logistic regression."""
    centres: Annotated[tuple[_Number, ...], Field(min_length=1)]
    """The mean of what the weights give, of each bin, rising."""
    shares: tuple[_Share, ...]
    """The share of right words in each bin, which does not fall."""

    @model_validator(mode="after")
    def _table(self) -> "Calibration":
        rising = all(a < b for a, b in zip(self.centres, self.centres[1:], strict=False))
        if len(self.centres) != len(self.shares) or not rising or [*self.shares] != sorted(self.shares):
            raise UserError("centres and shares must be as many, centres rise, and shares not fall")
        return self

    def confidences(self, features: np.ndarray) -> list[float]:
        """Returns the share of right words for each row of features, between the bins in proportion."""
        sums = features @ np.array(self.weights[:2]) + self.weights[2]
        return np.interp(sums, self.centres, self.shares).tolist()


def load_calibration(run: Path) -> Calibration | None:
    """Returns the calibration of a run, None where it has none. Raises UserError for a damaged one."""
    path = run / FILE
    if not path.is_file():
        return None
    advice = "make it again: scripts/evaluate.py RUN --split dev --calibrate"
    try:
        return parse(read_json(path, advice), Calibration)
    except UserError as error:
        raise UserError(f"{path} is no table of confidences ({error}): {advice}") from None
