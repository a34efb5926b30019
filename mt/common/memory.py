"""How the C library keeps freed memory of this process, where it is glibc; elsewhere nothing is done."""

import contextlib
import ctypes

_TRIM_THRESHOLD = -1  # of malloc.h
_MMAP_THRESHOLD = -3
_KEPT = 32 << 20  # glibc takes no more


def keep_freed() -> None:
    """Keeps freed blocks of up to 32 MB from now on. Else the logits of each step of a search, which are some MB,
    come from the system page by page, and take ten times as long."""
    with contextlib.suppress(AttributeError, OSError, TypeError):  # another C library, another system
        ctypes.CDLL(None).mallopt(_MMAP_THRESHOLD, _KEPT)
        ctypes.CDLL(None).mallopt(_TRIM_THRESHOLD, 2 * _KEPT)


def give_back() -> None:
    """Returns free memory to the system. Otherwise gaps are kept, into which batches of ever new shapes seldom fit: 0.2
    of the 1.1 GB of a training."""
    with contextlib.suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)
