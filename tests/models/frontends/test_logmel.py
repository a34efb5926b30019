import random

import pytest
import torch
from torch import Tensor

from mt.models.frontends.logmel import LogMel, LogMelConfig
from tests.models.small import arrivals, piece

HOP = 80
LENGTHS = (23, 1, 8, 17)
OPTIONS = {"bands": 12, "channels": 3}


@pytest.fixture
def mask() -> Tensor:
    return torch.arange(max(LENGTHS)) < torch.tensor(LENGTHS)[:, None]


@pytest.fixture
def sounds() -> Tensor:
    shape = (len(LENGTHS), max(LENGTHS), HOP)
    return torch.randint(-20_000, 20_000, shape, generator=torch.Generator().manual_seed(1)).short()


def build(**options) -> LogMel:
    torch.manual_seed(0)
    frontend = LogMel(LogMelConfig(**OPTIONS | options)).eval()
    frontend.mean.fill_(12.0)
    frontend.std.fill_(2.0)
    return frontend


VARIANTS = [
    {"causal": causal, "convolutions": convolutions, "normalization": normalization}
    for causal in (False, True)
    for convolutions in (0, 1, 2, 3)
    for normalization in ("train", "utterance", "running")
    if not (causal and normalization == "utterance")
]


@pytest.mark.parametrize("options", VARIANTS, ids=str)
def test_a_sound_alone_gives_what_it_gives_in_any_batch(options, sounds: Tensor, mask: Tensor):
    frontend = build(**options)
    vectors, places = frontend(sounds, mask)
    assert places.sum(1).tolist() == frontend.output_lengths(torch.tensor(LENGTHS)).tolist()
    assert vectors.shape == (*places.shape, frontend.output_size)
    for row, length in enumerate(LENGTHS):
        alone, real = frontend(sounds[row : row + 1, :length], mask[row : row + 1, :length])
        assert real.all()
        torch.testing.assert_close(alone[0], vectors[row, : alone.shape[1]], atol=1e-4, rtol=1e-4)
        assert not vectors[row, alone.shape[1] :].any()


@pytest.mark.parametrize("options", [one for one in VARIANTS if one["causal"]], ids=str)
def test_pieces_of_a_sound_give_the_vectors_of_the_whole(options, sounds: Tensor, mask: Tensor):
    """Pieces of any length, each row its own, and none once it has ended."""
    frontend = build(**options)
    draw = random.Random(str(options))
    vectors, places = frontend(sounds, mask)
    state = None
    result: list[list[Tensor]] = [[] for _ in LENGTHS]
    for begins, ends in arrivals(LENGTHS, draw, (0, 1, 2, 7)):
        new, real = piece(sounds, begins, ends, 12_345)
        complete = torch.tensor(ends) == torch.tensor(LENGTHS)
        given, mark, state = frontend.extend(new, real, complete, state)
        for row, each in enumerate(result):
            each.append(given[row, mark[row]])
        assert all(len(part) == len(LENGTHS) for part in state), "batch first, so that rows can be kept and dropped"
    for row, each in enumerate(result):
        whole = vectors[row, places[row]]
        torch.testing.assert_close(torch.cat(each), whole, atol=1e-4, rtol=1e-4)


def test_causal_means_that_what_comes_later_changes_nothing(sounds: Tensor):
    changed = sounds[:1].clone()
    everything = torch.ones(1, max(LENGTHS), dtype=torch.bool)
    changed[:, 14:] = -changed[:, 14:]
    for causal in (False, True):
        before, after = (build(causal=causal)(each, everything)[0][0] for each in (sounds[:1], changed))
        # Vector 3 hears frame 12, whose last samples are in the 10 ms after its own.
        assert torch.equal(before[:4], after[:4]) == causal
        assert not torch.equal(before[4:], after[4:])


def test_the_moments_of_a_training_set_are_those_of_all_its_frames(sounds: Tensor, mask: Tensor):
    frontend = build(convolutions=0, dropout=0.0)
    frontend.fit([(sounds[:2], mask[:2]), (sounds[2:], mask[2:])])
    vectors, places = frontend(sounds, mask)
    frames = vectors[places]
    torch.testing.assert_close(frames.mean(0), torch.zeros(12), atol=1e-4, rtol=0)
    torch.testing.assert_close(frames.std(0, correction=0), torch.ones(12), atol=1e-4, rtol=0)


def test_training_hides_stretches_and_changes_the_speed(sounds: Tensor, mask: Tensor):
    torch.manual_seed(0)
    frontend = build(convolutions=0, dropout=0.0, frequency_width=6, time_share=0.5).train()
    hidden, _ = frontend(sounds, mask)
    plain, places = frontend.eval()(sounds, mask)
    assert (hidden[places] == 0).any() and not (plain[places] == 0).any()
    shown = hidden != 0
    torch.testing.assert_close(hidden[shown], plain[shown])
    slow = build(speeds=(0.5,)).train()
    assert slow(sounds, mask)[1].sum(1).tolist() == slow.output_lengths(2 * torch.tensor(LENGTHS)).tolist()
