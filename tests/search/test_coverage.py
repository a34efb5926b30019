"""What hypotheses pay for their attention: against all sentences of a small language, each scored in loops."""

import math

import numpy as np
import pytest
import torch

from mt.search.coverage import Coverage, Penalties
from mt.search.hypothesis import Hypothesis, penalty
from mt.step import Attended
from tests.refusals.sentences import require_refusal
from tests.search.searches import beam, literal_beam, require_found
from tests.search.toys import CHOICES, Toy, make_toy

POSITIONS = [5, 2, 4, 1]
LONGEST = [4, 3, 4, 2]
PENALTIES = [Penalties(0.2, 0.0), Penalties(0.0, 1.5), Penalties(0.6, 0.4)]


class Attending(Toy):
    """A toy whose attention is a table: soft, or in windows of two positions up to a stop."""

    def __init__(self, tables: torch.Tensor, *, hard: bool = False) -> None:
        super().__init__(tables)
        generator = torch.Generator().manual_seed(len(tables))
        energies = 2 * torch.randn(len(tables), CHOICES, max(POSITIONS), generator=generator)
        mask = torch.arange(max(POSITIONS)) < torch.tensor(POSITIONS)[:, None]
        self.attention = energies.masked_fill(~mask[:, None], -torch.inf).softmax(-1)
        self.hard = hard

    def step(self, tokens, memory, state):
        reading = super().step(tokens, memory, state)
        weights = self.attention[memory.identity, reading.state.prefix % CHOICES]
        if not self.hard:
            return reading._replace(attended=Attended(weights))
        stops = weights.argmax(-1)
        first = (stops - 1).clamp(min=0)
        window = torch.zeros(len(tokens), 2)
        window.scatter_(1, (stops - first)[:, None], 0.7)
        window[:, 0] += torch.where(stops > first, 0.3, 0.0)
        return reading._replace(attended=Attended(window, stops, first))

    def weights(self, sentence: int, tokens: tuple[int, ...]) -> list[list[float]]:
        """Of each step and position."""
        rows = []
        for _, _, prefix in self.replay(sentence, tokens)[1]:
            soft = self.attention[sentence, int(prefix) % CHOICES].tolist()
            if self.hard:
                stop = int(np.argmax(soft))
                soft = [0.7 * (i == stop) + 0.3 * (stop > 0 and i == stop - 1) for i in range(len(soft))]
            rows.append(soft)
        return rows

    def cost(self, sentence: int, tokens: tuple[int, ...], penalties: Penalties) -> float:
        """What the papers take from its score, a position at a time."""
        total = 0.0
        for i in range(POSITIONS[sentence]):
            received = sum(row[i] for row in self.weights(sentence, tokens))
            if penalties.coverage:
                total -= penalties.coverage * math.log(min(received, 1.0))
            total += penalties.summary * max(received - 1.0, 0.0)
        return total


@pytest.fixture
def toy() -> Attending:
    return Attending(make_toy(4, 5, seed=3, ending=0.5).tables)


def scores(toy: Attending, sentence: int, exponent: float, penalties: Penalties) -> list[tuple[float, tuple[int, ...]]]:
    """Of every sentence of the language, best first."""
    longest = LONGEST[sentence]
    ranked = toy.ranked(sentence, longest, exponent)
    return sorted(((score - toy.cost(sentence, tokens, penalties), tokens) for score, tokens in ranked), reverse=True)


def searched(toy: Attending, width: int, exponent: float, penalties: Penalties, n_best: int) -> list[list[Hypothesis]]:
    sizes = {"beam_size": width, "n_best": n_best, "max_lengths": LONGEST, "length_penalty": exponent}
    return beam(toy, toy.memory(), 4, **sizes, coverage=Coverage.before(penalties, POSITIONS))


@pytest.mark.parametrize("penalties", PENALTIES)
@pytest.mark.parametrize(("exponent", "n_best"), [(0.0, 31), (0.6, 31), (0.6, 1)])
def test_a_wide_beam_finds_the_best_of_all_sentences(toy: Attending, exponent, n_best, penalties: Penalties):
    """Where it reports one alone, it stops early, which changes nothing."""
    for b, result in enumerate(searched(toy, 31, exponent, penalties, n_best)):
        require_found(result, scores(toy, b, exponent, penalties)[:n_best])
        for h in result:
            assert h.log_prob == pytest.approx(toy.replay(b, h.tokens)[0], abs=1e-4), "which is the model's own"


@pytest.mark.parametrize("width", [2, 3, 4])
@pytest.mark.parametrize("penalties", [Penalties(0.0, 5.0), Penalties(0.6, 0.4)])
def test_a_narrow_beam_keeps_what_repeats_itself_least(penalties: Penalties, width: int):
    toy = Attending(make_toy(4, 5, seed=7, ending=0.5).tables)  # whose probable words repeat their attention
    for b, result in enumerate(searched(toy, width, 0.6, penalties, (width + 1) // 2)):

        def score(tokens: tuple[int, ...], ended: bool) -> float:
            """Open hypotheses pay the summary penalty alone."""
            paid = penalties if ended else penalties._replace(coverage=0.0)
            return toy.replay(b, tokens)[0] / penalty(len(tokens), 0.6) - toy.cost(b, tokens, paid)  # noqa: B023

        require_found(result, literal_beam(toy, width, LONGEST[b], score)[: (width + 1) // 2])


def test_windows_of_hard_attention_are_counted_where_they_are():
    toy = Attending(make_toy(4, 5, seed=3, ending=0.5).tables, hard=True)
    penalties = Penalties(0.0, 0.9)
    for b, result in enumerate(searched(toy, 31, 0.6, penalties, 31)):
        require_found(result, scores(toy, b, 0.6, penalties))


def test_a_window_at_the_end_keeps_its_weight_beside_a_wider_one():
    """A window of one position is padded to the width of its neighbour, beyond the end of the source."""
    coverage = Coverage.before(Penalties(0.0, 1.0), [3, 3])
    assert coverage is not None
    weights = np.array([[0.2, 0.3, 0.5], [0.9, 0.0, 0.0]], np.float32)
    attention = Attended(weights, stops=np.array([2, 2]), first=np.array([0, 2]))
    received = coverage.after([0, 1], attention).received
    np.testing.assert_allclose(received, [[0.2, 0.3, 0.5], [0.0, 0.0, 0.9]], atol=1e-6)


def test_a_position_without_any_attention_costs_much_and_is_finite():
    coverage = Coverage.before(Penalties(1.0, 0.0), [3])
    assert coverage.costs().if_finished[0] == pytest.approx(-3 * math.log(np.finfo(np.float32).tiny))


@pytest.mark.parametrize(
    ("penalties", "options", "sentence"),
    [
        ((0.2, 0.0), {"hard": True}, "search.coverage_penalty=0.2 is of attention that gives each position"),
        ((0.2, 0.0), {"hard": False, "uses_source": False}, "search.coverage_penalty=0.2 weighs what was attended to"),
        ((0.0, 5.0), {"hard": False, "uses_source": False}, "search.summary_penalty=5 weighs what was attended to"),
    ],
)
def test_what_cannot_be_weighed_is_refused(penalties: tuple[float, float], options: dict[str, bool], sentence: str):
    require_refusal(lambda: Penalties(*penalties).require_readable(**options), f"^{sentence}")
    Penalties().require_readable(**options)
    Penalties(0.0, 1.0).require_readable(hard=True)
