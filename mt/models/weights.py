"""The tensors of a model: their files, and their initial values.

Files are safetensors, in float32, or in fewer bits for decoding alone."""

import contextlib
import math
import os
import re
from collections.abc import Container, Iterator, Mapping
from pathlib import Path
from typing import Literal, get_args

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file
from torch import Tensor, nn

from mt.common.input_files import reason, require_regular
from mt.errors import UserError

# The tensors of a model in a safetensors file: in float32, or in fewer bits for decoding alone.
#
# A matrix in bfloat16 has float32's range and 8 significant bits. One in int8 has a scale for each row, its largest
# number over 127, beside it in the file as `<name>:scale`. Both become float32 again when they are read. The file has a
# half or a quarter of the size, and its model computes as any other. Vectors and single numbers stay in float32.

Form = Literal["float32", "bfloat16", "int8"]
FORMS: tuple[Form, ...] = get_args(Form)
SCALE = ":scale"
"""The ending of the names of scales; no tensor of a model has a colon in its name."""


def to_storage_dtype(tensors: Mapping[str, Tensor], form: Form, parameters: Container[str]) -> dict[str, Tensor]:
    """Returns the float32 tensors in the form of a file. parameters: the names of learnt tensors; fixed ones, such as
    the bands of a filter, stay in float32."""
    stored = dict(tensors)
    for name, tensor in tensors.items():
        if form != "float32" and name in parameters and tensor.dim() > 1:
            if form == "bfloat16":
                stored[name] = tensor.to(torch.bfloat16)
            else:
                stored[name], stored[name + SCALE] = _quantized(tensor)
    return stored


def read(path: Path, remedy: str) -> dict[str, Tensor]:
    """Returns the tensors of a file of any form, in float32. remedy: named in the error where the file is damaged."""
    # A scale is read with its matrix, and is no tensor of the model.
    tensors = load(path, remedy)
    stored = {}
    for name, tensor in tensors.items():
        if tensor.dtype == torch.int8:
            if name + SCALE not in tensors:
                raise UserError(f"{path} lacks the tensor {name + SCALE!r}: {remedy}")
            matrix = tensor.flatten(1).float() * tensors[name + SCALE][:, None]
            stored[name] = matrix.view(tensor.shape)
        elif not name.endswith(SCALE):
            stored[name] = tensor.float() if tensor.is_floating_point() else tensor
    return stored


def load(path: Path, remedy: str) -> dict[str, Tensor]:
    """Returns the tensors of a file, as they are in it. Raises UserError where it is no safetensors file."""
    with _readable(path, remedy):
        return load_file(path)


@contextlib.contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turns safetensors' errors while it writes, in which the system's error is only a text, into OSError."""
    try:
        yield
    except SafetensorError as error:
        code = re.search(r"(?:code: |os error )(\d+)", str(error))
        if code is None:
            raise OSError(f"{path} cannot be written ({error})") from error
        raise OSError(int(code[1]), os.strerror(int(code[1])), str(path)) from error


def shapes(path: Path, remedy: str) -> dict[str, list[int]]:
    """Returns the shapes of all tensors of a file without reading them. Raises UserError as `load`."""
    with _readable(path, remedy), safe_open(path, framework="pt") as tensors:
        return {name: tensors.get_slice(name).get_shape() for name in tensors.keys()}  # noqa: SIM118 - no mapping


def with_scales(shapes: Mapping[str, list[int]]) -> dict[str, list[int]]:
    """Returns the shapes that a model's file may have: those of its tensors, and a scale for each row of a matrix."""
    scales = {name + SCALE: shape[:1] for name, shape in shapes.items() if len(shape) > 1}
    return {**shapes, **scales}


def count(shapes: Mapping[str, list[int]]) -> int:
    """Counts the numbers of a model in a file of these shapes, without scales."""
    return sum(math.prod(shape) for name, shape in shapes.items() if not name.endswith(SCALE))


@contextlib.contextmanager
def _readable(path: Path, remedy: str) -> Iterator[None]:
    try:
        require_regular(path)
        yield
    except (SafetensorError, OSError) as error:
        raise UserError(f"{path} is not a safetensors file ({reason(error)}): {remedy}") from None


def _quantized(tensor: Tensor) -> tuple[Tensor, Tensor]:
    matrix = tensor.flatten(1)
    scale = matrix.abs().amax(1) / 127
    # A row of zeros has the scale 0, and stays one.
    steps = (matrix / scale.clamp(min=torch.finfo(scale.dtype).tiny)[:, None]).round()
    return steps.to(torch.int8).view(tensor.shape), scale


# Initial values.


def init_matrices(model: nn.Module, limit: float) -> None:
    """Draws the matrices of torch's linear and recurrent layers from [-limit, limit] uniformly. Every other parameter
    keeps its module's own values. So do word vectors, even where they are the output matrix."""
    tables = {module.weight for module in model.modules() if isinstance(module, nn.Embedding)}
    for module in model.modules():
        if isinstance(module, (nn.Linear, nn.RNNBase)):
            for parameter in module.parameters():
                if parameter.dim() == 2 and parameter not in tables:
                    nn.init.uniform_(parameter, -limit, limit)


@torch.no_grad()
def open_forget_gates(model: nn.Module, forget_bias: float) -> None:
    """Adds to the biases of the forget gates of torch's LSTMs (Gers et al. 2000; Jozefowicz et al. 2015)."""
    for module in model.modules():
        if isinstance(module, nn.LSTM):
            for name, parameter in module.named_parameters():
                # One of the two biases, which are added to each other.
                if name.startswith("bias_ih"):
                    # torch's order of the gates is input, forget, cell, output.
                    parameter.chunk(4)[1].add_(forget_bias)
