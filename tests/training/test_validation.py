import itertools
import math

import pytest

from mt.metrics import METRICS, build
from mt.training.validation import advice, improves, rank

EVERY = build([*METRICS])
SENTENCES = [["a cat sat on the mat ."], ["it rains today , I think ."]]


def scores(bleu: float, chrf: float | None = None, loss: float = 3.0) -> dict[str, float]:
    return {"loss": loss, "bleu": bleu} | ({} if chrf is None else {"chrf": chrf})


@pytest.mark.parametrize(
    ("metric", "ordered"),
    [
        # Each is worse than the next.
        ("bleu", [scores(10), scores(11), scores(12)]),
        ("bleu", [scores(10, loss=3), scores(10, loss=2.5), scores(10.1, loss=9)]),
        # BLEU of 0 throughout, as of single words: chrF chooses, and of equal ones the loss.
        ("bleu", [scores(0, 27.8), scores(0, 46.9, 3), scores(0, 46.9, 2)]),
        ("bleu", [scores(0, loss=3), scores(0, loss=2)]),
        # Near zero, where a higher BLEU is chance.
        ("bleu", [scores(1.38, 7.6), scores(1.20, 12.7), scores(1.99, 12.8), scores(2.0, 1.0), scores(30, 1.0)]),
        # chrF that says nothing, either.
        ("bleu", [scores(0.5, 9.9, 3), scores(0.1, 0.1, 2), scores(0.1, 10.0, 9)]),
        ("chrf", [scores(5, 1.9, 3), scores(5, 1.1, 2), scores(5, 2.0, 9), scores(5, 2.1, 9)]),
        ("rougeL", [{"loss": 3, "rougeL": 0.0}, {"loss": 2, "rougeL": 0.0}, {"loss": 4, "rougeL": 9.0}]),
        ("loss", [scores(9, loss=3), scores(1, loss=2)]),
        ("loss", [scores(9, loss=math.nan), scores(9, loss=math.inf), scores(1, loss=2)]),
        ("wer", [{"loss": 1, "wer": 90.0}, {"loss": 3, "wer": 1.0}, {"loss": 2, "wer": 1.0}, {"loss": 2, "wer": 0}]),
        (
            "bleu_hard",
            [
                {"loss": 1, "loss_hard": 4, "bleu_hard": 0.0, "bleu": 50.0, "chrf": 99.0, "chrf_hard": 20.0},
                {"loss": 2, "loss_hard": 4, "bleu_hard": 0.0, "bleu": 40.0, "chrf": 9.0, "chrf_hard": 30.0},
                {"loss": 3, "loss_hard": 3, "bleu_hard": 0.0, "bleu": 40.0, "chrf": 9.0, "chrf_hard": 30.0},
            ],
        ),
    ],
)
def test_which_validation_is_better(metric: str, ordered: list[dict[str, float]]) -> None:
    for worse, better in itertools.combinations(ordered, 2):
        # A loss that is no number, and one without end, are the worst alike.
        if rank(worse, metric) != rank(better, metric):
            assert improves(better, worse, metric)
        else:
            assert math.isnan(worse["loss"])
        assert not improves(worse, better, metric)
    assert improves(ordered[0], None, metric) and not improves(ordered[0], ordered[0], metric)


def test_a_score_that_cannot_choose_is_said_with_those_that_can() -> None:
    assert advice(scores(0.0, 46.9), "bleu", EVERY, [["Anna"], ["Otto"]]) == (
        "bleu is 0.00 in the best validation, too low to tell checkpoints apart, so chrF does until it reaches 2: BLEU "
        "counts four tokens in a row, and most references have fewer: choose accuracy or cer (or wer, where they are "
        "of several words) by training.metric, and measure it by dataset.metrics"
    )
    assert advice(scores(1.2), "bleu", EVERY, SENTENCES) == (
        "bleu is 1.20 in the best validation, too low to tell checkpoints apart, so the dev loss does until it reaches "
        "2: wait, or choose chrf (for single words accuracy or cer) by training.metric, and measure it by "
        "dataset.metrics"
    )
