"""How probable it is that a word of a translation is right, by the probabilities and the attention of the model itself.

`word_features` computes two numbers for each word. A `Calibration`, which `mt.evaluation.confidence` fits on the dev
split, weighs them and looks the sum up in a table of bins: how many words in the bin were right?
`Unsure` marks or leaves out what is probably wrong. Needs no torch."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple

import numpy as np
from pydantic import Field, model_validator

from mt.common.input_files import read_json
from mt.common.options import Digest, Options, parse
from mt.common.terminal import note
from mt.data.placeholders import SYMBOLS
from mt.data.tokenizer import LinkUnit
from mt.data.words import units
from mt.decoding.translation import Translation
from mt.decoding.translator import Translator
from mt.errors import UserError
from mt.markup.words import UNSURE, Span

if TYPE_CHECKING:
    from mt.decoding.streaming import Session

FILE = "confidence.json"
"""The name of a calibration in the folder of its run."""
_Number = Annotated[float, Field(ge=-1e9, le=1e9)]
_Share = Annotated[float, Field(ge=0, le=1)]
_Judge = Literal["edits", "words"]


def word_features(units: Sequence[int | None], log_probs: Sequence[float], entropies: Sequence[float]) -> np.ndarray:
    """Returns two numbers for each word, [words, 2]: the log-probability of its tokens, and the mean entropy of their
    attention, in nats. A word without a token has the numbers of the word before it.

    units: of each token its word, None where it has none. log_probs, entropies: of each token.
    """
    # The sums over the tokens of each word; the entropies become a mean.
    tokens = [place for place, unit in enumerate(units) if unit is not None]
    words = [unit for unit in units if unit is not None]
    features = np.zeros((1 + max(words, default=-1), 2))
    counts = np.bincount(words, minlength=len(features))
    np.add.at(features, words, np.stack((log_probs, entropies), 1)[tokens])
    features[:, 1] /= np.maximum(counts, 1)
    # A word without a token takes the row of the last word before it that has one.
    return features[np.maximum.accumulate(np.where(counts > 0, np.arange(len(counts)), 0))]


class Calibration(Options):
    """The table by which features become confidences."""

    judged: _Judge
    """Which words count as right. edits: the words that stay in the shortest edit to the nearest reference; words: the
    words that some reference has."""
    words: int = Field(ge=1)
    """How many words the table was fitted on."""
    sources: Digest | None = None
    """The digest of the sources of these words (`Split.digests`); None in tables of earlier versions."""
    trained: str | None = None
    """The weights of the model that wrote them, as in `About.trained`; None in tables of earlier versions."""
    weights: tuple[_Number, _Number, _Number]
    """A logistic regression: the weights of log-probability and entropy, and the bias."""
    centres: Annotated[tuple[_Number, ...], Field(min_length=1)]
    """The mean of the weighted sums in each bin, rising."""
    shares: tuple[_Share, ...]
    """The share of right words in each bin, which does not fall."""

    @model_validator(mode="after")
    def _table(self) -> "Calibration":
        # np.interp needs rising centres, and a higher sum must not mean less confidence.
        rising = all(a < b for a, b in zip(self.centres, self.centres[1:], strict=False))
        if len(self.centres) != len(self.shares) or not rising or [*self.shares] != sorted(self.shares):
            raise UserError("centres and shares must be as many, centres rise, and shares not fall")
        return self

    @property
    def floor(self) -> float:
        """The share of right words in the lowest bin."""
        return self.shares[0]

    def confidences(self, features: np.ndarray) -> list[float]:
        """Returns the share of right words for each row of features, between the bins in proportion.

        The table knows no words below its lowest bin. There confidence falls to 0 with the model's probability. A word
        that is half as probable, at the same entropy, has half the confidence.
        """
        # The weighted sum of both features, which the table knows.
        sums = features @ np.array(self.weights[:2]) + self.weights[2]
        below = np.minimum(sums - self.centres[0], 0)
        # In nats of log-probability: half of the probability is then half of the confidence.
        log_ratios = below / self.weights[0] if self.weights[0] > 0 else below
        return (np.interp(sums, self.centres, self.shares) * np.exp(log_ratios)).tolist()


def mean(shares: Sequence[float]) -> float:
    """Returns the confidence of a text: the mean over its words, or 1 where it has no words."""
    return float(np.mean(shares)) if shares else 1.0


class Confidence:
    """Computes how probable it is that words are right: by the table of a calibrated run, the share of right words
    among similar words of the dev split; without a table by the model's probability."""

    def __init__(self, table: Calibration | None = None, unit: LinkUnit = "word") -> None:
        """unit: whether words or characters of a stream have a confidence."""
        self.table = table
        self._unit: LinkUnit = unit

    @classmethod
    def of(cls, translator: Translator) -> "Confidence":
        """Returns the confidences of a loaded run, whose table is read once."""
        table = None if translator.folder is None else load_calibration(translator.folder, translator.trained)
        return cls(table, translator.link_units[1])

    def words(self, translation: Translation) -> list[float]:
        """Returns the confidence of each word of a translation."""
        return self._shares(features_of(translation))

    def text(self, translation: Translation) -> float:
        """Returns the confidence of a translation: the share of its words that are probably right."""
        return mean(self.words(translation))

    def written(self, session: "Session") -> list[float]:
        """Returns the confidence of each word that a stream has written, which does not change. A word with marks, such
        as a full stop, has the least of its parts."""
        target = session.streaming.tokenizers.target
        found = []
        for ids, log_probs, entropies in session.tokens_of_words():
            features = word_features(target.decoded_unit_ids(ids, self._unit), log_probs, entropies)
            found.append(min(self._shares(features), default=1.0))
        return found

    def _shares(self, features: np.ndarray) -> list[float]:
        return np.exp(features[:, 0]).tolist() if self.table is None else self.table.confidences(features)


