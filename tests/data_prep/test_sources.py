import json
from collections.abc import Mapping
from pathlib import Path

import datasets
import pytest

from data_prep import phrasebook
from data_prep.sources import open_source
from mt.data.corpus import SPLITS, Example
from mt.data.dataset import DatasetConfig, HubConfig, SplitNames
from mt.errors import UserError

PAIRS = {
    "train": [("a house", "ein Haus"), ("two dogs", "zwei Hunde"), ("old", "alt")],
    "dev": [("a cat", "eine Katze")],
    "test": [("a bird", "ein Vogel")],
}
HUB = HubConfig(id="somebody/captions", splits=SplitNames(dev="validation"))


@pytest.fixture(autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", str(tmp_path_factory.mktemp("cache")))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for split, pairs in PAIRS.items():
        _write(tmp_path / f"{split}.en", "".join(f"{source}\n" for source, _ in pairs))
        _write(tmp_path / f"{split}.de", "".join(f"{target}\n" for _, target in pairs))
    return tmp_path


def _write(path: Path, text: str) -> None:
    path.write_bytes(text.encode())


def _config(folder: Path | None, **settings) -> DatasetConfig:
    return DatasetConfig(**{"folder": folder and str(folder), "source": "en", "target": "de"} | settings)


def _read(config: DatasetConfig) -> dict[str, list[Example]]:
    source = open_source(config)
    for split in SPLITS:
        assert source.size(split) == len(list(source.examples(split)))
    return {split: list(source.examples(split)) for split in SPLITS}


def _expected(pairs: Mapping[str, list[tuple[str, str]]] = PAIRS) -> dict[str, list[Example]]:
    return {split: [Example(*pair) for pair in rows] for split, rows in pairs.items()}


def _read_all(folder: Path) -> None:
    source = open_source(_config(folder))
    for split in SPLITS:
        source.size(split)
        list(source.examples(split))


def test_files(folder: Path) -> None:
    assert _read(_config(folder)) == _expected()
    assert open_source(_config(folder)).places("dev") == (f"{folder}/dev.en, line", f"{folder}/dev.de, line")


def test_split_names_of_files(folder: Path) -> None:
    for side in ("en", "de"):
        (folder / f"dev.{side}").rename(folder / f"val.{side}")
    assert _read(_config(folder, splits=SplitNames(dev="val"))) == _expected()


def test_lines_end_at_line_feeds_alone(folder: Path) -> None:
    _write(folder / "train.en", "\ufeffa\u2028house\r\ntwo\x85 dogs\r\n\x0bold")
    assert [example.source for example in _read(_config(folder))["train"]] == [
        "a\u2028house",
        "two\x85 dogs",
        "\x0bold",
    ]


def test_blank_lines_stay_in_place(folder: Path) -> None:
    _write(folder / "train.en", "a house\n\nold\n")
    assert [example.source for example in _read(_config(folder))["train"]] == ["a house", "", "old"]


def test_identity_follows_the_content(folder: Path) -> None:
    first = open_source(_config(folder)).identity()
    _write(folder / "ATTRIBUTION.txt", "not read")
    assert open_source(_config(folder)).identity() == first
    _write(folder / "test.de", "ein Vögelchen\n")
    assert open_source(_config(folder)).identity() != first


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("train.de", b"ein Haus\n", r"train\.en has 3 lines and .*train\.de has 1: line N of one must be"),
        ("dev.en", b"", r"dev\.en is empty: expected one sentence a line"),
        ("test.de", b"ein V\xf6gel\n", r"test\.de, line 1 is not valid UTF-8 \(byte 6 of the line\): convert"),
        ("train.en", b"a\nb\nc\xff\n", r"train\.en, line 3 is not valid UTF-8 \(byte 2 of the line\): convert"),
        ("train.en", b"a\nb\0\nc\n", r"train\.en, line 2 holds a NUL character: remove it"),
    ],
)
def test_bad_files_are_refused(folder: Path, name: str, content: bytes, sentence: str) -> None:
    (folder / name).write_bytes(content)
    with pytest.raises(UserError, match=sentence):
        _read_all(folder)


def test_missing_files_are_named(folder: Path) -> None:
    (folder / "dev.de").unlink()
    with pytest.raises(
        UserError, match=r"lacks dev\.de \(there is: dev\.en, test\.de, test\.en, train\.de, train\.en\): set"
    ):
        open_source(_config(folder))
    with pytest.raises(UserError, match=r"nowhere lacks train\.en, .* \(no such folder\): set dataset\.folder"):
        open_source(_config(folder / "nowhere"))


