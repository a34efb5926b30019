"""Each strategy of recurrent layers equals torch's layers over each source alone, in outputs, states and gradients."""

import pytest
import torch
from torch import Tensor, nn
from torch.nn.functional import dropout

from mt.device import choose
from mt.kernels import lstm
from mt.kernels.linear import product_loop
from mt.kernels.lstm import FEW, GRU, LONG, LSTM, RecurrentLayers, State, step_loop
from mt.trees import map_tensors

LAYERS = {"lstm": (LSTM, nn.LSTM), "gru": (GRU, nn.GRU)}
WHOLE = [4, 4, 4]
PADDED = [9, 1, 4]


def layers_of(cell: str, count: int, *, both: bool = False, dtype: torch.dtype = torch.float64) -> RecurrentLayers:
    torch.manual_seed(count)
    return LAYERS[cell][0](5, 7, count, bidirectional=both).to(dtype).eval()


def example(
    cell: str, count: int, lengths: list[int], dtype: torch.dtype = torch.float64
) -> tuple[Tensor, State, Tensor]:
    """Inputs, a state and the mask."""
    torch.manual_seed(sum(lengths))
    state = tuple(torch.randn(len(lengths), count, 7, dtype=dtype) for _ in range(2 if cell == "lstm" else 1))
    inputs = torch.randn(len(lengths), max(lengths), 5, dtype=dtype)
    return inputs, state, torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]


def by_torch(layers: RecurrentLayers) -> nn.RNNBase:
    """torch's layers of the same weights."""
    plain = dict(LAYERS.values())[type(layers)](5, 7, layers.num_layers, bidirectional=layers.bidirectional)
    plain.double().load_state_dict(layers.state_dict())
    return plain


def alone(plain: nn.RNNBase, inputs: Tensor, state: State | None, mask: Tensor) -> tuple[Tensor, list[Tensor]]:
    """What torch's layers give for each source by itself."""
    outputs = []
    states = []
    for row, length in enumerate(mask.sum(1).tolist()):
        before = None if state is None else tuple(part[row] for part in state)
        values, after = plain(inputs[row, :length], before[0] if before and len(before) == 1 else before)
        outputs.append(nn.functional.pad(values, (0, 0, 0, len(mask[row]) - length)))
        states.append((after,) if isinstance(after, Tensor) else after)
    return torch.stack(outputs), [torch.stack(part) for part in zip(*states, strict=True)]


STRATEGIES = [
    # name, lengths, whether from a state on, both directions
    ("whole", WHOLE, False, False),
    ("whole", WHOLE, True, False),
    ("whole", WHOLE, False, True),
    ("packed", PADDED, False, False),
    ("packed", PADDED, True, False),
    ("packed", PADDED, False, True),
    ("each_direction", PADDED, False, True),
    ("each_direction", WHOLE, False, True),
    ("cell_by_cell", WHOLE, True, False),
    ("cell_by_cell", [1], True, False),
]


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize(("name", "lengths", "goes_on", "both"), STRATEGIES)
@pytest.mark.parametrize("cell", LAYERS)
def test_strategies(cell: str, name: str, lengths: list[int], goes_on: bool, both: bool, count: int) -> None:
    layers = layers_of(cell, count, both=both)
    inputs, state, mask = example(cell, count, lengths)
    inputs.requires_grad_()
    before = state if goes_on else None
    actual, after = getattr(layers, name)(inputs, before, mask)
    plain = by_torch(layers)
    expected, states = alone(plain, inputs, before, mask)
    torch.testing.assert_close(actual, expected)
    for ours, theirs in zip(after, states, strict=not both):
        # Of both directions, the hidden vectors of the top layer are known.
        torch.testing.assert_close(*((part[:, -2:] if both else part) for part in (ours, theirs)))
        if both:
            break
    gradients = torch.autograd.grad(actual.square().sum(), [inputs, *layers.parameters()])
    expected_gradients = torch.autograd.grad(expected.square().sum(), [inputs, *plain.parameters()])
    torch.testing.assert_close(gradients, expected_gradients)


