"""A preparation split into parts, and what may go wrong between them."""

import json
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from data_prep import encode, prepare as prepare_module
from data_prep.parallel import MERGE, parse_part
from data_prep.prepare import prepare
from mt.data.corpus import Corpus
from mt.data.dataset import DatasetConfig
from mt.errors import UserError
from tests.data_prep.small import files, killed_at, small_shards, text_config
from tests.marks import exhaustive
from tests.processes import Program

_ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def small() -> Iterator[None]:
    with small_shards(characters=400, pairs=40):
        yield


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    draws = random.Random(1)
    for split, count in {"train": 300, "dev": 5, "test": 5}.items():
        numbers = [draws.randrange(200) for _ in range(count)]
        (tmp_path / f"{split}.en").write_text("".join(f"cat {i} {split}\n" for i in numbers), encoding="utf-8")
        (tmp_path / f"{split}.de").write_text("".join(f"Kater {i}\n" for i in numbers), encoding="utf-8")
    return tmp_path


def _config(folder: Path, **settings) -> DatasetConfig:
    return text_config(folder, **{"cleaning": {"drop_duplicates": True, "max_length": 50}} | settings)


def _part(folder: Path, text: str, **settings) -> Path:
    return prepare(_config(folder, **settings), folder / "corpora", part=parse_part(text), progress=False)


def _merge(folder: Path, **settings) -> Path:
    return prepare(_config(folder, **settings), folder / "corpora", part=MERGE, progress=False)


def test_links_come_with_their_pairs_in_parts(folder: Path) -> None:
    """Also where a duplicate, with links of its own, goes: each pair is linked by its number."""
    numbers = [line.split()[1] for line in (folder / "train.en").read_text().splitlines()]
    (folder / "links").write_text("".join(f"{int(number) % 3}-{int(number) % 2}\n" for number in numbers))
    settings = {"links": str(folder / "links")}
    one = prepare(_config(folder, **settings), folder / "one", progress=False)
    for number in (2, 1):
        _part(folder, f"{number}/2", **settings)
    merged = _merge(folder, **settings)
    assert files(merged) == files(one)
    train = Corpus.open(merged).split("train")
    kept = [int(text.split()[1]) for text in train.column("source")]
    assert len(kept) == len({*numbers}) < 300
    assert train.links() == [f"{number % 3}-{number % 2}" for number in kept]
    # A character is a piece, and so is the blank before a word: the words have these lengths.
    found = train.read(range(len(kept))).links
    for number, links in zip(kept, found, strict=True):
        widths = len(["cat", str(number), "train"][number % 3]), len(["Kater", str(number)][number % 2])
        assert len(links) in {widths[0] * widths[1], (widths[0] + 1) * (widths[1] + 1)}


@pytest.mark.parametrize("drop", [True, False])
@pytest.mark.parametrize("of", [1, 2, 5, 50])
def test_parts_make_the_corpus_of_one_machine(folder: Path, of: int, drop: bool) -> None:
    settings = {"cleaning": {"drop_duplicates": drop}}
    one = prepare(_config(folder, **settings), folder / "one", progress=False)
    order = random.Random(of).sample(range(1, of + 1), of)
    for number in order:
        made = _part(folder, f"{number}/{of}", **settings)
        assert not made.exists()
    merged = _merge(folder, **settings)
    assert merged == made
    assert files(merged) == files(one)
    assert [path.name for path in (folder / "corpora").iterdir()] == [one.name]
    texts = Corpus.open(merged).split("train").column("source")
    raw = (folder / "train.en").read_text(encoding="utf-8").splitlines()
    assert texts == ([*dict.fromkeys(raw)] if drop else raw)
    # What comes late finds it there.
    assert _part(folder, "1/3", **settings) == _merge(folder, **settings) == merged


def test_parts_of_different_numbers_fit_together(folder: Path) -> None:
    one = prepare(_config(folder), folder / "one", progress=False)
    for text in ("1/2", "3/4", "2/2", "2/2"):
        _part(folder, text)
    assert files(_merge(folder)) == files(one)


@pytest.mark.parametrize("renames", [5, *exhaustive(0, 1, 9)])
def test_a_part_that_is_killed_is_run_again(folder: Path, renames: int) -> None:
    one = prepare(_config(folder), folder / "one", progress=False)
    _part(folder, "2/2")
    script = (
        "import sys\nfrom pathlib import Path\n"
        "from data_prep.parallel import Part\nfrom data_prep.prepare import prepare\n"
        "from mt.data.dataset import DatasetConfig\nfrom tests.data_prep.small import small_shards\n"
        f"{killed_at(renames)}config = DatasetConfig.model_validate_json(sys.argv[1])\n"
        "with small_shards(400, 40):\n"
        "    prepare(config, Path(sys.argv[2]), part=Part(1, 2), progress=False)\n"
    )
    command = [sys.executable, "-c", script, _config(folder).model_dump_json(), str(folder / "corpora")]
    with subprocess.Popen(command, cwd=_ROOT) as process:
        assert process.wait() == -signal.SIGKILL
    with pytest.raises(UserError, match=r"^part 1/2 is missing or not finished in \S+partial: run it with the options"):
        _merge(folder)
    _part(folder, "1/2")
    assert files(_merge(folder)) == files(one)


