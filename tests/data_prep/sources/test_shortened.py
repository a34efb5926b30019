import json
from pathlib import Path

import pytest

from data_prep.generated import phrasebook
from data_prep.sources import open_source
from mt.data.corpus import Example
from mt.data.dataset import CleaningConfig, DatasetConfig


@pytest.fixture
def config(tmp_path: Path) -> DatasetConfig:
    for split in ("train", "dev", "test"):
        row = {"article": "one two three  four", "highlights": "eins zwei drei"}
        (tmp_path / f"{split}.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")
    return DatasetConfig(folder=str(tmp_path), source="article", target="highlights")


def test_sources_are_cut_everywhere_and_targets_in_training(config: DatasetConfig) -> None:
    cut = config.model_copy(update={"cleaning": CleaningConfig(truncate_source=3, truncate_target=2)})
    source = open_source(cut)
    whole = open_source(config)
    assert [*source.splits["train"].read()] == [Example("one two three", "eins zwei")]
    for split in ("dev", "test"):
        assert [*source.splits[split].read()] == [Example("one two three", "eins zwei drei")]
    assert [*whole.splits["train"].read()] == [Example("one two three  four", "eins zwei drei")]
    assert len(list(source.splits["train"].read())) == 1
    assert (source.identity(), source.splits["dev"].sides, source.notes()) == (
        whole.identity(),
        whole.splits["dev"].sides,
        whole.notes(),
    )


def test_links_stay_with_pairs_that_are_not_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    generated = phrasebook.generate(sizes={"train": 5, "dev": 100, "test": 5})
    monkeypatch.setattr(phrasebook, "generate", lambda: generated)
    limits = CleaningConfig(truncate_source=5)
    source = open_source(DatasetConfig(name="phrasebook", generator="phrasebook", cleaning=limits))
    whole = open_source(DatasetConfig(name="phrasebook", generator="phrasebook"))
    seen = set()
    for cut, example in zip(source.splits["dev"].read(), whole.splits["dev"].read(), strict=True):
        seen.add(cut == example)
        assert cut == example or (len(cut.source.split()) == 5 and cut.links == "")
    assert seen == {True, False}
