"""Preparations of little text that is cut into many shards, as that of much text is."""

import contextlib
from unittest import mock

from data_prep import ingest


def small_shards(characters: int, pairs: int) -> contextlib.AbstractContextManager[object]:
    """Within this context a raw shard has so many characters of text, or pairs."""
    return mock.patch.multiple(ingest, _CHARACTERS=characters, _ROWS=pairs)
