"""The statistics of an attention, worked out by hand on two sentences, and what is said of failures."""

import math

import pytest
import torch
from torch import Tensor

from mt.evaluation.teacher_forcing import AttentionStats, warnings
from mt.models.attention.base import AttentionOutput

# Of three positions and of two.
SOURCE = torch.tensor([[True, True, True], [True, True, False]])
# Of three steps and of two.
TARGET = torch.tensor([[True, True, True], [True, True, False]])
PADDING = [0.9, 0.9, 0.9]
"""Of a step that is none: it must not count."""


def output(weights: list, alpha: list | None = None, p_choose: list | None = None) -> AttentionOutput:
    as_tensors = [None if rows is None else torch.tensor(rows) for rows in (alpha, p_choose)]
    return AttentionOutput(torch.zeros(2, 3, 1), torch.tensor(weights), *as_tensors)


def measured(result: AttentionOutput, source: Tensor = SOURCE, target: Tensor = TARGET) -> dict[str, float]:
    stats = AttentionStats()
    stats.add(result, source, target)
    return stats.scores()


def test_a_soft_attention():
    weights = [
        [[1.0, 0.0, 0.0], [1 / 3, 1 / 3, 1 / 3], [0.0, 0.25, 0.75]],
        [[0.5, 0.5, 0.0], [0.25, 0.75, 0.0], PADDING],
    ]
    scores = measured(output(weights))
    quarters = 0.25 * math.log(4) + 0.75 * math.log(4 / 3)
    # The most probable positions: 0, 0, 2 of three, and 0, 1 of two; of equal ones the first.
    assert scores == pytest.approx(
        {
            "entropy": (0 + math.log(3) + quarters + math.log(2) + quarters) / 5,
            "normalized_entropy": (0 + 1 + quarters / math.log(3) + 1 + quarters / math.log(2)) / 5,
            "at_first": 3 / 5,
            "at_last": 2 / 5,
            "jump": (0 + 2 + 1) / 3,
        }
    )


def test_a_monotonic_attention_is_judged_by_where_it_stops():
    even = [[1 / 3, 1 / 3, 1 / 3]] * 3
    alpha = [[[0.2, 0.7, 0.1], [0.0, 0.0, 0.0], [0.0, 0.2, 0.3]], [[1.0, 0.0, 0.0], [0.5, 0.5, 0.0], PADDING]]
    p_choose = [
        [[0.2, 0.97, 0.5], [0.0, 1.0, 0.5], [0.04, 0.5, 0.06]],
        [[1.0, 0.5, 0.0], [0.5, 0.5, 0.0], [1.0, 1.0, 1.0]],
    ]
    scores = measured(output([even, even], alpha, p_choose))
    assert scores["entropy"] == pytest.approx(math.log(3))
    # Stops: 1, none and 2; 0 and 0.
    assert scores["at_first"] == pytest.approx(2 / 5)
    assert scores["at_last"] == pytest.approx(1 / 5)
    # Neither to nothing nor from nothing is it a jump.
    assert scores["jump"] == 0
    assert scores["lost_mass"] == pytest.approx((0 + 1 + 0.5 + 0 + 0) / 5)
    # Of 9 and 4 real probabilities 0.97, 0, 1, 0.04 and 1 are nearly decided.
    assert scores["saturation"] == pytest.approx(5 / 13)


def test_batches_are_averaged_over_steps():
    one = output([[[1.0, 0.0, 0.0]] * 3, [[0.0, 1.0, 0.0]] * 3])
    stats = AttentionStats()
    stats.add(one, SOURCE, TARGET)
    stats.add(one, SOURCE[:, :3], torch.tensor([[True, False, False], [False, False, False]]))
    assert stats.scores()["at_first"] == pytest.approx(4 / 6)


def test_a_source_of_one_position_leaves_no_choice():
    scores = measured(output([[[1.0, 0.0, 0.0]] * 3] * 2), torch.tensor([[True, False, False]] * 2))
    assert scores == {"entropy": 0, "normalized_entropy": 0, "at_first": 0, "at_last": 0, "jump": 0}


def test_disagreement_is_the_share_of_real_steps_that_differ():
    soft = AttentionStats()
    hard = AttentionStats()
    first, second, third = torch.eye(3).tolist()
    soft.add(output([[first, second, third], [first, first, first]]), SOURCE, TARGET)
    hard.add(output([[first, third, third], [first, second, second]]), SOURCE, TARGET)
    assert soft.disagreement(hard) == hard.disagreement(soft) == pytest.approx(2 / 5)
    assert soft.disagreement(soft) == 0


def test_statistics_are_numbers_in_half_precision():
    weights = torch.full((2, 3, 3), 1 / 3, dtype=torch.bfloat16)
    scores = measured(AttentionOutput(torch.zeros(2, 3, 1), weights))
    assert scores["entropy"] == pytest.approx(math.log(3), rel=1e-2)


SOFT = {"entropy": 1.0, "normalized_entropy": 0.5, "at_first": 0.2, "at_last": 0.2, "jump": 1.0}
MONOTONIC = SOFT | {"lost_mass": 0.1, "saturation": 0.5, "disagreement": 0.1}


@pytest.mark.parametrize(
    "stats", [{}, SOFT, MONOTONIC, SOFT | {"at_first": 1.0}, MONOTONIC | {"normalized_entropy": 1.0}]
)
def test_nothing_is_said_of_an_attention_that_aligns(stats: dict[str, float]):
    assert list(warnings(stats)) == []


@pytest.mark.parametrize(
    ("stats", "sentence"),
    [
        (
            SOFT | {"normalized_entropy": 0.95},
            "attention is nearly even over the source (95% of the largest entropy): it has not begun to align; train "
            "on, or raise optimizer.lr or its warm-up",
        ),
        (
            MONOTONIC | {"lost_mass": 0.75, "at_last": 1.0},
            "75% of the attention has left the sentence: raise attention.energy_bias towards 0, or set "
            "attention.mass_preservation=true",
        ),
        (
            MONOTONIC | {"at_first": 0.96},
            "the pointer stays at the first position in 96% of the steps: make attention.energy_bias more negative, "
            "so that it moves, or lower attention.noise_std",
        ),
        (
            MONOTONIC | {"at_last": 0.96},
            "the pointer is at the last position in 96% of the steps: raise attention.energy_bias towards 0, so "
            "that it stops earlier",
        ),
        (
            MONOTONIC | {"disagreement": 0.4},
            "soft and hard attention differ in 40% of the steps, so that hard decoding is not what is being trained: "
            "train on, or raise attention.noise_std",
        ),
    ],
)
def test_a_failure_is_named_with_its_remedy(stats: dict[str, float], sentence: str):
    assert list(warnings(stats)) == [sentence]
    # Beside each failure of a monotonic attention, hard decoding may differ.
    both = [*warnings(stats | {"disagreement": 0.4})]
    assert sentence in both and len(both) == 1 + ("saturation" in stats and not sentence.startswith("soft and hard"))
