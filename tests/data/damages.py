"""Damages the files of a prepared corpus in many ways, and reads each copy in a process of its own. Prints how they
ended: `{"read": 40, "sentence": 160}`, or anything else, with the first case of it.

    python -m tests.data.damages CORPUS COPY CASES SEED
"""

import hashlib
import json
import os
import random
import shutil
import signal
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path

from mt.data.batches import batch_order, collate, with_links
from mt.data.corpus import Corpus
from mt.errors import reported

WORDS = (b"\xff\xff\xff\x7f", b"\0\0\0\x80", b"\xff\xff\xff\xff", b"\0\0\0\0", b"\1\0\0\0")
LONGS = (b"\xff" * 7 + b"\x7f", b"\0" * 7 + b"\x80", b"\0" * 5 + b"\1\0\0", b"\xff" * 8, b"\0" * 8)
Damage = Callable[[bytearray, random.Random], None]


def flipped(content: bytearray, rng: random.Random) -> None:
    for _ in range(rng.choice((1, 1, 2, 5, 20))):
        content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)


def overwritten(parts: Sequence[bytes], counts: Sequence[int], step: int = 1, most: int = 1 << 30) -> Damage:
    """Writes some of the parts at places that are multiples of `step` and below `most`."""

    def damage(content: bytearray, rng: random.Random) -> None:
        for _ in range(rng.choice(counts)):
            part = rng.choice(parts)
            place = rng.randrange(min(len(content) - len(part), most) // step) * step
            content[place : place + len(part)] = part

    return damage


def cut(content: bytearray, rng: random.Random) -> None:
    del content[rng.randrange(len(content)) :]


def swapped(content: bytearray, rng: random.Random) -> None:
    one = rng.randrange(len(content) - 64)
    other = rng.randrange(len(content) - 64)
    content[one : one + 64], content[other : other + 64] = content[other : other + 64], content[one : one + 64]


DAMAGES: tuple[Damage, ...] = (
    *(flipped, cut, swapped),
    overwritten([bytes([value]) for value in range(256)], (1, 2, 4), most=2500),
    overwritten(WORDS, (1, 2, 4), step=4),  # as offsets, and the heads of messages, are
    overwritten(LONGS, (1,), step=8, most=4000),  # as lengths in metadata are
    overwritten([bytes(size) for size in (8, 64, 512)], (1,)),
)


def signed(folder: Path) -> None:
    """Records the files as they are now, as somebody does who means harm."""
    meta = json.loads((folder / "meta.json").read_text())
    for name in meta["files"]:
        content = (folder / name).read_bytes()
        meta["files"][name] = {"size": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    (folder / "meta.json").write_text(json.dumps(meta))


def read(folder: Path) -> None:
    """Reads all that training, decoding and drawing read of a corpus."""
    with reported():
        corpus = Corpus.open(folder)
        for name in ("train", "dev", "test"):
            split = corpus.split(name)
            split.digests()
            split.texts(range(len(split)))
            split.links()
            lengths = split.lengths()
            for indices in batch_order(*lengths, max_tokens=2000, seed=1, epoch=1):
                examples = split.read(indices)
                batch = collate(examples.pairs, split.source)
                for ids in examples.targets:
                    corpus.tokenizers.target.decode([int(piece) for piece in ids])
                for row in examples.sources if split.source.written else ():
                    corpus.tokenizers.source.decode([int(piece) for piece in row])
                if examples.links is not None:
                    with_links(batch, examples.links)


def end_of(folder: Path, log: Path) -> str:
    """Reads a corpus in a process of its own. Returns how that ended."""
    process = os.fork()
    if not process:
        signal.alarm(60)
        descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(descriptor, 2)
        sys.stderr = open(2, "w", closefd=False)  # noqa: SIM115
        status = 0
        try:
            read(folder)
        except SystemExit as error:
            status = int(error.code or 0)
        except BaseException:
            traceback.print_exc()
            status = 9
        sys.stderr.flush()
        os._exit(status)
    status = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    said = log.read_text(errors="replace")
    if status == 0:
        return "read"
    if status == 2 and said.startswith("error: ") and said.count("\n") == 1:
        return "sentence"
    return f"status {status}: {said[-300:]}"


def main(corpus: Path, copy: Path, cases: int, seed: int) -> None:
    rng = random.Random(seed)
    files = sorted(corpus.glob("*/data-*.arrow"))
    ends: dict[str, int] = {}
    for number in range(cases):
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(corpus, copy)
        path = copy / rng.choice(files).relative_to(corpus)
        content = bytearray(path.read_bytes())
        DAMAGES[number % len(DAMAGES)](content, rng)
        path.write_bytes(content)
        signed(copy)
        end = end_of(copy, copy.with_name("log"))
        ends[end] = ends.get(end, 0) + 1
    print(json.dumps(ends))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))
