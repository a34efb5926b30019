"""What is written is read before the next word is sent; whatever comes, the end is clean."""

import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import mt
from mt.__main__ import call as call_verb
from mt.decoding.translator import Translator

from .conftest import Outcome

ROOT = Path(__file__).parents[2]
SENTENCES = ["two big cats see green houses", "", "three birds", "the the the the zzz-cats"]


@pytest.fixture
def stream(call: Callable[..., Outcome], trained_hard: Path) -> Callable[..., Outcome]:
    return lambda data, *flags: call("stream", trained_hard, "--device", "cpu", *flags, stdin=data)


@pytest.fixture
def start(trained_hard: Path, foreground: None) -> Iterator[Callable[..., subprocess.Popen]]:
    """Starts the script as a process of its own."""
    started = []
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "LC_ALL": "C"}

    def begin(**streams) -> subprocess.Popen:
        command = [sys.executable, str(ROOT / "scripts" / "stream.py"), str(trained_hard), "--device", "cpu"]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        process = subprocess.Popen(command, env=environment, bufsize=0, **(pipes | streams))
        started.append(process)
        return process

    yield begin
    for process in started:
        process.kill()
        process.wait()
        for stream in filter(None, (process.stdin, process.stdout, process.stderr)):
            stream.close()


def available(number: int, enough: Callable[[bytes], bool], seconds: float = 100) -> bytes:
    """What can be read, until it is enough."""
    result = b""
    end = time.monotonic() + seconds
    while not enough(result):
        assert select.select([number], [], [], max(0, end - time.monotonic()))[0], f"only {result!r} came"
        result += os.read(number, 1 << 16)
    return result


def test_what_is_certain_is_written_before_the_next_word_comes(start, hard: Translator) -> None:
    process = start()
    early = 0
    for sentence in SENTENCES:
        session = hard.stream()
        line = ""
        for word in [*sentence.split(), None]:
            written = session.finish() if word is None else session.read(word)
            for text in written:
                line += f" {text}" if line else text
                early += word is not None
            process.stdin.write(b"\n" if word is None else f"{word} ".encode())
            wanted = "".join(f" {text}" for text in written).encode()
            if word is None:
                wanted += b"\n"
            if wanted:
                wanted = wanted.removeprefix(b" ") if line == " ".join(written) else wanted
                assert available(process.stdout.fileno(), wanted.__eq__) == wanted
    assert early > 2
    process.stdin.write("zwö".encode()[:-1])
    process.stdin.write("ö".encode()[-1:] + b"lf cats")  # and closes in mid-word
    process.stdin.close()
    session = hard.stream()
    session.read("zwölf cats")
    session.finish()
    assert process.stdout.read().decode() == f"{session.text}\n"
    assert (process.wait(), process.stderr.read()) == (0, b"")


def test_the_lines_are_those_of_translate(stream, hard: Translator) -> None:
    done = stream("\n".join(SENTENCES).encode())
    assert done.out == "".join(f"{result.text}\n" for result in hard.translate(SENTENCES))
    assert (done.err, done.status) == ("", 0)
    assert stream(b"").out == "" and stream(b"\n\n").out == "\n\n"
    short = stream(b"two cats see houses\n", "--max-length", 2, "--no-repeat-ngram-size", 1)
    assert len(short.out.split()) <= 2


def test_several_runs_are_an_ensemble(stream, trained_hard: Path, trained: Path) -> None:
    together = mt.load([trained_hard, trained], device="cpu").stream()
    together.read(f"{SENTENCES[0]} ")
    together.finish()
    alone, both = (stream(SENTENCES[0].encode(), *runs).out for runs in ([], [trained]))
    assert both == f"{together.text}\n" and both != alone


def test_standard_input_is_closed(stream, monkeypatch: pytest.MonkeyPatch, trained_hard: Path, capfd) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(SystemExit):
        call_verb("stream", [str(trained_hard), "--device", "cpu"])
    assert capfd.readouterr().err.startswith("error: standard input is closed: send it text with | or < FILE")


@pytest.mark.slow
def test_nobody_reads_any_more(start) -> None:
    process = start()
    process.stdin.write(b"\n")
    assert available(process.stdout.fileno(), bool) == b"\n"
    process.stdout.close()  # while it waits for a word that never comes
    assert (process.wait(100), process.stderr.read()) == (141, b"")


@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no /dev/full")
def test_a_full_disk_is_named_while_words_still_come(start) -> None:
    """At the first word that is written, and not when the input ends, which may be never."""
    with open("/dev/full", "wb") as full:
        process = start(stdout=full)
        process.stdin.write(b"two cats\n")
        error = b"error: standard output cannot be written (No space left on device): send it elsewhere\n"
        assert (process.wait(100), process.stderr.read()) == (2, error)


@pytest.mark.slow
def test_ctrl_c_while_it_waits(start) -> None:
    process = start()
    process.stdin.write(b"two cats\ntwo ")
    available(process.stdout.fileno(), lambda result: b"\n" in result)
    process.send_signal(signal.SIGINT)
    assert (process.wait(100), process.stderr.read()) == (130, b"interrupted\n")


def test_phrases_that_no_line_may_hold(stream: Callable[..., Outcome]) -> None:
    free = stream(f"{SENTENCES[0]}\n{SENTENCES[2]}\n".encode()).out.splitlines()
    word = free[0].split()[0]
    done = stream(f"{SENTENCES[0]}\n{SENTENCES[2]}\n".encode(), "--avoid", word, "zzz")
    assert done.status == 0 and word not in done.out.split()
    assert word in free[0].split() and len(done.out.splitlines()) == 2
