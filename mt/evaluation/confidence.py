"""Confidences of words against the truth. First come the words that are right, then a calibration made of them, then
measures of how good it is."""

from collections.abc import Mapping, Sequence
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
"""Most bins of a calibration."""
_EQUAL_BINS = 10


def right_words(
    translator: Translator, translations: Sequence[Translation], references: Sequence[Sequence[str]], judged: str
) -> list[np.ndarray]:
    """Returns for each translation which of its words are right: [words] bool.

    judged: edits: the words that the fewest edits to the nearest reference keep; words: those that some reference has.
    """
    unit = translator.link_unit
    written = [units(translation.text, unit) for translation in translations]
    if judged == "words":
        known = [{word for reference in group for word in units(reference, unit)} for group in references]
        return [np.array([word in of for word in text], bool) for text, of in zip(written, known, strict=True)]
    # All pairs at once; of a group the reference that keeps most words counts.
    owners = [i for i, group in enumerate(references) for _ in group]
    flat = [units(reference, unit) for group in references for reference in group]
    right = [np.zeros(len(text), bool) for text in written]
    for i, kept in zip(owners, equal_units([written[i] for i in owners], flat), strict=True):
        marks = np.zeros(len(written[i]), bool)
        marks[[place for place, _ in kept]] = True
        right[i] = max(right[i], marks, key=np.count_nonzero)
    return right


def calibrate(features: np.ndarray, right: np.ndarray, judged: Any) -> Calibration:
    """Returns the calibration of words with features [words, 2], of which some are right: [words] bool.

    A logistic regression weighs the features. Bins of as many words each say how many are right. Neighbours that fall
    get their mean (pool adjacent violators). Raises UserError where all words are right, or none.
    """
    if right.all() or not right.any():
        raise UserError(
            f"confidences are calibrated by right and wrong words, and of these {len(right)} words "
            f"{'none is wrong' if len(right) and right.all() else 'none is right'}: calibrate on more sentences"
        )
    # Newton's method, on features of like size; a small penalty keeps weights finite where words can be told apart.
    centre = features.mean(0)
    spread = features.std(0) + 1e-9
    inputs = np.concatenate(((features - centre) / spread, np.ones((len(right), 1))), 1)
    weights = np.zeros(3)
    for _ in range(30):
        chances = 1 / (1 + np.exp(-inputs @ weights))
        slopes = (inputs * (chances * (1 - chances))[:, None]).T @ inputs + 0.01 * np.eye(3)
        weights -= np.linalg.solve(slopes, inputs.T @ (chances - right) + 0.01 * weights)
    scaled = weights[:2] / spread
    added = float(weights[2] - scaled @ centre)
    # Bins, and the mean of neighbours whose shares fall.
    sums = features @ scaled + added
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
        shares=tuple(min(share, 1.0) for _, share, _ in table),
    )


def area_under_curve(confidences: np.ndarray, right: np.ndarray) -> float:
    """Returns the probability that a right word has a higher confidence than a wrong one, ties counting one half. There
    is at least one of each."""
    _, places, counts = np.unique(confidences, return_inverse=True, return_counts=True)
    ranks = (counts.cumsum() - (counts - 1) / 2)[places]
    good = int(right.sum())
    bad = len(right) - good
    return float((ranks[right].sum() - good * (good + 1) / 2) / (good * bad))


def calibration_error(confidences: np.ndarray, right: np.ndarray) -> float:
    """Returns the expected calibration error (Guo et al. 2017, equation 3). It is the mean over words of a distance in
    their bin, of ten equal ones. The distance is between the mean confidence and the share of right words."""
    bins = np.minimum((confidences * _EQUAL_BINS).astype(int), _EQUAL_BINS - 1)
    gaps = [abs(confidences[bins == b].sum() - right[bins == b].sum()) for b in range(_EQUAL_BINS)]
    return float(sum(gaps) / len(right))


def risk_coverage(confidences: np.ndarray, right: np.ndarray, points: int = 100) -> dict[float, float]:
    """Returns the share of wrong words among those of the highest confidence, by what share of all these are."""
    wrong = (~right[(-confidences).argsort(kind="stable")]).cumsum()
    counts = sorted({max(1, round(len(right) * k / points)) for k in range(1, points + 1)})
    return {count / len(right): float(wrong[count - 1] / count) for count in counts}


def calibrate_run(translator: Translator, translations: Sequence[Translation], split: Split, run: Path) -> None:
    """Makes the table of confidences of a run of these translations, and writes it into its folder."""
    exact = {"wer", "cer", "accuracy"} & {*translator.config.dataset.metrics}
    judged = "edits" if exact else "words"
    made_of = {"sources": split.digests()["sources"], "trained": translator.trained}
    table = calibrate(*_judged_words(translator, translations, split, judged), judged).model_copy(update=made_of)
    if translator.network.in_torch().processes.is_first:
        write_json(run / FILE, table.model_dump(mode="json"))


def confidence_results(
    translator: Translator, translations: Sequence[Translation], split: Split, folder: Path
) -> dict[str, Any]:
    """Returns the area under the curve and the calibration error of the words' confidences, in percent. With them come
    the floor of the table, and whether it was made of these very words. Draws risk over coverage to `confidence.png` of
    a folder. Nothing where the run has no calibration."""
    table = Confidence.of(translator).table
    if table is None:
        return {}
    features, right = _judged_words(translator, translations, split, table.judged)
    if not len(right):
        return {}
    confidences = np.array(table.confidences(features))
    if translator.network.in_torch().processes.is_first:
        _draw(folder, risk_coverage(confidences, right))
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
    """Returns of all words the features [words, 2], and which of them are right: [words] bool."""
    right = right_words(translator, translations, split.column("references"), judged)
    features = [np.zeros((0, 2))]
    marks = [np.zeros(0, bool)]
    for translation, right_of_text in zip(translations, right, strict=True):
        # At the end of a text, words may share the piece of the word before.
        of_words = features_of(translation)
        count = min(len(of_words), len(right_of_text))
        features.append(of_words[:count])
        marks.append(right_of_text[:count])
    return np.concatenate(features), np.concatenate(marks)


def _draw(folder: Path, curve: Mapping[float, float]) -> None:
    from mt.plots import save  # Not above: matplotlib takes long to load.
    from mt.plots.curves import risk

    folder.mkdir(parents=True, exist_ok=True)
    save(risk(curve), folder / "confidence.png")