# The features of translations, and the table of a run.


def features_of(translation: Translation) -> np.ndarray:
    """Returns the features of the words of a translation, [words, 2]; see `word_features`."""
    return word_features(translation.units.target, translation.log_probs, entropies_of(translation.alignment))


def entropies_of(alignment: np.ndarray) -> list[float]:
    """Returns the entropy of the attention of each token, [T], in nats. alignment: [T, S]."""
    weights = alignment.astype(float)
    # Attention of zero adds nothing to the entropy.
    entropies: list[float] = (-(weights * np.log(np.maximum(weights, 1e-30))).sum(1)).tolist()
    return entropies


def load_calibration(run: Path, trained: str | None = None) -> Calibration | None:
    """Returns the calibration of a run, None where it has none. Raises UserError for a damaged one.

    trained: the weights that it is used with; a note on standard error tells where it was made with others.
    """
    path = run / FILE
    return _read(path, trained, path.stat().st_mtime_ns) if path.is_file() else None


@cache
def _read(path: Path, trained: str | None, changed: int) -> Calibration:
    """Reads a calibration; it is read again when its file was changed."""
    advice = "make it again: mt evaluate RUN --split dev --calibrate"
    try:
        calibration = parse(read_json(path, advice), Calibration)
    except UserError as error:
        raise UserError(f"{path} is no table of confidences ({error}): {advice}") from None
    if None not in (trained, calibration.trained) and calibration.trained != trained:
        note(f"{path} was made with {calibration.trained}, and these weights are {trained}: {advice}")
    return calibration


# What becomes of translations that are probably wrong.


class Unsure(NamedTuple):
    """The treatment of translations whose confidence is too low."""

    least: float
    """The least confidence of a word that is not marked, or of a text that is not left out."""
    leave_out: bool = False
    """Whether whole texts are left out, in place of marks at words."""
    confidence: Confidence = Confidence()

    def leaves_out(self, translation: Translation) -> bool:
        """Returns whether a text is left out."""
        return self.leave_out and self.confidence.text(translation) < self.least

    def spans(self, translator: Translator, translation: Translation) -> list[Span]:
        """Returns where the marked words begin and end; nothing where whole texts are left out instead. The symbol of a
        placeholder is never marked."""
        found: list[Span] = []
        end = 0
        # Words are looked for one after another, since the same word may come twice.
        words = () if self.leave_out else units(translation.text, translator.link_units[1])
        # Not strict: `leave_out` has no words here.
        for word, confidence in zip(words, self.confidence.words(translation), strict=False):
            begin = translation.text.index(word, end)
            end = begin + len(word)
            if confidence < self.least and not any(character in SYMBOLS for character in word):
                found.append((begin, end))
        return found

    def shown(self, translator: Translator, translation: Translation) -> str:
        """Returns the text with each unsure word as [?word], or an empty text where it is left out."""
        # The marks go around the words, and the text between them stays.
        if self.leaves_out(translation):
            return ""
        text = ""
        done = 0
        for begin, end in self.spans(translator, translation):
            text += translation.text[done:begin] + translation.text[begin:end].join(UNSURE)
            done = end
        return text + translation.text[done:]
