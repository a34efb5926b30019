"""Calibrates the confidences of words. First come the words that are right, then the calibration, then measures of its
quality."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mt.data.split import Split
from mt.data.tokenizer import units
from mt.decoding.confidence import FILE, Calibration, Confidence, features_of
from mt.decoding.translation import Translation
from mt.decoding.translator import Translator
from mt.errors import UserError
from mt.metrics.wer import equal_units
from mt.storage import write_json

BINS = 20
"""The most bins of a calibration."""
_EQUAL_BINS = 10


def right_words(
    translator: Translator, translations: Sequence[Translation], references: Sequence[Sequence[str]], judged: str
) -> list[np.ndarray]:
    """Returns for each translation which of its words are right: [words] bool.

    judged: with `edits` a word is right if the fewest edits to the nearest reference keep it; with `words` if any
        reference contains it.
    """
    unit = translator.link_units[1]
    written = [units(translation.text, unit) for translation in translations]
    if judged == "words":
        known = [{word for reference in group for word in units(reference, unit)} for group in references]
        return [np.array([word in of for word in text], bool) for text, of in zip(written, known, strict=True)]
    # All pairs are aligned at once; among several references the one that keeps most words counts.
    owners = [i for i, group in enumerate(references) for _ in group]
    flat = [units(reference, unit) for group in references for reference in group]
    right = [np.zeros(len(text), bool) for text in written]
    for i, kept in zip(owners, equal_units([written[i] for i in owners], flat), strict=True):
        marks = np.zeros(len(written[i]), bool)
        marks[[place for place, _ in kept]] = True
        right[i] = max(right[i], marks, key=np.count_nonzero)
    return right


def calibrate(features: np.ndarray, right: np.ndarray, judged: Any) -> Calibration:
    """Fits a calibration to the features [N, 2] of N words, and to whether each is right, [N] bool.

    A logistic regression combines the features. The words are put into bins of equal size by the result, and the share
    of right words in each bin is made monotonic (pool adjacent violators). Raises UserError if all words are right, or
    none is.
    """
    if right.all() or not right.any():
        raise UserError(
            f"confidences are calibrated by right and wrong words, and of these {len(right)} words "
            f"{'none is wrong' if len(right) and right.all() else 'none is right'}: calibrate on more sentences"
        )
    # Newton's method on standardised features. A small penalty keeps the weights finite if the classes are separable.
    centre = features.mean(0)
    # A feature that is the same for all words has no spread.
    spread = features.std(0) + 1e-9
    inputs = np.concatenate(((features - centre) / spread, np.ones((len(right), 1))), 1)
    weights = np.zeros(3)
    for _ in range(30):
        chances = 1 / (1 + np.exp(-inputs @ weights))
        slopes = (inputs * (chances * (1 - chances))[:, None]).T @ inputs + 0.01 * np.eye(3)
        weights -= np.linalg.solve(slopes, inputs.T @ (chances - right) + 0.01 * weights)
    # The weights and the bias of features as they are.
    scaled = weights[:2] / spread
    added = float(weights[2] - scaled @ centre)
    # Bins (mean sum, share of right words, number of words); neighbours that are out of order are merged.
    sums = features @ scaled + added  # [N]
    order = sums.argsort(kind="stable")
    table: list[tuple[float, float, int]] = []
    for of_bin in np.array_split(order, min(BINS, len(order))):
        table.append((float(sums[of_bin].mean()), float(right[of_bin].mean()), len(of_bin)))
        while len(table) > 1 and (table[-2][1] >= table[-1][1] or table[-2][0] >= table[-1][0]):
            *others, lower, upper = table
            count = lower[2] + upper[2]
            means = ((lower[k] * lower[2] + upper[k] * upper[2]) / count for k in (0, 1))
            table = [*others, (*means, count)]  # type: ignore[list-item]
    return Calibration(
        judged=judged,
        words=len(right),
        weights=(float(scaled[0]), float(scaled[1]), added),
        centres=tuple(centre for centre, _, _ in table),
        # Rounded, the mean of merged bins may be a little more than 1.
        shares=tuple(min(share, 1.0) for _, share, _ in table),
    )


def area_under_curve(confidences: np.ndarray, right: np.ndarray) -> float:
    """Returns the probability that a right word has a higher confidence than a wrong one, where ties count one half.
    There must be at least one word of each kind."""
    # The Mann-Whitney U statistic, with mean ranks for ties.
    _, places, counts = np.unique(confidences, return_inverse=True, return_counts=True)
    ranks = (counts.cumsum() - (counts - 1) / 2)[places]
    good = int(right.sum())
    bad = len(right) - good
    return float((ranks[right].sum() - good * (good + 1) / 2) / (good * bad))


def calibration_error(confidences: np.ndarray, right: np.ndarray) -> float:
    """Returns the expected calibration error (Guo et al. 2017, equation 3): the distance between mean confidence and
    share of right words in each of ten bins, averaged over the words."""
    # The sums over a bin are its means times its size, by which the mean is weighted.
    bins = np.minimum((confidences * _EQUAL_BINS).astype(int), _EQUAL_BINS - 1)
    gaps = [abs(confidences[bins == b].sum() - right[bins == b].sum()) for b in range(_EQUAL_BINS)]
    return float(sum(gaps) / len(right))


def risk_coverage(confidences: np.ndarray, right: np.ndarray, points: int = 100) -> dict[float, float]:
    """Returns the share of wrong words among the words of highest confidence, by the share of all words that they
    are."""
    wrong = (~right[(-confidences).argsort(kind="stable")]).cumsum()
    counts = sorted({max(1, round(len(right) * k / points)) for k in range(1, points + 1)})
    return {count / len(right): float(wrong[count - 1] / count) for count in counts}


def calibrate_run(translator: Translator, translations: Sequence[Translation], split: Split, run: Path) -> None:
    """Calibrates the confidences of a run by these translations, and writes the table into the run's folder."""
    # Where outputs are compared word by word, order counts; in translations any word of a reference is right.
    exact = {"wer", "cer", "accuracy"} & {*translator.config.dataset.metrics}
    judged = "edits" if exact else "words"
    made_of = {"sources": split.digests()["sources"], "trained": translator.trained}
    table = calibrate(*_judged_words(translator, translations, split, judged), judged).model_copy(update=made_of)
    if translator.network.in_torch().processes.is_first:
        write_json(run / FILE, table.model_dump(mode="json"))


