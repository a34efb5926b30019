"""Speed and memory of preparing a folder of text, by phase, beside plain SentencePiece encoding of the same text.

python scripts/benchmark_prepare.py FOLDER SOURCE TARGET [key=value ...]
"""

import contextlib
import itertools
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from mt.command_line import Parser
from mt.data.corpus import Corpus
from mt.text_io import file_lines

_FIRST, _SECOND = "learn vocabulary", "clean and encode"
_TICKS, _PAGE = os.sysconf("SC_CLK_TCK"), os.sysconf("SC_PAGE_SIZE")


def usage(root: int) -> tuple[float, int, int]:
    """Processor seconds and resident bytes of a process and its descendants, and its own bytes."""
    processes = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            processes[int(folder.name)] = (folder / "stat").read_text().rpartition(")")[2].split()
    family = {root} & processes.keys()
    while grown := {process for process, fields in processes.items() if int(fields[1]) in family} - family:
        family |= grown
    ticks = sum(int(count) for process in family for count in processes[process][11:15])  # ended children's too
    pages = {process: int(processes[process][21]) for process in family}
    return ticks / _TICKS, sum(pages.values()) * _PAGE, pages.get(root, 0) * _PAGE


def phase(corpora: Path) -> str:
    if any(corpora.glob("files-*")):
        return "tidy up"
    if not any(corpora.glob(".*.partial/tokenizers")):
        return _FIRST
    return "merge" if any(corpora.glob(".*.partial/shards.json")) else _SECOND


def prepared(corpora: Path, settings: list[str]) -> float:
    """Runs the preparation, prints a line per phase, and gives the processor seconds of cleaning and encoding."""
    command = [sys.executable, "-m", "data_prep", "dataset=files", f"corpora={corpora}", *settings]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    name, began, before, peak, last = _FIRST, time.perf_counter(), 0.0, (0, 0), 0.0
    total = 0.0
    while process.poll() is None:
        time.sleep(0.1)
        seconds, resident, own = usage(process.pid)
        peak, last = (max(peak[0], own), max(peak[1], resident)), max(last, seconds)
        if process.poll() is not None or phase(corpora) != name:
            print(f"{name:18} {time.perf_counter() - began:7.1f} s, processors {last - before:7.1f} s, ", end="")
            print(f"peak {peak[0] >> 20:,} MiB, all processes {peak[1] >> 20:,} MiB", flush=True)
            total += last - before if name == _SECOND else 0.0
            name, began, before, peak = phase(corpora), time.perf_counter(), last, (0, 0)
    if process.returncode:
        sys.exit("preparing failed")
    return total


def main() -> None:
    parser = Parser(__doc__)
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="with train.<source>, train.<target>, dev...")
    parser.add_argument("source", metavar="SOURCE", help="what the sources' files end in")
    parser.add_argument("target", metavar="TARGET", help="what the targets' files end in")
    parser.add_argument("settings", nargs="*", metavar="key=value", help="further options of the preparation")
    options = parser.parse_args()
    folder, source, target, settings = options.folder, options.source, options.target, options.settings
    with tempfile.TemporaryDirectory() as temporary:
        corpora = Path(temporary)
        text = [f"dataset.folder={folder}", f"dataset.source={source}", f"dataset.target={target}"]
        ours = prepared(corpora, [*text, *settings])
        made = next(corpora.glob("files-*"))
        corpus = Corpus.open(made)
        size = sum(path.stat().st_size for path in made.rglob("*") if path.is_file())
        print(f"disk {size / corpus.meta['counts']['train']:.0f} bytes a pair")
        seconds, count = 0.0, 0
        for side, tokenizer in zip((source, target), corpus.tokenizers, strict=True):
            lines = file_lines(Path(folder, f"train.{side}"))
            while texts := list(itertools.islice(lines, 5_000)):
                began = time.process_time()
                tokenizer._processor.encode(texts, out_type=int, add_eos=True, num_threads=1)
                seconds, count = seconds + time.process_time() - began, count + len(texts)
        print(f"plain SentencePiece: processors {seconds:.1f} s, {count / 2 / seconds:,.0f} pairs per second and core")
        print(f"clean and encode: {count / 2 / ours:,.0f} pairs per second and core, {ours / seconds:.2f} times plain")


if __name__ == "__main__":
    main()
