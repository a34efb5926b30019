"""Downloads that are whole or not there, and refuse what is not the file that was asked for."""

import hashlib
import http.client
import re
import urllib.request
from collections.abc import Iterator
from email.message import Message
from http import HTTPStatus
from pathlib import Path

from mt.common.about import VERSION
from mt.common.terminal import Bar
from mt.errors import UserError, message_of, unwritten
from mt.storage import replaced

LARGEST = 1 << 29
"""The most bytes of a download, and of what it unpacks to: ten times the largest set."""
_BLOCK = 1 << 20
_PATIENCE = 60  # seconds that an address may be silent
_PAGE = re.compile(rb"\s*<(!doctype\s+html|html|head|body)\b", re.IGNORECASE)


def download(url: str, path: Path, digest: str | None = None) -> None:
    """Downloads a file, unless it is there already.

    digest: the expected SHA-256 in hex, where it is known. Raises UserError where the download fails, or is another
    file.
    """
    if path.exists():
        return
    total = hashlib.sha256()
    try:
        with replaced(path) as file:
            # The file gets its name only when all of it has come and its sum is right.
            for block in _blocks(url, path.name):
                file.write(block)
                total.update(block)
            if digest is not None and total.hexdigest() != digest:
                raise UserError(
                    f"{url} has the SHA-256 {total.hexdigest()} and not {digest}: it was changed, or damaged on its "
                    "way, and is removed. Repeat the command, or name a folder of copies with --mirror"
                )
    except OSError as error:  # of the disk, which is no fault of the network
        raise UserError(unwritten(path, error, "name a folder that may be written")) from error


def _blocks(url: str, name: str) -> Iterator[bytes]:
    """Yields the blocks of a file at an address. Raises UserError where the answer is no file, or incomplete."""
    headers = {"User-Agent": f"mt/{VERSION}", "Accept-Encoding": "identity"}
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=_PATIENCE) as answer:
            if answer.status not in (None, HTTPStatus.OK):  # None: a file of this machine
                raise ConnectionError(f"it answers with the status {answer.status}")
            _require_file(url, answer.headers)
            # The length, where the server says it, shows progress and an early end.
            length = answer.headers.get("Content-Length", "")
            total = int(length) if length.isdecimal() else None
            size = 0
            with Bar(name, total, "bytes") as bar:
                # A page can come as another type; a server can send more than it says.
                while block := answer.read(_BLOCK):
                    if not size and _PAGE.match(block):
                        raise _page(url)
                    size += len(block)
                    if max(size, total or 0) > LARGEST:
                        raise UserError(
                            f"{url} is larger than any file of a public set ({LARGEST >> 20} MiB): repeat the command "
                            "later, or name a folder of copies with --mirror"
                        )
                    yield block
                    bar.update(len(block))
            if total is not None and size != total:
                raise ConnectionError(f"it ended after {size:,} of {total:,} bytes")
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise UserError(
            f"{url} could not be downloaded ({message_of(error).strip('<>')}): repeat the command when the "
            "network is there, or name a folder of copies with --mirror"
        ) from error


def _require_file(url: str, headers: Message) -> None:
    """Raises UserError where the headers of an answer name a web page, or an encoding."""
    if headers.get_content_type() == "text/html":
        raise _page(url)
    encoding = headers.get("Content-Encoding", "identity").lower()
    if encoding != "identity" and not (encoding == "gzip" and url.endswith(".gz")):
        raise UserError(
            f"{url} comes encoded ({encoding}), which nobody asked for: name a folder of copies with --mirror"
        )


def _page(url: str) -> UserError:
    return UserError(
        f"{url} answers with a web page and not with the file: repeat the command later, "
        "or name a folder of copies with --mirror"
    )
