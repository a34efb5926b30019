import torch

from mt.ops.sound import spec_augment

LD = {"frequency_masks": 2, "frequency_width": 27, "time_masks": 2, "time_width": 100, "time_share": 1.0}
"""The paper's policy of this name."""
LENGTHS = torch.tensor([200, 30, 1, 120])


def masked(seed: int, **options) -> torch.Tensor:
    """[B, S, D] bool: what is hidden of features that are 1 everywhere."""
    return spec_augment(torch.ones(4, 200, 40), LENGTHS, torch.Generator().manual_seed(seed), **LD | options) == 0


def runs(hidden: torch.Tensor) -> list[int]:
    """The lengths of stretches of true."""
    edges = torch.nn.functional.pad(hidden.int(), (1, 1)).diff().nonzero()[:, 0].tolist()
    return [end - start for start, end in zip(edges[::2], edges[1::2], strict=True)]


def test_one_mask_of_bands_has_every_width_and_place():
    result = [runs(masked(seed, frequency_masks=1, frequency_width=5, time_masks=0)[0, 0]) for seed in range(400)]
    widths = [sum(each) for each in result]
    assert {len(each) for each in result} == {0, 1}
    assert set(widths) == {0, 1, 2, 3, 4, 5} and min(map(widths.count, range(6))) > 30
    somewhere = torch.stack([masked(s, frequency_masks=1, frequency_width=5, time_masks=0)[0, 0] for s in range(400)])
    assert somewhere.any(0).all()


def test_time_masks_lie_within_the_source_and_its_share():
    for seed in range(50):
        hidden = masked(seed, frequency_masks=0, time_masks=1, time_width=40, time_share=0.2)
        assert torch.equal(hidden.any(-1), hidden.all(-1)), "all bands of a frame"
        for row, length in zip(hidden[..., 0], LENGTHS.tolist(), strict=True):
            assert row.sum() <= min(40, int(0.2 * length))
            assert not row[length:].any()
    assert max(int(masked(s, frequency_masks=0, time_masks=1, time_width=40)[1, :, 0].sum()) for s in range(50)) == 30


def test_what_is_not_hidden_stays_and_rows_differ():
    features = torch.randn(4, 200, 40, generator=torch.Generator().manual_seed(1))
    before = features.clone()
    result = spec_augment(features, LENGTHS, torch.Generator().manual_seed(1), **LD)
    assert torch.equal(features, before)
    assert torch.equal(result[result != 0], features[result != 0])
    assert not torch.equal(result[0] == 0, result[3] == 0)
    assert torch.equal(result, spec_augment(features, LENGTHS, torch.Generator().manual_seed(1), **LD))
    nothing = spec_augment(features, LENGTHS, torch.Generator(), **LD | {"frequency_masks": 0, "time_masks": 0})
    assert torch.equal(features, nothing)
