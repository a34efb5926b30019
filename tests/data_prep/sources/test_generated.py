import pytest

from data_prep.generated import phrasebook
from data_prep.sources import open_source
from mt.data.corpus import SPLITS
from mt.data.dataset import DatasetConfig


def test_the_phrasebook_keeps_its_links(monkeypatch: pytest.MonkeyPatch) -> None:
    generated = phrasebook.generate(sizes={"train": 30, "dev": 10, "test": 10})
    monkeypatch.setattr(phrasebook, "generate", lambda: generated)
    source = open_source(DatasetConfig(name="phrasebook", generator="phrasebook"))
    assert [len(list(source.splits[split].read())) for split in SPLITS] == [30, 10, 10]
    assert [tuple(example[:3]) for example in source.splits["dev"].read()] == [tuple(row) for row in generated["dev"]]
    assert all(example.links for example in source.splits["train"].read())
    assert source.splits["dev"].sides == ("phrasebook, dev, source", "phrasebook, dev, target")
    assert source.notes() == []
