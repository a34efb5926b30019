"""Downloads that go on where they stopped, and refuse what is not the file that was asked for.

Beside a file that comes, `NAME.part`, lies `NAME.json`, with its address and version. A download goes on where the
server still has that version (If-Range, RFC 9110, section 13.1.5), or where a sum will tell. Whatever turns out to be
wrong is removed, so that the same command asks again.
"""

import contextlib
import http.client
import re
import urllib.error
import urllib.request
from collections.abc import Iterator
from email.message import Message
from http import HTTPStatus
from pathlib import Path
from typing import Any, BinaryIO

from mt.common.about import VERSION
from mt.common.input_files import parse_json, read_text, sha256
from mt.common.terminal import Bar
from mt.errors import UserError, message_of, unwritten
from mt.storage import write_json

LARGEST = 1 << 29
"""The most bytes of a download, and of what it unpacks to: ten times the largest set."""
_BLOCK = 1 << 20
_PATIENCE = 60  # seconds that an address may be silent
_PAGE = re.compile(rb"\s*<(!doctype\s+html|html|head|body)\b", re.IGNORECASE)
_RANGE = re.compile(r"bytes (?:(\d+)-\d+|\*)/(\d+|\*)")
"""Content-Range: the first byte (none where the range was refused), and the length of the whole file."""


class WrongFileError(UserError):
    """An address answers with something else than the file."""


def download(url: str, path: Path, digest: str | None = None) -> None:
    """Downloads a file, from where an earlier attempt stopped; nothing where it is there already, of this address.

    digest: its SHA-256 in hex, where it is known. Raises UserError where it cannot be had.
    """
    part = path.with_name(f"{path.name}.part")
    if _record(path).get("url") != url:
        remove(path)
    if path.exists():
        return
    try:
        _fetch(url, path, part, known_sum=digest is not None)
    except WrongFileError:
        remove(path)
        raise
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise UserError(
            f"{url} could not be downloaded ({message_of(error).strip('<>')}): repeat the command when the "
            "network is there, or name a folder of copies with --mirror"
        ) from error
    if digest is not None and (found := sha256(part)) != digest:
        remove(path)
        raise UserError(
            f"{url} has the SHA-256 {found} and not {digest}: it was changed, or damaged on its way, and is removed. "
            "Repeat the command, or name a folder of copies with --mirror"
        )
    part.replace(path)


def remove(path: Path) -> None:
    """Removes a file, what has come of it, and what is known of it."""
    for name in (path.name, f"{path.name}.part", f"{path.name}.json"):
        path.with_name(name).unlink(missing_ok=True)


def _record(path: Path) -> dict[str, Any]:
    """Returns the address and the version of what has come of a file."""
    with contextlib.suppress(OSError, ValueError):
        record = parse_json(read_text(path.with_name(f"{path.name}.json")))
        return record if isinstance(record, dict) else {}
    return {}


def _fetch(url: str, path: Path, part: Path, *, known_sum: bool) -> None:
    """Downloads what a file lacks; all of it where nobody says that what is here belongs to it."""
    begun = part.stat().st_size if part.exists() else 0
    version = _record(path).get("version")
    headers = {"User-Agent": f"mt/{VERSION}", "Accept-Encoding": "identity"}
    if begun and (version or known_sum):
        headers |= {"Range": f"bytes={begun}-"} | ({"If-Range": str(version)} if version else {})
    else:
        begun = 0
    try:
        answer = urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=_PATIENCE)
    except urllib.error.HTTPError as error:
        if error.code != HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE or not begun:
            raise
        error.close()
        # Either all of it is here, or it was longer once.
        if _range(error.headers)[1] != begun:
            remove(path)
            _fetch(url, path, part, known_sum=known_sum)
        return
    with answer:
        if answer.status == HTTPStatus.PARTIAL_CONTENT and begun:
            first, total = _range(answer.headers)
            if first != begun or _version(answer.headers) not in (None, version):
                remove(path)
                _fetch(url, path, part, known_sum=known_sum)
                return
        elif answer.status in (None, HTTPStatus.OK):  # None: a file of this machine
            begun = 0
            length = answer.headers.get("Content-Length", "")
            total = int(length) if length.isdecimal() else None
            version = _version(answer.headers)
        else:
            raise ConnectionError(f"it answers with the status {answer.status}")
        _require_file(url, answer.headers, total)
        _append(url, answer, part, begun, total, {"url": url, "version": version})


def _append(
    url: str, answer: http.client.HTTPResponse, part: Path, begun: int, total: int | None, record: dict[str, Any]
) -> None:
    """Writes what comes behind the first `begun` bytes, and first what it is."""
    with _writable(part):
        write_json(part.with_suffix(".json"), record)
        file = part.open("ab" if begun else "wb")
    size = begun
    with _closed(file, part), Bar(part.stem, total, "bytes", done=begun) as bar:
        while block := answer.read(_BLOCK):
            if not size and _PAGE.match(block):
                raise _page(url)
            size += len(block)
            if size > LARGEST:
                raise _too_large(url)
            with _writable(part):
                file.write(block)
            bar.update(len(block))
    if total is not None and size != total:
        raise ConnectionError(f"it ended after {size:,} of {total:,} bytes")


@contextlib.contextmanager
def _closed(file: BinaryIO, part: Path) -> Iterator[None]:
    """Closes a file, whose last bytes the disk may refuse; of two errors the first one counts."""
    try:
        yield
    except BaseException:
        with contextlib.suppress(OSError):
            file.close()
        raise
    with _writable(part):
        file.close()


@contextlib.contextmanager
def _writable(path: Path) -> Iterator[None]:
    """Makes a sentence of what the disk refuses, which is no fault of the network."""
    try:
        yield
    except OSError as error:
        raise UserError(
            f"{unwritten(path, error, 'name a folder that may be written')}; the same command goes on"
        ) from error


def _require_file(url: str, headers: Message, total: int | None) -> None:
    """Raises UserError where an answer says that it is a page, encoded, or larger than any set."""
    if headers.get_content_type() == "text/html":
        raise _page(url)
    encoding = headers.get("Content-Encoding", "identity").lower()
    if encoding != "identity" and not (encoding == "gzip" and url.endswith(".gz")):
        raise WrongFileError(
            f"{url} comes encoded ({encoding}), which nobody asked for: name a folder of copies with --mirror"
        )
    if total is not None and total > LARGEST:
        raise _too_large(url)


def _page(url: str) -> WrongFileError:
    return WrongFileError(
        f"{url} answers with a web page and not with the file: repeat the command later, "
        "or name a folder of copies with --mirror"
    )


def _too_large(url: str) -> WrongFileError:
    return WrongFileError(
        f"{url} is larger than any file of a public set ({LARGEST >> 20} MiB): repeat the command later, "
        "or name a folder of copies with --mirror"
    )


def _version(headers: Message) -> str | None:
    """Returns what tells one version of a file from the next: a strong ETag, else the time of its last change."""
    tag = headers.get("ETag", "")
    return tag if tag.startswith('"') else headers.get("Last-Modified")


def _range(headers: Message) -> tuple[int | None, int | None]:
    """Returns the first byte of an answer and the length of the whole file, as far as they are told."""
    match = _RANGE.fullmatch(headers.get("Content-Range", "").strip())
    if match is None:
        return None, None
    first, total = match.groups()
    return int(first) if first else None, None if total == "*" else int(total)
