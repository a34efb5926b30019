"""The inputs of the Python API: one source or text, or any iterable of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeGuard

import numpy as np

from mt.data.fields.base import Raw
from mt.errors import UserError

_LISTING = "OSTU"
"""Kinds of NumPy's types that hold texts or other objects; arrays of numbers are samples or pixels."""


def as_list(inputs: Raw | Iterable[Raw]) -> tuple[list[Raw], bool]:
    """Returns the inputs as a list, and whether there was a single one instead of an iterable.

    An iterable is a list, a generator, a view of a dictionary, an array of texts, or anything else that can be gone
    through, once. An array of numbers, also of another library, is one input.
    """
    if isinstance(inputs, np.ndarray) and inputs.dtype.kind in _LISTING:
        inputs = inputs.tolist()
    if isinstance(inputs, Raw) or _is_tensor(inputs) or not isinstance(inputs, Iterable):
        return [inputs], True
    return list(inputs), False


def _is_tensor(inputs: object) -> TypeGuard[np.ndarray]:
    """Returns whether these are numbers in an array of another library, as torch's; one of texts is gone through."""
    kind = getattr(getattr(inputs, "dtype", None), "kind", "")
    return hasattr(inputs, "__array__") and (kind == "" or kind not in _LISTING)


def require_texts(inputs: Iterable[object], name: str = "text") -> None:
    """Raises UserError where one is no text, or one that UTF-8 cannot write.

    name: what to call them, numbered from 1.
    """
    for number, text in enumerate(inputs, start=1):
        if not isinstance(text, str):
            raise UserError(f"{name} {number} is {_kind(text)}, and this is for text: give a str, or a list of them")
        require_writable(text, f"{name} {number}")


def require_writable(text: str, name: str) -> None:
    """Raises UserError where UTF-8 cannot write the text. name: what to call it."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise UserError(
            f"{name} holds half of a character ({ascii(text[error.start])[1:-1]}), as of bytes that were read as "
            "something else: give what the bytes say in their own encoding"
        ) from None


def _kind(value: object) -> str:
    return "None" if value is None else f"of type {type(value).__name__}"
