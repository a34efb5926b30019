"""SSRU's layers are the equations of Kim et al. (2019), of all steps at once as one by one."""

import math

import pytest
import torch
from torch import Tensor

from mt.models.ssru import SSRU, BiSSRU, FeedForward, Recurrent

B = 3
T = 7
I = 4  # noqa: E741 - the size of inputs
H = 6


def drawn(*shape: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape)))


@pytest.fixture
def unit(shake) -> SSRU:
    return shake(SSRU(I, H, forget_bias=0.0))


@torch.no_grad()
def test_the_equations_cell_by_cell(unit: SSRU) -> None:
    inputs = drawn(B, T, I)
    state = drawn(B, H)
    outputs, after = unit(inputs, state)
    matrix, gate = unit.project.weight.double().chunk(2)
    for row in range(B):
        cell = state[row].tolist()
        for step in range(T):
            x = inputs[row, step].double()
            for k in range(H):
                f = 1 / (1 + math.exp(-float(gate[k] @ x + unit.forget_bias[k])))
                cell[k] = f * cell[k] + (1 - f) * float(matrix[k] @ x)
            expected = torch.tensor(cell).clamp(min=0)
            torch.testing.assert_close(outputs[row, step], expected, atol=1e-6, rtol=1e-5)
        torch.testing.assert_close(after[row], torch.tensor(cell), atol=1e-6, rtol=1e-5)


def test_the_forget_bias_is_what_gates_start_from() -> None:
    unit = SSRU(I, H, forget_bias=2.0)
    _, after = unit(torch.zeros(B, 1, I), torch.ones(B, H))
    torch.testing.assert_close(after, torch.full((B, H), 1 / (1 + math.exp(-2))))


@pytest.mark.parametrize("begun", [False, True])
def test_one_step_at_a_time_is_all_at_once(unit: SSRU, begun: bool) -> None:
    inputs = drawn(B, T, I)
    state = drawn(B, H) if begun else None
    outputs, after = unit(inputs, state)
    for step in range(T):
        output, state = unit(inputs[:, step], state)
        torch.testing.assert_close(output, outputs[:, step], atol=1e-6, rtol=1e-5)
    torch.testing.assert_close(state, after, atol=1e-6, rtol=1e-5)


def test_padding_leaves_the_state(shake) -> None:
    inputs = drawn(B, T, I)
    mask = torch.arange(T) < torch.tensor([[7], [4], [1]])
    for unit in (shake(SSRU(I, H, 0.0)), shake(BiSSRU(I, H, 0.0))):
        outputs, after = unit(inputs, None, mask)
        for row, length in enumerate(mask.sum(1).tolist()):
            alone, state = unit(inputs[row : row + 1, :length], None, mask[row : row + 1, :length])
            torch.testing.assert_close(outputs[row, :length], alone[0], atol=1e-6, rtol=1e-5)
            torch.testing.assert_close(after[row], state[0], atol=1e-6, rtol=1e-5)


def test_both_directions_have_half_of_the_units_each(shake) -> None:
    unit = shake(BiSSRU(I, H, 0.0))
    inputs = drawn(B, T, I)
    mask = torch.ones(B, T, dtype=torch.bool)
    outputs, after = unit(inputs, None, mask)
    right, right_after = unit.right(inputs)
    unit.left.reverse = False
    left, left_after = unit.left(inputs.flip(1))
    torch.testing.assert_close(outputs, torch.cat((right, left.flip(1)), -1), atol=1e-6, rtol=1e-5)
    torch.testing.assert_close(after, torch.cat((right_after, left_after), -1), atol=1e-6, rtol=1e-5)


def test_residuals_are_around_what_is_computed_of_the_norm(shake) -> None:
    inputs = drawn(B, T, H)
    layer = shake(Recurrent(SSRU(H, H, 0.0), H, 0.5))
    outputs, _ = layer(inputs)
    torch.testing.assert_close(outputs, inputs + layer.recurrence(layer.norm(inputs))[0])
    network = shake(FeedForward(H, 5, 0.5))
    inner = (network.norm(inputs) @ network.enter.weight.T + network.enter.bias).clamp(min=0)
    torch.testing.assert_close(network(inputs), inputs + inner @ network.leave.weight.T + network.leave.bias)


@pytest.mark.parametrize("layer", [Recurrent(SSRU(H, H, 0.0), H, 0.5), FeedForward(H, 5, 0.5)], ids=["unit", "network"])
def test_dropout_is_of_training_alone(layer: Recurrent | FeedForward) -> None:
    def output() -> Tensor:
        made = layer(drawn(B, T, H))
        return made if isinstance(made, Tensor) else made[0]

    for training in (False, True):
        layer.train(training)
        assert torch.equal(output(), output()) != training
