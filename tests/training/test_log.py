import errno
import fcntl
import os
import pty
import random
import re
import select
import struct
import termios
import threading
import time
from pathlib import Path

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from mt.training.log import Console, Log, Pace, scores_shown
from mt.training.loop import Progress
from tests.processes import CONTEXT
from tests.training.runs import logged


def events(folder: Path) -> EventAccumulator:
    return EventAccumulator(str(folder / "tensorboard"), size_guidance={"images": 0, "tensors": 0}).Reload()


def test_resuming_forgets_what_came_later_and_a_half_written_line(tmp_path: Path) -> None:
    log = Log(tmp_path, update=0)
    for update in range(1, 6):
        log.scalars("train", update, {"loss": float(update)})
    log.close()
    for path in (tmp_path / "tensorboard").iterdir():  # TensorBoard reads files in the order of their seconds
        path.rename(path.with_name(path.name.replace("tfevents.", "tfevents.0")))
    with (tmp_path / "metrics.jsonl").open("a") as file:
        file.write('{"kind": "train", "update": 1, "lo')

    log = Log(tmp_path, update=3)
    assert [record["update"] for record in logged(tmp_path)] == [1, 2, 3]
    log.scalars("train", 4, {"loss": 40.0})
    log.close()
    assert [record["loss"] for record in logged(tmp_path)] == [1, 2, 3, 40]
    assert [(e.step, e.value) for e in events(tmp_path).Scalars("train/loss")] == [(1, 1), (2, 2), (3, 3), (4, 40)]


def test_a_validation_that_no_checkpoint_holds_is_forgotten(tmp_path: Path) -> None:
    log = Log(tmp_path, update=0)
    for kind in ("train", "dev", "attention"):
        log.scalars(kind, 3, {"loss": 2.0})
    log.close()
    for validated, kinds in ((True, ["train", "dev", "attention"]), (False, ["train"])):
        Log(tmp_path, update=3, validated=validated).close()
        assert [line["kind"] for line in logged(tmp_path)] == kinds


def test_what_is_no_line_of_ours_is_forgotten(tmp_path: Path) -> None:
    good = b'{"kind": "train", "update": 1, "loss": 2.0}'
    deep = b"[" * 200_000
    (tmp_path / "metrics.jsonl").write_bytes(b"\n".join([b"\xff\xfe", good, deep, b"3", b'{"update": 1e999}', b""]))
    Log(tmp_path, update=5).close()
    assert (tmp_path / "metrics.jsonl").read_bytes() == good + b"\n"


