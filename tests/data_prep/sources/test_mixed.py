"""Several corpora in one set."""

from collections import Counter
from pathlib import Path

import pytest

from data_prep.prepare import open_corpus
from data_prep.sources import Source, open_source
from data_prep.sources.base import RawSplit
from data_prep.sources.links import link
from mt.data.batches import batch_order
from mt.data.corpus import SPLITS, Example
from mt.data.dataset import DatasetConfig
from tests.data_prep.small import prepared, small_shards, text_config, write_texts
from tests.refusals.sentences import require_refusal


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, split, count in (
        *(("own", split, 30 if split == "train" else 3) for split in SPLITS),
        *(("web", "train", 50), ("news", "all", 20)),
    ):
        numbered = [f"{name} {split} {number}" for number in range(count)]
        write_texts(tmp_path / name, **{split: [(f"{line} en", f"{line} de") for line in numbered]})
    return tmp_path


def _config(root: Path, **settings) -> DatasetConfig:
    mix = [{"folder": str(root / "web"), "weight": 0.5}, {"folder": str(root / "news"), "train": "all", "weight": 2}]
    return text_config(root / "own", **{"mix": mix} | settings)


def test_train_is_of_all_and_dev_and_test_are_its_own(folder: Path, read) -> None:
    actual = read(_config(folder))
    counts = {split: Counter(one.split()[0] for one, _ in rows) for split, rows in actual.items()}
    assert counts == {"train": {"own": 30, "web": 50, "news": 20}, "dev": {"own": 3}, "test": {"own": 3}}
    mixed = open_source(_config(folder)).training
    train = actual["train"]
    assert [[one[:2] for one in part.read()] for part in mixed] == [train[:30], train[30:80], train[80:]]


def test_an_epoch_has_each_corpus_by_its_weight(folder: Path) -> None:
    write_texts(folder / "web", train=[(f"web {i}" if i % 10 else "", f"web {i}") for i in range(50)])
    with small_shards(characters=200, pairs=1000):
        corpus = open_corpus(_config(folder), folder / "corpora")
    assert corpus.meta["portions"] == [30, 45, 20]
    train = corpus.split("train")
    texts = train.column("source")
    seen: Counter[str] = Counter()
    for epoch, halves in ((1, 23), (2, 22)):
        part = train.of_epoch(seed=7, epoch=epoch)
        batches = batch_order(*part.lengths(), max_tokens=200, seed=7, epoch=epoch)
        decoded = [corpus.tokenizers.source.decode(ids) for batch in batches for ids, _ in part.read(batch).pairs]
        names = Counter(text.split()[0] for text in decoded)
        assert names == {"own": 30, "web": halves, "news": 40}
        assert Counter(part.column("source")) == Counter(decoded) and len(part) == len(decoded)
        seen += Counter(decoded)
    assert {*seen} == {*texts}
    dev = corpus.split("dev")
    assert dev.of_epoch(1, 1) is dev


def test_weights_and_places_do_not_make_another_corpus(folder: Path) -> None:
    first = prepared(_config(folder), folder).meta["fingerprint"]
    other = _config(folder)
    moved = folder / "moved"
    (folder / "web").rename(moved)
    web = other.mix[0].model_copy(update={"folder": str(moved)})
    again = other.model_copy(update={"weight": 3.0, "mix": (web, other.mix[1])})
    assert prepared(again, folder).meta["fingerprint"] == first
    assert prepared(_config(folder, mix=[]), folder).meta["fingerprint"] != first


def test_duplicates_that_go_count_in_no_portion(folder: Path) -> None:
    for side in ("en", "de"):
        with (folder / "web" / f"train.{side}").open("a") as file:
            file.write(f"web train 3 {side}\nown train 3 {side}\n")
    with small_shards(characters=200, pairs=8):
        made = prepared(_config(folder, cleaning={"drop_duplicates": True}), folder)
    assert made.meta["portions"] == [30, 50, 20]


def test_weights_that_would_leave_epochs_empty_are_refused(folder: Path) -> None:
    tiny = [{"folder": str(folder / "web"), "weight": 0.01}, {"folder": str(folder / "news"), "train": "all"}]
    assert open_corpus(_config(folder, mix=tiny, weight=0.01), folder / "corpora")
    tiny[1]["weight"] = 0.04
    facts = "30 pairs with a weight of 0.01, 50 pairs with a weight of 0.01, 20 pairs .* of 0.04.*raise dataset.weight"
    require_refusal(lambda: open_corpus(_config(folder, mix=tiny, weight=0.01), folder / "corpora"), facts)


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"limit": 5}, r"^dataset\.mix of files is read whole"),
        ({"folder": None, "generator": "phrasebook"}, r"^dataset\.mix is of text in folders, and files is not: set"),
        ({"field": {"name": "audio"}}, r"^dataset\.mix is of text in folders, and files is not"),
    ],
)
def test_what_cannot_be_mixed_is_refused(folder: Path, settings: dict, sentence: str) -> None:
    require_refusal(lambda: _config(folder, **settings), sentence)


def test_the_links_of_several_corpora_stand_in_one_file(folder: Path, tmp_path: Path) -> None:
    def corpus(name: str) -> Source:
        examples = [Example(f"{name} {number}", "a b") for number in range(3)]
        return Source({"train": RawSplit(lambda: iter(examples), ("", ""))}, lambda: name)

    (tmp_path / "links").write_text("".join(f"{number % 2}-{number % 2}\n" for number in range(9)))
    sources = link([*map(corpus, ("own", "web", "news"))], _config(folder, links=str(tmp_path / "links")))
    links = [[example.links for example in source.splits["train"].read()] for source in sources]
    assert links == [["0-0", "1-1", "0-0"], ["1-1", "0-0", "1-1"], ["0-0", "1-1", "0-0"]]
