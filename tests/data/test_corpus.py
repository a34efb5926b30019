import json
import re
from pathlib import Path

import numpy as np
import pytest

from mt.common.input_files import sha256
from mt.data import corpus, writer
from mt.data.arrow import file_digests, require_contents
from mt.data.checks import open_table
from mt.data.corpus import Corpus, Example
from mt.data.split import Split
from mt.data.tokenizer import EOS, TokenizerConfig, Tokenizers
from tests.refusals.sentences import require_refusal

EXAMPLES: dict[str, list[Example]] = {
    "train": [Example("a house", "ein Haus", "0-0 1-1"), Example("old", "alt"), Example("a  dog\u2028!", "ein Hund !")],
    "dev": [Example("a cat", "eine Katze", "0-0 1-1")],
    "test": [Example("a bird", "ein Vogel")],
}


@pytest.fixture(scope="module")
def tokenizers() -> Tokenizers:
    texts = [(example.source, example.target) for examples in EXAMPLES.values() for example in examples]
    return Tokenizers.train(TokenizerConfig(model_type="char", vocab_size=100), texts)


def write(folder: Path, splits: dict[str, list[Example]], tokenizers: Tokenizers, meta: dict[str, str]) -> None:
    draft = folder.with_name("draft")
    for name, examples in splits.items():
        (draft / name).mkdir(parents=True)
        writer.write_shard(draft / name / "data.arrow", writer.text_table(examples), tokenizers)
    writer.finish(draft, folder, tokenizers, meta)


@pytest.fixture
def folder(tmp_path: Path, tokenizers: Tokenizers) -> Path:
    write(tmp_path / "kept" / "small", EXAMPLES, tokenizers, {"fingerprint": "f00"})
    return tmp_path / "kept" / "small"


def test_what_is_written_is_read(folder: Path, tokenizers: Tokenizers) -> None:
    opened = Corpus.open(folder)
    assert opened.meta["counts"] == {"train": 3, "dev": 1, "test": 1}
    assert opened.meta["fingerprint"] == "f00"
    assert opened.tokenizers.source.model == tokenizers.source.model
    for name, examples in EXAMPLES.items():
        split = opened.split(name)
        columns = zip(*map(split.column, ("source", "target", "links", "references")), strict=True)
        assert [*columns] == [(one.source, one.target, one.links, [one.target]) for one in examples]
        assert len(split) == len(examples)


def test_ids_and_lengths(folder: Path, tokenizers: Tokenizers) -> None:
    train = Corpus.open(folder).split("train")
    source, target = train.lengths()
    assert source.tolist() == [9, 5, 9]  # the blank before the first word, the characters, EOS
    assert target.tolist() == [10, 5, 12]
    pairs = train.read(np.array([2, 0])).pairs
    assert [tokenizers.target.decode(ids) for _, ids in pairs] == ["ein Hund !", "ein Haus"]
    assert [tokenizers.source.decode(ids) for ids, _ in pairs] == ["a dog !", "a house"]
    assert all(ids[-1] == EOS and ids.dtype == np.int32 for pair in pairs for ids in pair)
    assert [ids.tolist() for ids, _ in train.read([1]).pairs] == tokenizers.source.encode(["old"])


def test_many_examples_differ_in_number_of_references(tmp_path: Path, tokenizers: Tokenizers) -> None:
    few: list[tuple[str, ...]] = [("das Haus",), (), ("alte", "alter"), (), ("altes",)]
    more = few * 2_400  # so many that they are written in several chunks
    examples = [Example("a" * (1 + i % 9), "alt", "0-0", references) for i, references in enumerate(more)]
    write(tmp_path / "several", EXAMPLES | {"test": examples}, tokenizers, {"fingerprint": "f00"})
    test = Corpus.open(tmp_path / "several").split("test")
    assert test.column("references") == [["alt", *references] for references in more]
    assert test.column("links") == ["0-0"] * len(more)
    assert test.lengths()[0].tolist() == [len(example.source) + 2 for example in examples]
    picked = [len(more) - 1, 0, 5_003, 5_003]
    assert [len(source) for source, _ in test.read(picked).pairs] == [test.lengths()[0][i] for i in picked]


def test_what_is_unknown_is_counted_in_all_references(tmp_path: Path, tokenizers: Tokenizers) -> None:
    table = writer.text_table([Example("a house", "ein Haus", "", ("ein Ж",)), Example("Ж", "alt")])
    assert writer.write_shard(tmp_path / "shard", table, tokenizers) == {"source": (1, 2), "target": (1, 3)}


def test_a_split_of_several_files_is_one_table(tmp_path: Path, tokenizers: Tokenizers) -> None:
    shards = {"b.arrow": EXAMPLES["train"], "none.arrow": [], "a.arrow": EXAMPLES["dev"]}
    for name, examples in shards.items():
        writer.write_shard(tmp_path / name, writer.text_table(examples), tokenizers)
    result = open_table(tmp_path / name for name in shards)
    assert result["source"].to_pylist() == ["a house", "old", "a  dog\u2028!", "a cat"]
    assert result["references"][3].as_py() == ["eine Katze"]
    assert [len(source) for source, _ in Split(result).read([3, 0]).pairs] == [7, 9]


