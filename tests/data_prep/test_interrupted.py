"""Preparations that are killed, that meet on one corpus, and that run out of disk."""

import re
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

import pytest

import data_prep.prepare
from data_prep.prepare import prepare
from tests.data_prep.small import files, killed_at, refusal, small_shards, text_config, write_texts
from tests.marks import exhaustive
from tests.refusals.sentences import refusal_of, require_refusal

_ROOT = Path(__file__).parents[2]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    pairs = {split: [(f"cat {i} {split}", f"Kater {i}") for i in range(200)] for split in ("train", "dev", "test")}
    write_texts(tmp_path, train=pairs["train"], dev=pairs["dev"][:5], test=pairs["test"][:5])
    return tmp_path


def _script(before: str) -> str:
    """A program that prepares the corpus in small shards, after `before`."""
    return (
        "import os, signal, sys, time\nfrom pathlib import Path\n"
        "from data_prep import vocabulary\nfrom data_prep.prepare import prepare\n"
        "from mt.data.dataset import DatasetConfig\nfrom mt.errors import reported\n"
        "from tests.data_prep.small import small_shards\n"
        f"{before}\n"
        "with reported(), small_shards(300, 40):\n"
        "    prepare(DatasetConfig.model_validate_json(sys.argv[1]), Path(sys.argv[2]), progress=False)\n"
    )


def _start(folder: Path, root: Path, before: str) -> subprocess.Popen:
    command = [sys.executable, "-c", _script(before), text_config(folder).model_dump_json(), str(root)]
    return subprocess.Popen(command, cwd=_ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.fixture
def uninterrupted(folder: Path, tmp_path: Path) -> Iterator[Path]:
    with small_shards(characters=300, pairs=40):
        made = prepare(text_config(folder), tmp_path / "uninterrupted", progress=False)
        assert len(list((made / "train").glob("*.arrow"))) == 15
        yield made


# A preparation renames raw shards, tokenizers, three times each of fifteen shards (within, what is
# known of it, at its end), dev, test, and each shard to its place.
@pytest.mark.parametrize("renames", [1, 52, *exhaustive(2, 3, 12, 27, 60)])
def test_a_killed_preparation_leaves_no_corpus_and_is_gone_on_from(folder, tmp_path, uninterrupted, renames):
    root = tmp_path / "killed"
    with _start(folder, root, killed_at(renames)) as process:
        assert process.wait() == -signal.SIGKILL
    assert [path.name for path in root.iterdir() if not path.name.startswith(".")] == []
    [work] = root.glob(".*.partial")
    finished = [*work.glob("encoded/[0-9]*.arrow"), *work.glob("corpus/train/*.arrow")]
    assert len(finished) == min(max(renames - 2, 0) // 3, 15)
    inodes = {path.stat().st_ino for path in finished}
    again = prepare(text_config(folder), root, progress=False)
    assert again.name == uninterrupted.name
    assert files(again) == files(uninterrupted)
    assert inodes <= {path.stat().st_ino for path in (again / "train").glob("*.arrow")}, "one was made again"
    assert [path.name for path in root.iterdir()] == [again.name]


def test_two_preparations_of_one_corpus_do_not_meet(folder: Path, tmp_path: Path, uninterrupted: Path) -> None:
    root = tmp_path / "both"
    slow = "learn = vocabulary.learn\nvocabulary.learn = lambda *_: (time.sleep(0.5), learn(*_))[1]"
    processes = [_start(folder, root, slow) for _ in range(2)]
    for process in processes:
        _, error = process.communicate()
        assert (process.returncode, error) == (0, "")
    assert files(root / uninterrupted.name) == files(uninterrupted)
    assert [path.name for path in root.iterdir()] == [uninterrupted.name]


def test_a_disk_that_takes_no_more_is_told_in_one_sentence(folder, tmp_path, uninterrupted, monkeypatch):
    root = tmp_path / "full"
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    # No room for a shard of ids: a file beyond this limit fails as one on a full disk does, with an OSError.
    resource.setrlimit(resource.RLIMIT_FSIZE, (4000, hard))
    try:
        sentence = refusal_of(lambda: prepare(text_config(folder), root, progress=False))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert re.match(
        r"the corpus could not be written \((?!\[Errno)(\S+: )?File too large\): free disk space; the same command",
        sentence,
    )
    assert [path.name for path in root.iterdir() if not path.name.startswith(".")] == []
    assert files(prepare(text_config(folder), root, progress=False)) == files(uninterrupted)


def test_a_refused_set_leaves_nothing_half_made(folder: Path, tmp_path: Path) -> None:
    (folder / "train.de").write_bytes(b"Kater\n" * 150 + b"\xff\n" + b"Kater\n" * 49)
    root = tmp_path / "refused"
    require_refusal(lambda: prepare(text_config(folder), root, progress=False), r"train\.de, line 151 is not")
    assert list(root.iterdir()) == []


def test_a_process_that_dies_is_told_in_one_sentence(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def die(*_) -> None:
        raise BrokenProcessPool

    monkeypatch.setattr(data_prep.prepare, "encode_shards", die)
    sentence = refusal(text_config(folder), tmp_path)
    assert re.search("was killed, .* for want of memory: set dataset.workers to fewer", sentence)


def test_workers_end_with_a_parent_that_is_killed() -> None:
    script = (
        "import multiprocessing, sys, time\nfrom data_prep.parallel import ordered\n"
        "for _ in ordered(time.sleep, ((0.0,) for _ in range(9)), 2):\n"
        "    print(len(multiprocessing.active_children()), flush=True)\n"
        "    time.sleep(60)\n"
    )
    command = [sys.executable, "-c", script]
    with subprocess.Popen(command, cwd=_ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"2\n"
        process.kill()
        process.communicate(timeout=30)  # returns when no process holds the pipe any more


@pytest.mark.parametrize("place", ["", "raw", "encoded", "encoded/0000000.arrow", "tokenizers", "corpus"])
def test_nothing_is_written_through_links(folder: Path, tmp_path: Path, uninterrupted: Path, place: str) -> None:
    root = tmp_path / "linked"
    foreign = tmp_path / "foreign"
    foreign.mkdir()
    (foreign / "file").write_text("precious")
    work = root / f".{uninterrupted.name}.partial"
    (work / place).parent.mkdir(parents=True)
    (work / place).symlink_to(foreign if "." not in place else foreign / "file")
    made = prepare(text_config(folder), root, progress=False)
    assert files(foreign) == {"file": b"precious"}
    assert [path.name for path in root.iterdir()] == [made.name]


def test_a_folder_that_may_not_be_written_is_not_blamed_on_the_disk(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "corpora").write_text("a file")
    sentence = refusal(text_config(folder), tmp_path)
    assert re.search(r"File exists.*\): make \S+/corpora a folder that may be written; the same", sentence)