@pytest.mark.parametrize("layout", ["jsonl", "csv", "parquet", "nested parquet"])
def test_a_local_copy_of_a_hub_repository(tmp_path: Path, layout: str) -> None:
    names = {"train": "train", "dev": "val", "test": "test"}
    (tmp_path / "data").mkdir()
    for split, pairs in PAIRS.items():
        rows = [{"en": source, "de": target, "id": 7} for source, target in pairs]
        if layout == "jsonl":
            _write(tmp_path / f"{names[split]}.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
        elif layout == "csv":
            _write(tmp_path / f"{names[split]}.csv", "en,de\n" + "".join(f"{r['en']},{r['de']}\n" for r in rows))
        else:
            nested = [{"translation": {"en": row["en"], "de": row["de"]}} for row in rows]
            table = datasets.Dataset.from_list(nested if layout.startswith("nested") else rows)
            table.to_parquet(tmp_path / "data" / f"{HUB.splits[split]}-00000-of-00001.parquet")
    config = _config(tmp_path, hub=HUB)
    assert _read(config) == _expected()
    place = f"{tmp_path}, validation, column en, row"
    assert open_source(config).places("dev")[0] == place


def test_a_folder_of_text_files_replaces_the_hub(folder: Path) -> None:
    assert _read(_config(folder, hub=HUB)) == _expected()


def _copy(folder: Path, rows: list[dict]) -> DatasetConfig:
    for name in ("train", "val", "test"):
        _write(folder / f"{name}.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    return _config(folder, hub=HUB)


@pytest.mark.parametrize(
    "row", [{"en": "a", "german": "b"}, {"translation": {"en": "a", "german": "b"}}], ids=["flat", "nested"]
)
def test_missing_columns_are_named(tmp_path: Path, row: dict) -> None:
    source = open_source(_copy(tmp_path, [row]))
    with pytest.raises(
        UserError, match=r"has no column de in its split train: .*There is: en, german; set dataset\.source"
    ):
        list(source.examples("train"))


def test_cells_that_are_no_text_are_refused(tmp_path: Path) -> None:
    source = open_source(_copy(tmp_path, [{"en": "a", "de": 3}]))
    with pytest.raises(UserError, match="train, column de, row 1 holds int, not text"):
        list(source.examples("train"))


def test_an_empty_cell_is_an_empty_text(tmp_path: Path) -> None:
    source = open_source(_copy(tmp_path, [{"en": "a", "de": None}, {"en": "a", "de": "b"}]))
    assert list(source.examples("train")) == [Example("a", ""), Example("a", "b")]


def test_missing_splits_are_named(tmp_path: Path) -> None:
    config = _copy(tmp_path, [{"en": "a", "de": "b"}])
    source = open_source(config.model_copy(update={"hub": HubConfig(splits=SplitNames(dev="valid"))}))
    with pytest.raises(
        UserError, match=r"has no split valid: did you mean validation\? .*; set dataset\.hub\.splits\.dev"
    ):
        source.size("dev")


def test_an_empty_split_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = datasets.DatasetDict({"validation": datasets.Dataset.from_dict({"en": [], "de": []})})
    monkeypatch.setattr(datasets, "load_dataset", lambda *_, **__: rows)
    with pytest.raises(UserError, match="somebody/captions has no rows in its split validation: choose another"):
        open_source(_config(None, hub=HUB)).size("dev")


def test_a_broken_local_copy_is_refused(tmp_path: Path) -> None:
    config = _copy(tmp_path, [{"en": "a", "de": "b"}])
    _write(tmp_path / "val.jsonl", "no json\n")
    with pytest.raises(UserError, match=r"could not be loaded \(.*\): expected tables named by split"):
        open_source(config).size("dev")


def test_the_hub_is_asked_for_the_revision(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def load(*arguments, **options):
        asked.append((arguments, options))
        rows = {HUB.splits[split]: datasets.Dataset.from_dict({"en": ["a"], "de": ["b"]}) for split in SPLITS}
        return datasets.DatasetDict(rows)

    monkeypatch.setattr(datasets, "load_dataset", load)
    config = _config(None, hub=HUB.model_copy(update={"revision": "abc123", "config": "en-de"}))
    assert _read(config) == _expected({split: [("a", "b")] for split in SPLITS})
    assert asked == [(("somebody/captions", "en-de"), {"revision": "abc123"})]
    assert open_source(config).identity() != open_source(_config(None, hub=HUB)).identity()


def test_an_unreachable_hub_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def load(*arguments, **options):
        raise ConnectionError("Couldn't reach 'somebody/captions' on the Hub")

    monkeypatch.setattr(datasets, "load_dataset", load)
    with pytest.raises(
        UserError, match=r"somebody/captions could not be loaded .*set dataset\.folder=DIR to a local copy"
    ):
        open_source(_config(None, hub=HUB)).size("train")


def test_the_phrasebook_keeps_its_links(monkeypatch: pytest.MonkeyPatch) -> None:
    generated = phrasebook.generate(sizes={"train": 30, "dev": 10, "test": 10})
    monkeypatch.setattr(phrasebook, "generate", lambda: generated)
    source = open_source(DatasetConfig(name="phrasebook", generator="phrasebook"))
    assert [source.size(split) for split in SPLITS] == [30, 10, 10]
    assert [tuple(example) for example in source.examples("dev")] == [tuple(example) for example in generated["dev"]]
    assert all(example.links for example in source.examples("train"))
