"""Preparations of little text that is cut into many shards, as that of much text is."""

import contextlib
from unittest import mock

from data_prep import shards


def small_shards(characters: int, pairs: int) -> contextlib.AbstractContextManager[object]:
    """Within this context a shard has so many characters of text, and a chunk so many pairs."""
    return mock.patch.multiple(shards, _CHARACTERS=characters, _CHUNK=pairs)
