"""What a run shows, on a terminal of 80 columns and in a pipe."""

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest

from mt.training.log import scores_shown

PROGRAM = """
import time
from mt.training.log import Console
from mt.training.loop import Progress

console, progress = Console(seconds={seconds}), Progress(seconds=1e-3)
console.say("begun")
with console.training(progress, 400):
    for progress.update in range(1, 401):
        progress.seconds += 0.01
        console.updated()
        if progress.update % 20 == 0:
            console.logged(progress, {{"loss": 3.21, "lr": 0.0015, "tokens_per_second": 8123.4}})
        if progress.update == 200:
            console.say("update 200: bleu 12.00")
        time.sleep(0.0005)
"""
ENVIRONMENT = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])}


def piped(seconds: float) -> list[str]:
    """Both streams in one pipe, as of `python train.py 2>&1 | tee log`."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(seconds=seconds)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=ENVIRONMENT,
        text=True,
        timeout=120,
        check=True,
    )
    return done.stdout.split("\n")


def on_terminal(columns: int) -> str:
    """All that a terminal gets."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24 if columns else 0, columns, 0, 0))
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM.format(seconds=0)], stdout=theirs, stderr=theirs, env=ENVIRONMENT
    )
    os.close(theirs)
    shown = b""
    while True:
        try:
            part = os.read(ours, 1 << 16)
        except OSError:  # its other end is closed
            break
        if not part:
            break
        shown += part
    os.close(ours)
    assert process.wait(timeout=120) == 0
    return shown.decode()


def test_a_pipe_gets_lines_and_no_bar() -> None:
    lines = piped(seconds=0)
    assert not any("\r" in line or "\x1b" in line or "%" in line for line in lines)
    result = [line for line in lines if line.startswith("update")]
    assert result[0] == "update 20/400  epoch 1  loss 3.210  lr 0.0015  8,123 tokens/s  0:00:04 left"
    assert len(result) == 21 and result[10] == "update 200: bleu 12.00"


@pytest.mark.exhaustive
def test_a_pipe_gets_a_line_every_so_often_only() -> None:
    assert [line for line in piped(seconds=3600) if line] == ["begun", "update 200: bleu 12.00"]


def test_a_terminal_of_80_columns_gets_a_bar_and_no_lines() -> None:
    shown = on_terminal(80)
    assert "training: 100%" in shown and re.search(r"epoch=1, loss=3\.210", shown)
    assert "tokens/s" not in shown and shown.count("update 200: bleu 12.00") == 1
    states = [state for line in shown.split("\n") for state in line.strip("\r").split("\r")]
    assert max(len(re.sub(r"\x1b\[\w+", "", state)) for state in states) <= 80


@pytest.mark.exhaustive
def test_a_terminal_that_does_not_say_how_wide_it_is_gets_a_bar_of_80_columns() -> None:
    shown = on_terminal(0)
    assert "training: 100%" in shown and "400/400" in shown
    assert max(len(re.sub(r"\x1b\[\w+", "", state)) for state in re.split(r"[\r\n]+", shown)) <= 80


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
    assert [result.end() for result in re.finditer(r"\S+", head)][2:-1] == [
        result.end() for result in re.finditer(r"\S+", soft)
    ][1:]


def test_scores_of_one_kind_are_one_line() -> None:
    scores = {"loss": 2.51234, "perplexity": 12.2, "bleu": 30.123, "chrf": 51.0}
    assert scores_shown("update 40", scores, "") == "update 40: loss 2.512  perplexity 12.20  bleu 30.12  chrf 51.00"