def test_one_part_by_two_processes_at_a_time(folder: Path) -> None:
    one = prepare(_config(folder), folder / "one", progress=False)
    script = (
        "import contextlib, sys\nfrom pathlib import Path\nfrom data_prep import prepare\n"
        "from data_prep.parallel import Part\nfrom mt.data.dataset import DatasetConfig\n"
        "from tests.data_prep.small import small_shards\n"
        "prepare.locked = lambda *_: contextlib.nullcontext()\n"  # as on a file system that has no locks
        "config = DatasetConfig.model_validate_json(sys.argv[1])\n"
        "with small_shards(400, 40):\n"
        "    prepare.prepare(config, Path(sys.argv[2]), part=Part(1, 1), progress=False)\n"
    )
    command = [sys.executable, "-c", script, _config(folder).model_dump_json(), str(folder / "corpora")]
    processes = [subprocess.Popen(command, cwd=_ROOT) for _ in range(2)]
    assert [process.wait() for process in processes] == [0, 0]
    assert files(_merge(folder)) == files(one)


def test_the_command(folder: Path) -> None:
    settings = ["dataset=files", f"dataset.folder={folder}", "dataset.source=en", "dataset.target=de"]
    settings += ["dataset.tokenizer.model_type=char", "dataset.workers=1", f"corpora={folder / 'corpora'}"]

    def run(*further: str) -> tuple[str, str]:
        return Program(_ROOT / "data_prep/__main__.py", [*settings, *further], folder).communicate()

    assert run("part=1/1")[0].startswith(f"part 1/1 of {folder}/corpora/files-")
    merged = run("part=merge")[0].splitlines()
    assert merged[0] == "train: 300 of 300 pairs kept; dropped: none"
    assert Path(merged[-1]).is_dir()
    _, refused = run("part=1/2", "dry_run=true")
    assert refused == "error: dry_run=true looks at the whole dataset: leave out part=1/2\n"


def test_a_missing_part_is_named(folder: Path) -> None:
    nothing = r"^\S+corpora holds no parts of files: run part=1/n to part=n/n first, with the options of this command$"
    (folder / "corpora").mkdir()
    with pytest.raises(UserError, match=nothing):
        _merge(folder)
    for text in ("1/5", "4/5"):
        _part(folder, text)
    with pytest.raises(UserError, match=r"^part 2/5, 3/5, 5/5 is missing or not finished in \S+: run it with the opt"):
        _merge(folder)
    assert [path.suffix for path in (folder / "corpora").iterdir()] == [".partial"]
    for text in ("2/5", "3/5", "5/5"):
        _part(folder, text)
    assert _merge(folder).is_dir()


def test_parts_of_other_settings_are_refused(folder: Path) -> None:
    _part(folder, "1/1", cleaning={"drop_duplicates": True, "max_length": 20})
    other = (
        r"^the parts of files in \S+ were made of other settings \(dataset\.cleaning\.max_length was 20 and is 50\): "
    )
    with pytest.raises(UserError, match=other + r"give part=merge the options of the parts, or run all parts again$"):
        _merge(folder)
    with (folder / "train.en").open("a") as source, (folder / "train.de").open("a") as target:
        source.write("one\n")
        target.write("eins\n")
    with pytest.raises(UserError, match=r"were made of other text: give"):
        _merge(folder, cleaning={"drop_duplicates": True, "max_length": 20})


@pytest.mark.parametrize("change", [0, 1], ids=["fingerprint", "tokenizers"])
def test_a_part_copied_from_elsewhere_is_refused(folder: Path, change: int) -> None:
    for text in ("1/2", "2/2"):
        made = _part(folder, text)
    [record] = (folder / "corpora").glob(".*/encoded/0000015.json")
    about = json.loads(record.read_text())
    about["made_with"][change] = "another"
    record.write_text(json.dumps(about))
    with pytest.raises(UserError, match=r"^part 2/2 in \S+ is from other settings or another vocabulary than the rest"):
        _merge(folder)
    assert not made.exists()
    _part(folder, "2/2")
    assert _merge(folder) == made


def test_text_that_changes_under_a_part_makes_none(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make = encode.encode_shards

    def change(*arguments):
        yield from make(*arguments)
        (folder / "dev.en").write_text("dog\n" * 5)

    monkeypatch.setattr(encode, "encode_shards", change)
    with pytest.raises(UserError, match="changed while it was read"):
        _part(folder, "1/2")
    assert list((folder / "corpora").glob(".*/encoded/*.json")) == []


def test_text_that_changes_while_it_is_ingested_leaves_nothing_of_it(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = prepare(_config(folder), folder / "one", progress=False)
    read = prepare_module.ingest
    text = (folder / "train.en").read_text()

    def change(*arguments) -> None:
        read(*arguments)
        (folder / "train.en").write_text(text.replace("cat", "dog"))  # of the same size

    monkeypatch.setattr(prepare_module, "ingest", change)
    with pytest.raises(UserError, match="changed while it was read"):
        _part(folder, "1/1")
    assert [path.name for path in (folder / "corpora").glob(".*.partial/*") if path.is_dir()] == []
    monkeypatch.undo()
    (folder / "train.en").write_text(text)
    _part(folder, "1/1")
    assert files(_merge(folder)) == files(one)


@pytest.mark.parametrize("text", ["0/5", "6/5", "1", "a/b", "1/0", "-1/5", "1/5/5", ""])
def test_what_is_no_part_is_refused(text: str) -> None:
    with pytest.raises(UserError, match=f"^part={text} is no part: write part=1/5 to part=5/5 for five shares, and"):
        parse_part(text)
