"""Products in int8 are those of the rounded numbers, exactly, and close to those of the numbers themselves."""

import pytest
import torch
from torch import nn
from torch.nn.functional import linear

from mt.kernels.int8 import (
    ZERO,
    Int8Matrix,
    _by_fbgemm,
    _by_onednn,
    _multiplier,
    int8_copy,
    plain_quantize_rows,
    quantize_rows,
    rounded,
    steps_of_matrices,
)
from mt.kernels.linear import Linear
from mt.kernels.lstm import GRU, LSTM, RecurrentLayers
from tests.components import doubles_by_default

ROWS = [1, 5, 64]


def drawn(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape)))


@pytest.mark.parametrize("rows", ROWS)
def test_a_product_is_that_of_the_rounded_numbers(rows: int) -> None:
    given = drawn(rows, 48)
    weight = drawn(40, 48)
    bias = drawn(40)
    (left, left_scale) = rounded(given)
    (right, right_scale) = rounded(weight, steps_of_matrices())
    exact = (left.long() @ right.long().T).double() * left_scale.double() * right_scale.double().T + bias
    with torch.no_grad():
        matrix = Int8Matrix(weight)
        result = matrix(given, bias)
        torch.testing.assert_close(result.double(), exact, rtol=1e-5, atol=1e-5)
        torch.testing.assert_close(matrix(given[:, None], None)[:, 0], result - bias, rtol=1e-5, atol=1e-5)
        sides = Int8Matrix(weight[:, :20], weight[:, 20:])
        assert torch.equal(sides(given, bias), result)
    error = (result - linear(given, weight, bias)).abs().max()
    assert 0 < error < 0.02 * result.abs().max()


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("sign", [1, -1])
def test_the_largest_sums_are_exact(sign: int, rows: int) -> None:
    most = steps_of_matrices()
    left = torch.full((rows, 512), ZERO + sign * 127).to(torch.uint8)
    right = torch.full((40, 512), most).to(torch.int8)
    assert (_multiplier(right, torch.ones(40))(left) == sign * 512 * 127 * most).all()


@pytest.mark.parametrize("rows", [0, *ROWS])
def test_fbgemm_gives_the_products_of_onednn(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    (steps, scale) = rounded(drawn(40, 48), 63)
    by_fbgemm = _by_fbgemm(steps, scale[:, 0])
    if by_fbgemm is None:
        pytest.skip("this build, or this processor, has no FBGEMM")
    (left, _) = quantize_rows(drawn(rows, 48))
    torch.testing.assert_close(by_fbgemm(left), _by_onednn(steps, scale[:, 0])(left), rtol=1e-6, atol=0)
    # Releases to come have no quantized tensors.
    monkeypatch.delattr(torch, "_make_per_channel_quantized_tensor", raising=False)
    assert _by_fbgemm(steps, scale[:, 0]) is None


def test_without_packed_matrices_products_are_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    given = drawn(3, 48)
    weight = drawn(40, 48)
    bias = drawn(40)
    with torch.no_grad():
        packed = Int8Matrix(weight)(given, bias)
        monkeypatch.setattr(torch.ops, "onednn", None)
        steps_of_matrices.cache_clear()  # whose answer is another one for `_int_mm` on some processors
        try:
            result = Int8Matrix(weight)(given, bias)
        finally:
            steps_of_matrices.cache_clear()
    torch.testing.assert_close(result, packed, rtol=0, atol=0.02 * float(packed.abs().max()))


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("kind", [LSTM, GRU])
def test_cells_are_nearly_those_of_float32(kind: type[RecurrentLayers], rows: int) -> None:
    torch.manual_seed(rows)
    layers = kind(24, 32, 2, int8=True).eval()
    state = tuple(drawn(rows, 2, 32).tanh() for _ in range(2 if kind is LSTM else 1))
    vectors = drawn(rows, 1, 24)
    with torch.no_grad():
        outputs, after = layers(vectors, state)
        rough, rough_after = int8_copy(layers)(vectors, state)
    for mine, theirs in zip((rough, *rough_after), (outputs, *after), strict=True):
        assert 0 < (mine - theirs).abs().max() < 0.03


@torch.no_grad()
def test_a_copy_rounds_the_layers_that_say_so_and_shares_their_parameters() -> None:
    model = nn.Sequential(Linear(8, 8, int8=True), Linear(8, 8)).eval()
    given = drawn(2, 8)
    expected = model(given)
    copy = int8_copy(model)
    assert all(ours is theirs for ours, theirs in zip(copy.parameters(), model.parameters(), strict=True))
    rough = Int8Matrix(model[0].weight)(given, model[0].bias)
    assert torch.equal(copy(given), model[1](rough)) and not torch.equal(copy(given), expected)
    assert torch.equal(model(given), expected)


@pytest.mark.parametrize("quantize", [quantize_rows, plain_quantize_rows])
@pytest.mark.parametrize("shape", [(1, 5), (5, 256), (7, 33), (0, 4)])
def test_rows_are_rounded_to_the_nearest_of_255_levels(quantize, shape: tuple[int, int]) -> None:
    """With and without a compiled loop; a row of zeros stays one."""
    rows = drawn(*shape) * torch.logspace(-20, 20, shape[0])[:, None]
    rows = torch.cat((rows, torch.zeros(1, shape[1])))
    steps, scale = quantize(rows)
    exact = rows.double() / rows.double().abs().amax(1, keepdim=True).div(127).clamp(min=1e-30)
    assert (steps.double() - ZERO - exact).abs().max() < 0.5001 and steps.dtype == torch.uint8
    torch.testing.assert_close((steps.float() - ZERO) * scale, rows, rtol=0, atol=float(0.5001 * scale.max()))
    assert all(torch.equal(*parts) for parts in zip(quantize_rows(rows), (steps, scale), strict=True))


def test_what_is_not_finite_is_not_hidden() -> None:
    rows = drawn(3, 8)
    rows[1, 4] = torch.nan
    rows[2, 0] = torch.inf
    _, scale = quantize_rows(rows)
    assert scale.isfinite().squeeze(1).tolist() == [True, False, False]
    assert Int8Matrix(drawn(6, 8))(rows, None).isfinite().all(1).tolist() == [True, False, False]


def test_the_default_type_of_the_caller_changes_nothing() -> None:
    rows, matrix = drawn(3, 8), drawn(6, 8)
    expected = Int8Matrix(matrix)(rows, None)
    steps_of_matrices.cache_clear()  # what a processor can is found out once
    with doubles_by_default():
        assert torch.equal(Int8Matrix(matrix)(rows, None), expected)
    steps_of_matrices.cache_clear()
