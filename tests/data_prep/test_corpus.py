import random
from pathlib import Path

import numpy as np
import pytest

from data_prep import corpus


def _files(folder: Path, keys: list[list[int]]) -> list[Path]:
    paths = [folder / f"{number}.keys" for number in range(len(keys))]
    for path, some in zip(paths, keys, strict=True):
        path.write_bytes(np.array(some, dtype="<u8").tobytes())
    return paths


def _expected(keys: list[list[int]]) -> list[list[int]]:
    known: set[int] = set()
    result = []
    for some in keys:
        result.append([row for row, key in enumerate(some) if key in known or key in some[:row]])
        known |= {*some}
    return result


@pytest.mark.parametrize("kinds", [1, 5, 60, 1 << 64])
def test_every_key_but_the_first_of_its_kind(tmp_path: Path, kinds: int) -> None:
    draws = random.Random(1)
    keys = [[draws.randrange(kinds) for _ in range(draws.randrange(12))] for _ in range(25)]
    result = corpus.repeats(_files(tmp_path, keys))
    assert [rows.tolist() for rows in result] == _expected(keys)
