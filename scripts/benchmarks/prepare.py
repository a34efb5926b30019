"""Speed and memory of preparing a folder of text, by phase, beside plain SentencePiece encoding of the same text.

    python scripts/benchmark.py prepare FOLDER SOURCE TARGET [key=value ...]

FOLDER has train.SOURCE, train.TARGET, dev.SOURCE and so on. Processor seconds and memory are those that Linux counts
for the process and all that it starts.
"""

import contextlib
import itertools
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from mt.cli.parser import Parser
from mt.data.corpus import Corpus
from mt.data.tokenizer import Tokenizer
from mt.errors import UserError
from mt.text_io import file_lines

LEARN = "learn vocabulary"
ENCODE = "clean and encode"
TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
LINES_AT_ONCE = 5_000


class Usage(NamedTuple):
    """What a process uses, and its descendants with it."""

    seconds: float
    """Processor seconds, those of ended descendants included."""
    all_bytes: int
    """Resident, of all processes."""
    root_bytes: int
    """Resident, of the process alone."""


def usage(root: int) -> Usage:
    processes = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            processes[int(folder.name)] = (folder / "stat").read_text().rpartition(")")[2].split()
    family = {root} & processes.keys()
    while children := {process for process, fields in processes.items() if int(fields[1]) in family} - family:
        family |= children
    ticks = sum(int(count) for process in family for count in processes[process][11:15])  # ended children's too
    pages = {process: int(processes[process][21]) for process in family}
    return Usage(ticks / TICKS_PER_SECOND, sum(pages.values()) * PAGE_BYTES, pages.get(root, 0) * PAGE_BYTES)


def phase(corpora: Path) -> str:
    """Returns the phase of the preparation by the files that exist."""
    if any(corpora.glob("files-*")):
        return "tidy up"
    if not any(corpora.glob(".*.partial/tokenizers")):
        return LEARN
    return "merge" if any(corpora.glob(".*.partial/corpus")) else ENCODE


def prepare(corpora: Path, settings: Sequence[str]) -> float:
    """Runs the preparation, prints a line per phase, and returns the processor seconds of cleaning and encoding."""
    command = [sys.executable, "-m", "data_prep", "dataset=files", f"corpora={corpora}", *settings]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    name = LEARN
    start = time.perf_counter()
    seconds_before = seconds_now = 0.0
    peak_all = peak_root = 0
    encoding = 0.0
    while process.poll() is None:
        time.sleep(0.1)
        used = usage(process.pid)
        seconds_now = max(seconds_now, used.seconds)  # nothing is counted of a process that has just ended
        peak_all = max(peak_all, used.all_bytes)
        peak_root = max(peak_root, used.root_bytes)
        if process.poll() is not None or phase(corpora) != name:
            seconds = seconds_now - seconds_before
            print(f"{name:18} {time.perf_counter() - start:7.1f} s, processors {seconds:7.1f} s, ", end="")
            print(f"peak {peak_root >> 20:,} MiB, all processes {peak_all >> 20:,} MiB", flush=True)
            encoding += seconds if name == ENCODE else 0.0
            name = phase(corpora)
            start = time.perf_counter()
            seconds_before = seconds_now
            peak_all = peak_root = 0
    if process.returncode:
        raise UserError(f"preparing failed: see {' '.join(command)}")
    return encoding


def encode_plainly(path: Path, tokenizer: Tokenizer) -> tuple[float, int]:
    """Returns the processor seconds of encoding a file by SentencePiece, and the number of its lines."""
    lines = file_lines(path)
    seconds = 0.0
    count = 0
    while texts := list(itertools.islice(lines, LINES_AT_ONCE)):
        start = time.process_time()
        tokenizer._processor.encode(texts, out_type=int, add_eos=True, num_threads=1)
        seconds += time.process_time() - start
        count += len(texts)
    return seconds, count


def main(arguments: Sequence[str]) -> None:
    parser = Parser(__doc__, prog="benchmark.py prepare")
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="with train.<source>, train.<target>, dev...")
    parser.add_argument("source", metavar="SOURCE", help="what the sources' files end in")
    parser.add_argument("target", metavar="TARGET", help="what the targets' files end in")
    parser.add_argument("settings", nargs="*", metavar="key=value", help="further options of the preparation")
    options = parser.parse_args(arguments)
    sides = (options.source, options.target)
    with tempfile.TemporaryDirectory() as temporary:
        text = [f"dataset.folder={options.folder}", f"dataset.source={sides[0]}", f"dataset.target={sides[1]}"]
        encoding = prepare(Path(temporary), [*text, *options.settings])
        made = next(Path(temporary).glob("files-*"))
        corpus = Corpus.open(made)
        size = sum(path.stat().st_size for path in made.rglob("*") if path.is_file())
        print(f"disk {size / corpus.meta['counts']['train']:.0f} bytes a pair")
        plain = [
            encode_plainly(options.folder / f"train.{side}", tokenizer)
            for side, tokenizer in zip(sides, corpus.tokenizers, strict=True)
        ]
    if not encoding:
        raise UserError(f"{options.folder} is encoded faster than can be measured: give some 100,000 pairs or more")
    seconds = sum(one for one, _ in plain)
    pairs = sum(count for _, count in plain) / 2
    print(f"plain SentencePiece: processors {seconds:.1f} s, {pairs / seconds:,.0f} pairs per second and core")
    print(f"clean and encode: {pairs / encoding:,.0f} pairs per second and core, {encoding / seconds:.2f} times plain")