def test_a_corpus_of_release_0_3_0_is_read(folder: Path) -> None:
    """It has two files of the library `datasets` beside the shards."""
    meta = json.loads((folder / "meta.json").read_text())
    for name in (f"{split}/{file}" for split in EXAMPLES for file in ("state.json", "dataset_info.json")):
        (folder / name).write_text('{"_data_files": [{"filename": "data.arrow"}]}')
        meta["files"][name] = {"size": (folder / name).stat().st_size, "sha256": sha256(folder / name)}
    (folder / "meta.json").write_text(json.dumps(meta))
    assert Corpus.open(folder).split("train").column("source") == [example.source for example in EXAMPLES["train"]]


def test_another_tokenizer_is_refused(folder: Path) -> None:
    other = Tokenizers.train(TokenizerConfig(model_type="char", vocab_size=100), [("a house and a garden", "ein Haus")])
    other.save(folder)
    require_refusal(lambda: Corpus.open(folder), "another tokenizer than the one that cut its text: delete it and make")


@pytest.mark.parametrize(
    ("change", "fact"),
    [
        (lambda path: path.unlink(), ".*No such file.*"),
        (lambda path: path.write_bytes(path.read_bytes()[:40]), r"dev/data\.arrow has 40 bytes, not \d+"),
        (lambda path: path.write_bytes(path.read_bytes() + b"x"), r"dev/data\.arrow has \d+ bytes, not \d+"),
    ],
)
def test_a_file_that_is_missing_or_of_another_size_is_refused(folder, change, fact):
    change(folder / "dev" / "data.arrow")
    require_refusal(lambda: Corpus.open(folder), rf"small is damaged \({fact}\): delete it and make it again")


@pytest.mark.parametrize("split", corpus.SPLITS)
def test_a_flipped_bit_anywhere_is_refused_before_the_split_is_read(folder: Path, split: str) -> None:
    for path in (folder / split).iterdir():
        sound = path.read_bytes()
        for place in range(0, len(sound), 1 + len(sound) // 9):
            flipped = bytearray(sound)
            flipped[place] ^= 1 << place % 8
            path.write_bytes(flipped)
            opened = Corpus.open(folder)
            name = f"{split}/{path.name}"
            sentence = rf"small is damaged \({re.escape(name)} has changed .*\): delete it"
            require_refusal(lambda opened=opened: opened.split(split), sentence)
            others = {*corpus.SPLITS} - {split}
            assert all(len(opened.split(other)) for other in others)
        path.write_bytes(sound)
    assert len(Corpus.open(folder).split(split)) == len(EXAMPLES[split])


def test_processes_share_the_work_of_checking(tmp_path: Path) -> None:
    (tmp_path / "train").mkdir()
    paths = [tmp_path / "train" / f"{number}.arrow" for number in range(5)]
    for path in paths:
        path.write_text(path.name)
    written = file_digests(tmp_path, paths)
    for path in paths:
        text = path.read_text()
        path.write_text("0.arrof")
        refused = []
        for rank in range(3):
            try:
                require_contents(tmp_path, written, "train", (rank, 3))
            except ValueError:
                refused.append(rank)
        assert len(refused) == 1
        path.write_text(text)


MISSING = "missing"


@pytest.mark.parametrize(
    ("key", "value", "reason"),
    [
        *(("files", value, "files") for value in ([], {"dev/data.arrow": 3}, {"dev/data.arrow": {}})),
        ("files", {"dev/../../x": {"size": 1, "sha256": "0" * 64}}, "files"),
        ("files", {"dev/\x1b[31m": {"size": 1, "sha256": "0" * 64}}, r"files\.dev/\\x1b"),
        ("files", {"dev/x": {"size": -1, "sha256": "0" * 64}}, "size=-1 is not possible"),
        ("fingerprint", "../x", "fingerprint"),
        ("tokenizers", [], "tokenizers"),
        ("counts", {"train": -1}, "counts.train=-1"),
        ("counts", {"train": 1 << 60}, "counts.train"),
        ("settings", [], "settings"),
        ("settings", {"field": {"name": "smell"}}, "smell"),
        ("portions", [-1], "portions"),
        *((key, MISSING, f"{key} is missing") for key in ("fingerprint", "tokenizers", "counts", "files")),
        ("files", {}, "damaged"),
        ("format", 99, f"corpus of format 99, this version reads format {corpus.FORMAT}"),
        *(("portions", value, "portions that are not those of") for value in ([], [3], [2, 2], [0, 1, 2])),
    ],
)
def test_facts_of_other_types_and_bounds_are_refused(folder: Path, key: str, value: object, reason: str) -> None:
    meta = json.loads((folder / "meta.json").read_text())
    changed = {name: fact for name, fact in (meta | {key: value}).items() if fact != MISSING}
    (folder / "meta.json").write_text(json.dumps(changed))
    sentence = rf"small.*{reason}.*: delete it and make it again"
    require_refusal(lambda: Corpus.open(folder, weights=[1.0, 0.5]).split("train"), sentence)


@pytest.mark.parametrize("content", [None, b"\xff", b"[]", b"3", b"[" * 200_000, b"{}"])
def test_meta_data_that_are_none_are_refused(folder: Path, content: bytes | None) -> None:
    (folder / "meta.json").unlink() if content is None else (folder / "meta.json").write_bytes(content)
    require_refusal(
        lambda: Corpus.open(folder), r"is not a prepared corpus \(meta\.json is missing or broken\): delete it"
    )
