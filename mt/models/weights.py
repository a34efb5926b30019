"""The numbers of a model in a safetensors file: in float32, or in fewer bits for those who only decode.

bfloat16 has float32's range and 8 significant bits. int8 has a scale for each row of a matrix, the row's largest
number over 127, beside it in the file as `<name>:scale`. Both become float32 again when they are read: a file of a half
or a quarter of the size, whose model computes as any other. Vectors and single numbers stay in float32.
"""

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
from torch import Tensor

from mt.common.input_files import reason, require_regular
from mt.errors import UserError

Form = Literal["float32", "bfloat16", "int8"]
FORMS: tuple[Form, ...] = get_args(Form)
SCALE = ":scale"
"""The ending of the names of scales; no tensor of a model has a colon in its name."""


def narrowed(tensors: Mapping[str, Tensor], form: Form, parameters: Container[str]) -> dict[str, Tensor]:
    """Returns what a file holds in place of float32 tensors. parameters: the names of those that were learnt; what is
    fixed, as the bands of a filter, stays as it is."""
    stored = dict(tensors)
    for name, tensor in tensors.items():
        if form != "float32" and name in parameters and tensor.dim() > 1:
            if form == "bfloat16":
                stored[name] = tensor.to(torch.bfloat16)
            else:
                stored[name], stored[name + SCALE] = _quantized(tensor)
    return stored


def widened(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Returns the float32 tensors of a file that `narrowed` made. Raises KeyError where a scale is missing."""
    stored = {}
    for name, tensor in tensors.items():
        if tensor.dtype == torch.int8:
            rows = tensor.flatten(1).float() * tensors[name + SCALE][:, None]
            stored[name] = rows.view(tensor.shape)
        elif not name.endswith(SCALE):
            stored[name] = tensor.float() if tensor.is_floating_point() else tensor
    return stored


def read(path: Path, remedy: str) -> dict[str, Tensor]:
    """Returns the tensors of a file, in float32. remedy: for the sentence where it has int8 numbers without their
    scale."""
    tensors = load(path, remedy)
    try:
        return widened(tensors)
    except KeyError as missing:
        raise UserError(f"{path} lacks the tensor {missing}: {remedy}") from None


def load(path: Path, remedy: str) -> dict[str, Tensor]:
    """Returns the tensors of a file, as they are in it. Raises UserError where it is no such file."""
    with _readable(path, remedy):
        return load_file(path)


@contextlib.contextmanager
def writing(path: Path) -> Iterator[None]:
    """Around what safetensors writes to a file or folder: what the system refuses, which it tells in words alone, is
    an OSError as anywhere else."""
    try:
        yield
    except SafetensorError as error:
        code = re.search(r"(?:code: |os error )(\d+)", str(error))
        if code is None:
            raise OSError(f"{path} cannot be written ({error})") from error
        raise OSError(int(code[1]), os.strerror(int(code[1])), str(path)) from error


def shapes(path: Path, remedy: str) -> dict[str, list[int]]:
    """Returns the shapes of all tensors of a file, none of which is read. Raises UserError where it is no such file."""
    with _readable(path, remedy), safe_open(path, framework="pt") as tensors:
        return {name: tensors.get_slice(name).get_shape() for name in tensors.keys()}  # noqa: SIM118 - no mapping


def with_scales(shapes: Mapping[str, list[int]]) -> dict[str, list[int]]:
    """Returns the shapes that a file with the tensors of a model may have: those, and a scale for each row of a
    matrix."""
    scales = {name + SCALE: shape[:1] for name, shape in shapes.items() if len(shape) > 1}
    return {**shapes, **scales}


def count(shapes: Mapping[str, list[int]]) -> int:
    """Returns the numbers of a model in a file of these shapes, scales not among them."""
    return sum(math.prod(shape) for name, shape in shapes.items() if not name.endswith(SCALE))


@contextlib.contextmanager
def _readable(path: Path, remedy: str) -> Iterator[None]:
    try:
        require_regular(path)
        yield
    except (SafetensorError, OSError) as error:
        raise UserError(f"{path} is not a safetensors file ({reason(error)}): {remedy}") from None


def _quantized(tensor: Tensor) -> tuple[Tensor, Tensor]:
    rows = tensor.flatten(1)
    scale = rows.abs().amax(1) / 127
    # A row of zeros has the scale 0, and stays one.
    steps = (rows / scale.clamp(min=torch.finfo(scale.dtype).tiny)[:, None]).round()
    return steps.to(torch.int8).view(tensor.shape), scale
