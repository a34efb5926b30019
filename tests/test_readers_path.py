"""What a person opens to understand the project stays short: the files are listed here, once, and counted."""

from collections.abc import Sequence
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ATTENTION = ("mt/models/attention/base.py",)
MECHANISM = ("mt/models/attention/monotonic.py",)
DECODER = ("mt/models/decoders/base.py", "mt/models/decoders/luong.py")
TRAINING_STEP = ("mt/training/loop.py",)
# In the order in which one reads them, from the attention up to the update.
MOCHA = (
    *ATTENTION,
    "mt/models/attention/energy.py",
    *MECHANISM,
    "mt/models/attention/mocha.py",
    "mt/ops/expected.py",
    "mt/ops/chunkwise.py",
    *DECODER,
    "mt/models/seq2seq.py",
    *TRAINING_STEP,
    "mt/training/loop.py",
)
# From the command down to a step of the model.
BEAM = (
    "scripts/translate.py",
    "mt/decoding/lines.py",
    "mt/decoding/load.py",
    "mt/decoding/translator.py",
    "mt/decoding/network.py",
    "mt/decoding/torch_network.py",
    "mt/search/config.py",
    "mt/search/beam.py",
    "mt/search/hypothesis.py",
    "mt/search/stepper.py",
    "mt/search/torch_stepper.py",
    "mt/models/decoders/base.py",
)


def lines(files: Sequence[str]) -> int:
    return sum(len((ROOT / file).read_text(encoding="utf-8").splitlines()) for file in files)


@pytest.mark.parametrize(
    ("files", "most_files", "most_lines"),
    [
        pytest.param(ATTENTION, 1, 130, id="the verbs of an attention"),
        pytest.param((*ATTENTION, *MECHANISM, *DECODER, *TRAINING_STEP), 5, 650, id="attention, decoder, step"),
        pytest.param(MOCHA, 12, 1300, id="attention=mocha in training"),
        pytest.param(BEAM, 12, 1400, id="a beam decode"),
    ],
)
def test_the_readers_path_is_short(files: Sequence[str], most_files: int, most_lines: int) -> None:
    assert len(files) <= most_files
    assert lines(files) <= most_lines, {file: lines([file]) for file in files}