def confidence_results(
    translator: Translator, translations: Sequence[Translation], split: Split, folder: Path
) -> dict[str, Any]:
    """Measures the words' confidences, and draws risk over coverage to `confidence.png` in a folder. Returns the area
    under the ROC curve, the calibration error and the floor of the table in percent, and whether the table was made
    from these very words; nothing for a run without calibration."""
    table = Confidence.of(translator).table
    if table is None:
        return {}
    features, right = _judged_words(translator, translations, split, table.judged)
    if not len(right):
        return {}
    confidences = np.array(table.confidences(features))
    if translator.network.in_torch().processes.is_first:
        from mt.plots import save  # imported late: matplotlib takes long to load
        from mt.plots.curves import risk

        folder.mkdir(parents=True, exist_ok=True)
        save(risk(risk_coverage(confidences, right)), folder / "confidence.png")
    # The area is defined only if there are right and wrong words.
    results: dict[str, Any] = {
        "confidence_error": 100 * calibration_error(confidences, right),
        "confidence_floor": 100 * table.floor,
    }
    if right.any() and not right.all():
        results["confidence_auc"] = 100 * area_under_curve(confidences, right)
    if table.sources is not None:
        results["confidence_in_sample"] = table.sources == split.digests()["sources"]
    return results


def _judged_words(
    translator: Translator, translations: Sequence[Translation], split: Split, judged: str
) -> tuple[np.ndarray, np.ndarray]:
    """Returns the features [N, 2] of all N words of the translations, and which words are right, [N] bool."""
    right = right_words(translator, translations, split.column("references"), judged)
    features = [np.zeros((0, 2))]
    marks = [np.zeros(0, bool)]
    for translation, right_of_text in zip(translations, right, strict=True):
        # The last words of a text may share a piece with the word before them.
        of_words = features_of(translation)
        count = min(len(of_words), len(right_of_text))
        features.append(of_words[:count])
        marks.append(right_of_text[:count])
    return np.concatenate(features), np.concatenate(marks)
