"""The oracle is the definition: all paths over positions whose repeats and blanks collapse to the targets."""

import itertools

import pytest
import torch

from mt.ops.losses import ctc_losses


def collapsed(path: tuple[int, ...], blank: int) -> list[int]:
    return [symbol for symbol, _ in itertools.groupby(path) if symbol != blank]


def by_definition(logits: torch.Tensor, targets: list[int]) -> float:
    """Of one row [S, C]."""
    log_probs = logits.double().log_softmax(-1)
    classes = logits.shape[1]
    total = sum(
        log_probs[range(len(path)), path].sum().exp().item()
        for path in itertools.product(range(classes), repeat=len(logits))
        if collapsed(path, classes - 1) == targets
    )
    return -float(torch.tensor(total).log()) if total else 0.0


LENGTHS = torch.tensor([5, 4, 3, 5, 2])
TARGETS = [[0, 1], [2, 2], [1], [], [0, 0]]  # the last needs a blank between: three positions


def batch() -> tuple[torch.Tensor, ...]:
    logits = torch.randn(5, 5, 4, generator=torch.Generator().manual_seed(2)) * 2
    targets = torch.zeros(5, 2, dtype=torch.int64)
    for row, wanted in zip(targets, TARGETS, strict=True):
        row[: len(wanted)] = torch.tensor(wanted)
    target_lengths = torch.tensor([len(wanted) for wanted in TARGETS])
    return logits, torch.arange(5) < LENGTHS[:, None], targets, torch.arange(2) < target_lengths[:, None]


def test_as_the_sum_over_all_paths():
    logits, source_mask, targets, target_mask = batch()
    actual = ctc_losses(logits, source_mask, targets, target_mask)
    expected = [by_definition(row[:n], wanted) for row, n, wanted in zip(logits, LENGTHS, TARGETS, strict=True)]
    assert actual.tolist() == pytest.approx(expected, rel=1e-5)
    assert expected[4] == 0 and min(expected[:4]) > 0


def test_padding_has_no_gradient_nor_has_a_row_without_a_way():
    logits, *rest = batch()
    logits.requires_grad_()
    ctc_losses(logits, *rest).sum().backward()
    gradient = logits.grad.abs().sum(-1)
    assert not gradient[~rest[0]].any() and not gradient[4].any()
    assert (gradient[:4][rest[0][:4]] > 0).all()


def test_what_stands_on_padding_changes_nothing():
    logits, source_mask, targets, target_mask = batch()
    expected = ctc_losses(logits, source_mask, targets, target_mask)
    logits = logits.masked_fill(~source_mask[..., None], 50.0)
    assert torch.equal(ctc_losses(logits, source_mask, targets.masked_fill(~target_mask, 2), target_mask), expected)


def test_bfloat16_is_computed_in_float32():
    logits, *rest = batch()
    assert ctc_losses(logits.bfloat16(), *rest).dtype == torch.float32
    assert ctc_losses(logits.double(), *rest).dtype == torch.float64
