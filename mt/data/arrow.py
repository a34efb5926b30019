"""Arrow files and arrays: numbers without pandas, and files that are mapped into memory."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType

import numpy as np
import pyarrow as pa

from mt.common.input_files import require_regular, sha256

# Numbers of Arrow arrays. Arrow's own conversions to and from NumPy would load pandas.


def numbers(values: pa.Array | pa.ChunkedArray) -> np.ndarray:
    """Returns the numbers of an array without nulls, sharing its memory where it is in one piece."""
    if isinstance(values, pa.Array):
        return np.from_dlpack(values)
    chunks = [np.from_dlpack(chunk) for chunk in values.chunks]
    # Whatever its name, `to_pandas_dtype` gives a type of NumPy, and loads nothing.
    return np.concatenate(chunks) if chunks else np.zeros(0, values.type.to_pandas_dtype())


def array(values: np.ndarray) -> pa.Array:
    """Returns the numbers, [N] int64, as an Arrow array that shares their memory."""
    # None stands for the bitmap of nulls, of which there are none.
    return pa.Array.from_buffers(pa.int64(), len(values), [None, pa.py_buffer(values)])


# Sizes and digests of the files of a prepared corpus.

FileDigests = Mapping[str, Mapping[str, int | str]]
"""The files of a folder by their path in it: `size` in bytes, and `sha256` (hex)."""
Share = tuple[int, int]
"""i and n: every n-th item from the i-th on, where n processes share some work."""
ALL: Share = (0, 1)


def file_digests(folder: Path, paths: Iterable[Path], known: Mapping[Path, str] = MappingProxyType({})) -> FileDigests:
    """Returns the sizes and digests of the files. known: SHA-256 sums that need not be computed again."""
    return {
        path.relative_to(folder).as_posix(): {
            "size": path.stat().st_size,
            "sha256": known[path] if path in known else sha256(path),
        }
        for path in paths
    }


def require_sizes(folder: Path, written: FileDigests) -> None:
    """Raises ValueError where a file has another size, and OSError where one is missing."""
    for name, about in written.items():
        require_regular(folder / name)
        if (actual := (folder / name).stat().st_size) != about["size"]:
            raise ValueError(f"{name} has {actual} bytes, not {about['size']}")


def require_contents(folder: Path, written: FileDigests, below: str, share: Share = ALL) -> None:
    """Raises ValueError where a file of the folder `below` has other contents. This takes a second or two per GB.

    share: which of the files this process checks.
    """
    names = [name for name in written if name.startswith(f"{below}/")]
    for name in names[share[0] :: share[1]]:
        about = written[name]
        if sha256(folder / name) != about.get("sha256"):
            raise ValueError(f"{name} has changed since it was written")
