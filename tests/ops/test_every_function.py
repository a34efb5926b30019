"""What holds for every function of mt.ops, and for the two of mt.kernels that stand for an equation of the papers."""

import inspect
from collections.abc import Callable
from typing import Any

import jaxtyping
import pytest
import torch
from torch import Tensor

from mt import ops
from mt.kernels.additive import additive_energy
from mt.kernels.cross_entropy import token_losses

FUNCTIONS = [*(getattr(ops, name) for name in ops.__all__), additive_energy, token_losses]
SIZES = {"B": 2, "T": 3, "S": 4, "H": 5, "F": 6, "V": 7}
DTYPES = {jaxtyping.Float: torch.float32, jaxtyping.Bool: torch.bool, jaxtyping.Int: torch.int64}

Function = Callable[..., Tensor]


def axes(annotation: Any) -> list[str]:
    return annotation.dim_str.replace("*batch", "B T").replace("...", "S").split()


def parameters(function: Function) -> list[Any]:
    """Of what must be given."""
    given = inspect.signature(function).parameters.values()
    return [parameter.annotation for parameter in given if parameter.default is inspect.Parameter.empty]


def arguments(function: Function, sizes: dict[str, int]) -> list[Any]:
    """Zeros of the shape and type of each parameter, with a gradient if they are numbers; 2 for an int."""
    given: list[Any] = []
    for annotation in parameters(function):
        if annotation is int:
            given.append(2)
        else:
            zeros = torch.zeros([sizes[name] for name in axes(annotation)], dtype=DTYPES[annotation.dtype])
            given.append(zeros.requires_grad_(zeros.is_floating_point()))
    return given


CASES = [
    (function, empty)
    for function in FUNCTIONS
    for empty in SIZES
    if any(empty in axes(annotation) for annotation in parameters(function) if annotation is not int)
]


@pytest.mark.parametrize(("function", "empty"), CASES, ids=lambda case: getattr(case, "__name__", case))
def test_empty_arguments_have_a_result_and_gradients(function: Function, empty: str):
    given = arguments(function, SIZES | {empty: 0})
    result = function(*given)
    result = result[0] if isinstance(result, tuple) else result
    assert result.requires_grad and not result.any()
    leaves = [x for x in given if isinstance(x, Tensor) and x.requires_grad]
    for gradient in torch.autograd.grad(result.sum(), leaves, allow_unused=True, materialize_grads=True):
        assert not gradient.any()


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_the_signature_is_checked(function: Function):
    """In tests alone: by jaxtyping's plugin for pytest, and beartype (see pyproject.toml)."""
    given = arguments(function, SIZES)
    function(*given)
    for i, annotation in enumerate(parameters(function)):
        if annotation is not int:
            scalar = given[i].flatten()[0]
            for wrong in (given[i].to(torch.complex64), scalar if annotation.dim_str != "..." else None):
                with pytest.raises(jaxtyping.TypeCheckError):
                    function(*given[:i], wrong, *given[i + 1 :])
