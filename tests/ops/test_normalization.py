import torch

from mt.ops.sound import Moments, normalize, normalize_running

LENGTHS = torch.tensor([9, 1, 6])
MASK = torch.arange(9) < LENGTHS[:, None]


def features(seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    made = torch.randn(3, 9, 5, generator=generator) * torch.tensor([1.0, 5.0, 0.1, 0.0, 2.0]) + 1000
    return made.masked_fill(~MASK[..., None], torch.nan)


def test_every_source_by_itself():
    result = normalize(features(), MASK)
    for row, raw, length in zip(result, features(), LENGTHS.tolist(), strict=True):
        real = raw[:length].double()
        std = real.std(0, unbiased=False).clamp(min=1e-5)
        torch.testing.assert_close(row[:length].double(), (real - real.mean(0)) / std, atol=1e-4, rtol=1e-4)
        assert not row[length:].any()
    assert not result[1].any() and not result[..., 3].any(), "no variance"


def test_statistics_of_a_training_set_are_added_up():
    known = Moments.of_all((features(seed), MASK) for seed in (1, 2))
    assert known is not None
    everything = torch.cat([features(1)[MASK], features(2)[MASK]]).double()
    torch.testing.assert_close(known.mean[0], everything.mean(0))
    torch.testing.assert_close(known.std[0], everything.std(0, unbiased=False).clamp(min=1e-5), atol=1e-6, rtol=1e-6)
    stored = Moments.worth(1, known.mean[0].float(), known.std[0].float())
    for actual in (normalize(features(), MASK, known), normalize(features(), MASK, stored)):
        expected = (features()[MASK].double() - known.mean) / known.std
        torch.testing.assert_close(actual[MASK][:, :3].double(), expected[:, :3], atol=1e-2, rtol=1e-3)
        assert not actual[~MASK].any()


def test_running_sees_the_past_alone_and_goes_on():
    before = Moments.worth(3, torch.full((5,), 990.0), torch.full((5,), 2.0))
    whole, after = normalize_running(features(), MASK, before)
    for row in range(3):
        for t in range(LENGTHS[row]):
            frames_so_far = features()[row, : t + 1].double()
            count = 3 + t + 1
            mean = (3 * 990 + frames_so_far.sum(0)) / count
            variance = (3 * (990**2 + 4) + frames_so_far.square().sum(0)) / count - mean**2
            expected = (frames_so_far[-1] - mean) / variance.sqrt()
            torch.testing.assert_close(whole[row, t].double(), expected, atol=1e-4, rtol=1e-4)
    assert not whole[~MASK].any()
    known = before
    parts = []
    for start, end in ((0, 4), (4, 4), (4, 5), (5, 9)):
        part, known = normalize_running(features()[:, start:end], MASK[:, start:end], known)
        parts.append(part)
    torch.testing.assert_close(torch.cat(parts, 1), whole, atol=1e-5, rtol=1e-5)
    for ours, theirs in zip(known, after, strict=True):
        torch.testing.assert_close(ours.expand_as(theirs), theirs)
