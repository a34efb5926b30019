"""What a person opens to understand the project stays short: the files are listed here, once, and counted."""

from collections.abc import Sequence
from pathlib import Path

import pytest

MT = Path(__file__).parents[1] / "mt"
ATTENTION = ("models/attention/base.py",)
MECHANISM = ("models/attention/monotonic.py",)
DECODER = ("models/decoders/base.py", "models/decoders/luong.py")
TRAINING_STEP = ("training/loop.py",)
# In the order in which one reads them, from the attention up to the update.
MOCHA = (
    *ATTENTION,
    "models/attention/memory.py",
    "models/attention/energy.py",
    *MECHANISM,
    "models/attention/mocha.py",
    "ops/expected.py",
    "ops/chunkwise.py",
    *DECODER,
    "models/seq2seq.py",
    *TRAINING_STEP,
    "training/update.py",
)


def lines(files: Sequence[str]) -> int:
    return sum(len((MT / file).read_text(encoding="utf-8").splitlines()) for file in files)


@pytest.mark.parametrize(
    ("files", "most_files", "most_lines"),
    [
        pytest.param(ATTENTION, 1, 130, id="the verbs of an attention"),
        pytest.param((*ATTENTION, *MECHANISM, *DECODER, *TRAINING_STEP), 5, 650, id="attention, decoder, step"),
        pytest.param(MOCHA, 12, 1300, id="attention=mocha in training"),
    ],
)
def test_the_readers_path_is_short(files: Sequence[str], most_files: int, most_lines: int) -> None:
    assert len(files) <= most_files
    assert lines(files) <= most_lines, {file: lines([file]) for file in files}
