from pathlib import Path

import pytest

from data_prep.sources import open_source
from tests.data_prep.sources.test_tables import _folder


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("train.tsv", "\ufeffen\t\ufeffde\na\tb\n\ufeffc\t\ufeffd\n"),
        ("train.csv", "\ufeffen,\ufeffde\na,b\n\ufeffc,\ufeffd\n"),
        ("train.jsonl", '\ufeff{"en": "a", "de": "\ufeffb"}\n\ufeff{"en": "\ufeffc", "de": "d"}\n'),
    ],
)
def test_no_cell_begins_with_a_byte_order_mark(tmp_path: Path, name: str, content: str) -> None:
    config = _folder(tmp_path, name, content.encode())
    assert [pair[:2] for pair in open_source(config).splits["train"].read()] == [("a", "b"), ("c", "d")]
