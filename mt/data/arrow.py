"""Numbers of Arrow arrays, without pandas, which Arrow's own ways to and from NumPy load."""

import numpy as np
import pyarrow as pa


def numbers(values: pa.Array | pa.ChunkedArray) -> np.ndarray:
    """Returns the numbers of an array without nulls; memory is shared where the array is one piece."""
    if isinstance(values, pa.Array):
        return np.from_dlpack(values)
    chunks = [np.from_dlpack(chunk) for chunk in values.chunks]
    return np.concatenate(chunks) if chunks else np.zeros(0, values.type.to_pandas_dtype())


def array(values: np.ndarray) -> pa.Array:
    """Returns the numbers, [N] int64, as an Arrow array that shares their memory."""
    return pa.Array.from_buffers(pa.int64(), len(values), [None, pa.py_buffer(values)])
