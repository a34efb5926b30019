import random
import tracemalloc
from pathlib import Path

import numpy as np

from data_prep import corpus
from tests.marks import combined


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


@combined(kinds=[1, 5, 60, 1 << 64], at_once=[1, 3, 10, 1000])
def test_every_key_but_the_first_of_its_kind(tmp_path: Path, at_once: int, kinds: int) -> None:
    draws = random.Random(1)
    keys = [[draws.randrange(kinds) for _ in range(draws.randrange(12))] for _ in range(25)]
    result = corpus.repeats(_files(tmp_path, keys), at_once=at_once)
    assert [rows.tolist() for rows in result] == _expected(keys)


def test_no_files() -> None:
    assert list(corpus.repeats([])) == []


def test_no_more_keys_than_are_allowed_are_held_at_a_time(tmp_path: Path) -> None:
    """However often one key comes: such keys are known to repeat before keys of all files are compared."""
    files = _files(tmp_path, [[7] * 5_000] * 80)
    tracemalloc.start()
    assert sum(map(len, corpus.repeats(files, at_once=10_000))) == 80 * 5_000 - 1
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 0.5 * sum(path.stat().st_size for path in files)
