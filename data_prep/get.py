"""`mt get NAME DIR`: downloads a public data set from where its owners keep it, checks it, and cuts its splits.

public.json has the sets: address, licence, SHA-256 of what is downloaded or of what comes out, and how splits are cut
(`data_prep.cuts`). A cut that was drawn by chance is repeated by keys/: a hash for each pair of dev and test.
"""

import contextlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from data_prep.cuts import CUTS, HERE, DamagedError, recordings_sum
from data_prep.download import download
from mt.common.input_files import sha256
from mt.common.options import Digest, Options, parse_json
from mt.common.terminal import say
from mt.errors import UserError, nearest, shown
from mt.storage import locked, replaced_folder, require_new, write_json


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
    return parse_json((HERE / "public.json").read_bytes(), PublicSets, "public.json")


def get(name: str, folder: Path, mirror: str | None = None) -> PublicSet:
    """Makes the splits of a public set in a new folder.

    mirror: address of a folder that has the files to download. Raises UserError where the set is unknown, or where the
    network or the disk fails. Damaged files are removed, and no folder is made.
    """
    # Refuse what cannot be made before anything is downloaded.
    public = known()
    if name in public.elsewhere:
        raise UserError(f"mt get does not make {name}, which comes from {public.elsewhere[name]}")
    if name not in public.sets:
        raise UserError(f"there is no public set {shown(name)}: {nearest(name, public.sets)}")
    require_new(folder)
    # One process at a time makes a folder.
    chosen = public.sets[name]
    folder.parent.mkdir(parents=True, exist_ok=True)
    with locked(folder.with_name(f".{folder.name}.lock"), lambda: say(f"waiting for another mt get in {folder}")):
        if folder.exists():
            raise UserError(f"{folder} was made by another mt get meanwhile: name a new folder, or use that one")
        for note in _made(name, chosen, folder, mirror):
            say(note)
    return chosen


def _made(name: str, chosen: PublicSet, folder: Path, mirror: str | None) -> list[str]:
    """Downloads a set and cuts its splits. Returns notes for the user."""
    downloads = folder.with_name(f"{folder.name}.downloads")
    downloads.mkdir(exist_ok=True)
    files = {file: downloads / file for file in chosen.urls}
    urls = {file: f"{mirror.rstrip('/')}/{file}" if mirror else url for file, url in chosen.urls.items()}
    try:
        # Everything is downloaded before anything is cut.
        for file, url in urls.items():
            download(url, files[file], chosen.sums.get(file))
        # The folder appears once its splits have the sums of this release.
        with replaced_folder(folder) as draft:
            notes = CUTS[chosen.kind](name, files, draft) or []
            cut_sums = {file: digest for file, digest in chosen.sums.items() if file not in files}
            require_sums(name, files.values(), draft, cut_sums, notes)
            sums = {file: {"url": urls[file], "sha256": sha256(path)} for file, path in files.items()}
            origin = {"set": name, "licence": chosen.licence, "cut": chosen.cut, "downloads": sums, "notes": notes}
            write_json(draft / "origin.json", origin)
        for path in files.values():
            path.unlink()
    except DamagedError as error:
        for path in error.paths:
            path.unlink()
        raise
    finally:
        with contextlib.suppress(OSError):  # files for the next try stay in it
            downloads.rmdir()
    return notes


def require_sums(
    name: str, downloaded: Iterable[Path], folder: Path, sums: Mapping[str, str], notes: Sequence[str]
) -> None:
    """Raises DamagedError where a cut file is empty, or differs from the one that the results of this release use.

    Where notes say that pairs are missing, sums are not compared.
    """
    for path in folder.iterdir():
        if not (any(path.iterdir()) if path.is_dir() else path.stat().st_size):
            raise DamagedError(downloaded, f"{path.name} of {name} would be empty")
    for file, digest in sums.items():
        path = folder / file
        found = recordings_sum(path, downloaded) if path.is_dir() else sha256(path) if path.exists() else "of no file"
        if found != digest and not notes:
            raise DamagedError(
                downloaded,
                f"{file} of {name} has the SHA-256 {found} and not {digest}: its public place has changed since this "
                "release",
            )