DROPPING = [strategy for strategy in STRATEGIES if strategy[0] != "cell_by_cell"]


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize(("name", "lengths", "goes_on", "both"), DROPPING)
@pytest.mark.parametrize("cell", LAYERS)
def test_dropped_weights(cell: str, name: str, lengths: list[int], goes_on: bool, both: bool, count: int) -> None:
    """In training, torch's layers with some weights between states at zero; else with all of them, as before."""
    layers = layers_of(cell, count, both=both)
    layers.recurrent_dropout = 0.4
    inputs, state, mask = example(cell, count, lengths)
    before = state if goes_on else None
    whole = getattr(layers, name)(inputs, before, mask)[0]
    torch.testing.assert_close(whole, alone(by_torch(layers), inputs, before, mask)[0])
    torch.manual_seed(8)
    actual, _ = getattr(layers.train(), name)(inputs, before, mask)
    plain = by_torch(layers)
    torch.manual_seed(8)
    kept = {}
    for weight in (weight for weight in plain._flat_weights_names if weight.startswith("weight_hh")):
        kept[weight] = dropout(torch.ones_like(getattr(plain, weight)), 0.4)
        getattr(plain, weight).data *= kept[weight]
    assert not torch.equal(actual, whole)
    torch.testing.assert_close(actual, alone(plain, inputs, before, mask)[0])
    gradients = torch.autograd.grad(actual.square().sum(), [*layers.parameters()])
    expected = torch.autograd.grad(alone(plain, inputs, before, mask)[0].square().sum(), [*plain.parameters()])
    for (weight, _), ours, theirs in zip(layers.named_parameters(), gradients, expected, strict=True):
        torch.testing.assert_close(ours, theirs * kept.get(weight, 1))
    assert torch.equal(getattr(layers.eval(), name)(inputs, before, mask)[0], whole)


CHOICES = [
    # rows, steps, lengths differ, both directions, from a state on, what computes them without a gradient
    (1, 1, False, False, True, "cell_by_cell"),
    (4, 8, False, False, True, "cell_by_cell"),
    (4, FEW, False, False, True, "whole"),
    (FEW + 3, 1, False, False, True, "cell_by_cell"),
    (1, 1, False, False, False, "whole"),
    (2, LONG, True, False, True, "packed"),
    (2, LONG, True, True, False, "each_direction"),
    (2, LONG - 1, True, True, False, "packed"),
    (2, LONG, False, True, False, "whole"),
]


@pytest.mark.parametrize(("rows", "steps", "padded", "both", "goes_on", "expected"), CHOICES)
def test_choice(rows: int, steps: int, padded: bool, both: bool, goes_on: bool, expected: str) -> None:
    layers = layers_of("lstm", 1, both=both)
    inputs, state, mask = example("lstm", 1, [*[steps] * (rows - 1), 1 if padded else steps])
    arguments = inputs, state if goes_on else None, mask
    with torch.no_grad():
        assert layers.strategy(*arguments) == getattr(layers, expected)
        assert layers.train().strategy(*arguments) != layers.cell_by_cell  # has no dropout
    assert layers.eval().strategy(*arguments) != layers.cell_by_cell
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
        few = expected == "cell_by_cell" and rows * steps <= FEW
        assert (layers.strategy(*arguments) == layers.cell_by_cell) == few


@pytest.fixture
def few_rows_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on AMD's processors, whatever this one is."""
    monkeypatch.setattr(lstm, "are_few", lambda rows, weight: True)


@pytest.mark.skipif(product_loop() is None, reason="numba cannot compile here")
@pytest.mark.parametrize("rows", [1, 5])
@pytest.mark.parametrize("cell", LAYERS)
@pytest.mark.usefixtures("few_rows_compiled")
@torch.no_grad()
def test_cells_of_few_rows(cell: str, rows: int) -> None:
    layers = layers_of(cell, 2, dtype=torch.float32)
    inputs, state, mask = example(cell, 2, [3] * rows, torch.float32)
    actual, after = layers.cell_by_cell(inputs, state)
    expected, states = alone(by_torch(layers), inputs.double(), tuple(part.double() for part in state), mask)
    torch.testing.assert_close(actual.double(), expected, atol=1e-6, rtol=1e-5)
    for ours, theirs in zip(after, states, strict=True):
        torch.testing.assert_close(ours.double(), theirs, atol=1e-6, rtol=1e-5)