def test_a_full_disk_is_an_error_and_no_traceback_of_a_thread(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    before = threading.excepthook
    log = Log(tmp_path, update=0)
    log.board._get_file_writer().event_writer._async_writer._worker._record_writer.write = full
    with pytest.raises(OSError, match="No space left"):
        for update in range(1000):
            log.scalars("train", update, {"loss": 1.0})
            time.sleep(0.001)
    with pytest.raises(OSError, match="No space left"):
        log.close()
    assert "Traceback" not in capsys.readouterr().err and threading.excepthook is before


# What a run shows, in a pipe and on a terminal of 80 columns.
def show(seconds: float) -> None:
    """Four hundred updates, with a validation in their midst."""
    console = Console(seconds)
    progress = Progress(seconds=1e-3)
    console.say("begun")
    with console.training(progress, 400):
        for progress.update in range(1, 401):
            progress.seconds += 0.01
            console.updated(100, 0.1)
            if progress.update % 20 == 0:
                console.logged(progress, {"loss": 3.21, "lr": 0.0015, "tokens_per_second": 8123.4})
            if progress.update == 200:
                console.say("update 200: bleu 12.00")
            time.sleep(0.0005)


def test_a_pipe_gets_lines_every_so_often_and_no_bar(capsys: pytest.CaptureFixture) -> None:
    show(seconds=0)
    _, *lines = capsys.readouterr().out.splitlines()
    assert not any("\r" in line or "\x1b" in line or "%" in line for line in lines)
    assert lines[0] == "update 20/400  epoch 1  loss 3.210  lr 0.0015  8,123 tokens/s  0:00:04 left"
    assert len(lines) == 21 and lines[10] == "update 200: bleu 12.00"
    show(seconds=3600)
    assert capsys.readouterr() == ("begun\nupdate 200: bleu 12.00\n", "")


def show_on(terminal: str) -> None:
    for descriptor in (1, 2):
        os.dup2(os.open(terminal, os.O_RDWR), descriptor)
    show(0)


def test_a_terminal_of_80_columns_gets_a_bar_and_no_lines() -> None:
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    process = CONTEXT.Process(target=show_on, args=(os.ttyname(theirs),))
    process.start()
    shown = b""
    while process.is_alive() or select.select([ours], [], [], 0)[0]:
        if select.select([ours], [], [], 0.05)[0]:
            shown += os.read(ours, 1 << 16)
    os.close(ours)
    os.close(theirs)
    assert process.exitcode == 0
    text = shown.decode()
    assert "training: 100%" in text and re.search(r"epoch=1, loss=3\.210", text)
    assert "tokens/s" not in text and text.count("update 200: bleu 12.00") == 1
    states = [state for line in text.split("\n") for state in line.strip("\r").split("\r")]
    assert max(len(re.sub(r"\x1b\[\w+", "", state)) for state in states) <= 80


SLOW = (20, 1.0)
"""A number of updates, and the seconds of each."""
FAST = (20, 0.1)


@pytest.mark.parametrize(
    ("updates", "told"),
    [
        ([FAST, FAST, SLOW], None),
        ([FAST, FAST, SLOW, SLOW], 80),
        # Once, however long it lasts.
        ([FAST, SLOW, SLOW, SLOW, FAST, SLOW, SLOW], 60),
        # One window as of a process that was halted.
        ([FAST, SLOW, FAST, SLOW, FAST], None),
        # The first updates compile, and a run that is slow from its beginning has nothing to compare with.
        ([(1, 60.0), (200, 0.1)], None),
        ([SLOW, SLOW, SLOW], None),
        # Twice as slow, as beside one other process.
        ([FAST, (100, 0.2)], None),
        # Updates of a millisecond, some of which wait for a processor: windows last for two seconds.
        ([(5, 0.001), (5, 0.01)] * 400, None),
    ],
)
def test_updates_that_become_several_times_slower_are_told_once(updates: list[tuple[int, float]], told: int | None):
    pace = Pace()
    seconds = [each for count, each in updates for _ in range(count)]
    times = {number: pace.slower(100, each) for number, each in enumerate(seconds, 1)}
    noticed = {number: round(ratio) for number, ratio in times.items() if ratio is not None}
    assert noticed == ({told: 10} if told else {})


def test_long_and_short_batches_are_no_slowdown() -> None:
    """Batches of short sentences have fewer tokens a second, since some of an update's time is the same for all."""
    pace = Pace()
    order = random.Random(1)
    for _ in range(2000):
        tokens = order.choice([50, 400, 2000])
        assert pace.slower(tokens, 0.1 + tokens / 10_000) is None


@pytest.mark.parametrize(("threads", "fewer"), [(1, False), (2, True)])
def test_a_console_warns_once_of_slow_updates_and_says_what_to_do(threads, fewer, monkeypatch, capsys) -> None:
    monkeypatch.setattr("torch.get_num_threads", lambda: threads)
    console = Console()
    for seconds in [0.1] * 20 + [1.0] * 60:
        console.updated(100, seconds)
    [notice] = capsys.readouterr().out.splitlines()
    assert notice.startswith("  warning: updates take 10 times as long as the fastest ones before")
    assert "`top`" in notice and ("OMP_NUM_THREADS=1" in notice) == fewer


@pytest.mark.parametrize("names", [["bleu", "chrf"], ["rouge1", "rouge2", "rougeL", "rougeLsum"]])
def test_soft_and_hard_scores_are_a_table_in_which_nothing_stands_twice(names: list[str]) -> None:
    values = {name: 10.0 + number for number, name in enumerate(names)}
    plain = {"loss": 2.5, "perplexity": 12.2} | values
    both = {f"{name}_{mode}": value for mode in ("soft", "hard") for name, value in ({"loss": 2.5} | values).items()}
    gaps = {f"gap_{name}": 0.0 for name in ("loss", *names)}
    shown = scores_shown("update 123456", plain | both | gaps, "  (best)")
    head, soft, hard = shown.split("\n")
    assert head.split() == ["update", "123456:", "loss", *names, "(best)"]
    assert soft.split() == ["soft", "2.500", *(f"{value:.2f}" for value in values.values())]
    assert hard.split() == ["hard", *soft.split()[1:]]
    assert all(len(line) <= 80 for line in (head, soft, hard))
    # The columns end where their names do.
    ends = [[word.end() for word in re.finditer(r"\S+", line)] for line in (head, soft)]
    assert ends[0][2:-1] == ends[1][1:]


def test_scores_of_one_kind_are_one_line() -> None:
    scores = {"loss": 2.51234, "perplexity": 12.2, "bleu": 30.123, "chrf": 51.0}
    assert scores_shown("update 40", scores, "") == "update 40: loss 2.512  perplexity 12.20  bleu 30.12  chrf 51.00"