@pytest.mark.skipif(step_loop() is None, reason="numba cannot compile here")
@pytest.mark.parametrize("layers", [1, 3])
@pytest.mark.parametrize("rows", [1, 5])
@pytest.mark.usefixtures("few_rows_compiled")
@torch.no_grad()
def test_one_step_of_few_rows(rows: int, layers: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """In threads, too; by states that do not lie side by side, and by those of another type."""
    lstms = layers_of("lstm", layers, dtype=torch.float32)
    inputs, state, mask = example("lstm", layers, [1] * rows, torch.float32)
    expected, states = alone(by_torch(lstms), inputs.double(), tuple(part.double() for part in state), mask)
    actual, after = lstms.cell_by_cell(inputs, state)
    for ours, theirs in zip((actual, *after), (expected, *states), strict=True):
        torch.testing.assert_close(ours.double(), theirs, atol=1e-6, rtol=1e-5)
    monkeypatch.setattr(lstm, "THREAD", 1)
    scattered = tuple(torch.stack((part, part), -1)[..., 0] for part in state)
    again, after_again = lstms.cell_by_cell(torch.stack((inputs, inputs), -1)[..., 0], scattered)
    assert all(torch.equal(*parts) for parts in zip((actual, *after), (again, *after_again), strict=True))
    exact, _ = lstms.cell_by_cell(inputs, tuple(part.double() for part in state))
    assert torch.equal(exact, actual)


@pytest.mark.skipif(step_loop() is None, reason="numba cannot compile here")
@pytest.mark.usefixtures("few_rows_compiled")
@torch.no_grad()
def test_each_row_of_a_step_is_as_alone() -> None:
    lstms = layers_of("lstm", 1, dtype=torch.float32)
    inputs, state, _ = example("lstm", 1, [1] * 5, torch.float32)
    together, after = lstms.cell_by_cell(inputs, state)
    for row in range(5):
        one = slice(row, row + 1)
        alone, after_alone = lstms.cell_by_cell(inputs[one], tuple(part[one] for part in state))
        for ours, theirs in zip((together, *after), (alone, *after_alone), strict=True):
            assert torch.equal(ours[one], theirs)


@pytest.mark.skipif(step_loop() is None, reason="numba cannot compile here")
@torch.no_grad()
def test_a_step_of_large_and_of_tiny_numbers() -> None:
    """Gates are 0, 1 or what they should be, and NaN is not hidden."""
    vectors = torch.tensor([[1e4], [-1e4], [0.0], [torch.nan]])
    zeros = torch.zeros(4, 1)
    weights = torch.ones(4, 1), torch.ones(4, 1), torch.zeros(4), torch.zeros(4)
    hidden, cell = lstm.lstm_step(vectors, (zeros, torch.full((4, 1), 2.0)), weights)
    torch.testing.assert_close(cell[:, 0], torch.tensor([3.0, 0.0, 1.0, torch.nan]), equal_nan=True)
    torch.testing.assert_close(hidden[:, 0], torch.tensor([0.9950548, 0.0, 0.3807971, torch.nan]), equal_nan=True)


@torch.no_grad()
def test_a_step_that_does_not_fit_is_refused() -> None:
    weights = torch.zeros(28, 5), torch.zeros(28, 7), torch.zeros(28), torch.zeros(28)
    for size, rows, units in ((4, 2, 7), (5, 3, 7), (5, 2, 6)):
        with pytest.raises(ValueError, match="do not fit"):
            lstm.lstm_step(torch.zeros(2, size), (torch.zeros(2, 7), torch.zeros(rows, units)), weights)


@pytest.mark.parametrize("cell", LAYERS)
@torch.no_grad()
def test_cells_lose_nothing_to_autocast(cell: str) -> None:
    layers = layers_of(cell, 1, dtype=torch.float32)
    inputs, state, _ = example(cell, 1, [3, 3], torch.float32)
    expected, _ = layers.whole(inputs, state)
    with torch.autocast("cpu", torch.bfloat16):
        actual, _ = layers(inputs.bfloat16().float(), state)
        rounded, _ = layers(inputs.bfloat16(), state)
    assert actual.dtype == rounded.dtype == torch.float32
    assert torch.equal(actual, rounded)
    torch.testing.assert_close(actual, expected, atol=0.02, rtol=0.02)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU is here")
@pytest.mark.parametrize("cell", LAYERS)
@torch.no_grad()
def test_on_a_gpu(cell: str) -> None:
    """Each weight is in memory of its own, so that it can be saved, and a single step is a cell."""
    layers = layers_of(cell, 2, dtype=torch.float32).cuda()
    assert all(weight.untyped_storage().nbytes() == weight.nbytes for weight in layers.parameters())
    inputs, state, _ = map_tensors(lambda part: part.to(choose("cuda")), example(cell, 2, [1, 1], torch.float32))
    assert layers.strategy(inputs, state, None) == layers.cell_by_cell
    for step, whole in zip(layers(inputs, state)[1], layers.whole(inputs, state)[1], strict=True):
        torch.testing.assert_close(step, whole)
