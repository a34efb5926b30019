"""Downloads from servers that keep to HTTP and from such as do not: the right file in the end, or one sentence and
nothing left that the same command would take for the file."""

import gc
import http.server
import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import data_prep.download
from data_prep.download import download
from mt.common.input_files import sha256
from mt.errors import UserError

OLD = b"".join(b"old line %d\n" % number for number in range(3000))
NEW = b"".join(b"new line %d\n" % number for number in range(2000))
HALF = 5000

# urllib leaves the sockets of answers that it cannot read to the collector.
pytestmark = [
    pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

Answer = Callable[["Place"], None]


class Place(http.server.BaseHTTPRequestHandler):
    """Answers each request as the next of `answers` says, and the last one again and again."""

    answers: list[Answer] = []  # noqa: RUF012
    asked: list[tuple[str | None, str | None]] = []  # noqa: RUF012

    def do_GET(self) -> None:
        Place.asked.append((self.headers["Range"], self.headers["If-Range"]))
        (Place.answers.pop(0) if len(Place.answers) > 1 else Place.answers[0])(self)

    def log_message(self, *_: object) -> None: ...


def answer(content: bytes = b"", status: int = 200, sent: int | None = None, **headers: str) -> Answer:
    """An answer of these headers (`_` stands for `-`), of which only some bytes are sent."""

    def give(place: Place) -> None:
        place.send_response(status)
        for name, value in ({"Content_Length": str(len(content))} | headers).items():
            if value:
                place.send_header(name.replace("_", "-"), value)
        place.end_headers()
        place.wfile.write(content[:sent])
        place.close_connection = True

    return give


def ranged(content: bytes, tag: str, range_of: str = "") -> Answer:
    """A server that knows ranges and versions, as RFC 9110 has it. range_of: a wrong Content-Range."""

    def give(place: Place) -> None:
        begin = int((place.headers["Range"] or "bytes=0-")[6:-1])
        if not begin or place.headers["If-Range"] not in (None, tag):
            answer(content, ETag=tag)(place)
        elif begin >= len(content):
            answer(b"", 416, Content_Range=f"bytes */{len(content)}")(place)
        else:
            answer(content[begin:], 206, ETag=tag, Content_Range=f"bytes {begin}-{len(content) - 1}/{len(content)}")(
                place
            )

    return give


def raw(text: bytes) -> Answer:
    def give(place: Place) -> None:
        place.wfile.write(text)
        place.close_connection = True

    return give


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setattr(data_prep.download, "_PATIENCE", 5)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Place) as place:
        place.daemon_threads = True
        Place.asked = []
        thread = threading.Thread(target=place.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{place.server_port}/text.en"
        place.shutdown()
        thread.join()
    gc.collect()  # the sockets


BEGUN = answer(OLD, sent=HALF, ETag='"1"')


@pytest.mark.parametrize(
    ("second", "right"),
    [
        (ranged(OLD, '"1"'), OLD),
        (ranged(NEW, '"2"'), NEW),
        # Servers that know no If-Range, or no ranges.
        (answer(NEW[HALF:], 206, ETag='"2"', Content_Range=f"bytes {HALF}-{len(NEW) - 1}/{len(NEW)}"), NEW),
        (answer(NEW), NEW),
        (answer(OLD[HALF:], 206, ETag='"1"', Content_Range=f"bytes 4000-{len(OLD) - 1}/{len(OLD)}"), OLD),
        (answer(OLD[HALF:], 206, ETag='"1"'), OLD),
        (answer(b"", 416, Content_Range="bytes */4000"), NEW),
        (answer(b"", 416), NEW),
    ],
)
def test_a_download_goes_on_or_begins_anew(second: Answer, right: bytes, server: str, tmp_path: Path) -> None:
    Place.answers = [BEGUN]
    with pytest.raises(UserError, match=rf"text.en could not be downloaded \(it ended after 5,000 of {len(OLD):,} byt"):
        download(server, tmp_path / "text.en")
    Place.answers = [second, answer(right, ETag='"3"')]
    download(server, tmp_path / "text.en")
    assert (tmp_path / "text.en").read_bytes() == right
    assert Place.asked[:2] == [(None, None), (f"bytes={HALF}-", '"1"')]


def test_all_of_it_had_come(server: str, tmp_path: Path) -> None:
    Place.answers = [BEGUN]
    with pytest.raises(UserError):
        download(server, tmp_path / "text.en")
    (tmp_path / "text.en.part").write_bytes(OLD)  # a kill just before it got its name
    Place.answers = [ranged(OLD, '"1"')]
    download(server, tmp_path / "text.en")
    assert (tmp_path / "text.en").read_bytes() == OLD and len(Place.asked) == 2


@pytest.mark.parametrize("known", [True, False])
def test_without_a_version_a_sum_tells(known: bool, server: str, tmp_path: Path) -> None:
    (tmp_path / "right").write_bytes(OLD)
    digest = sha256(tmp_path / "right") if known else None
    Place.answers = [answer(OLD, sent=HALF)]
    with pytest.raises(UserError):
        download(server, tmp_path / "text.en", digest)
    Place.answers = [ranged(OLD, '"1"')]
    # What has no version here begins anew where the server names one.
    download(server, tmp_path / "text.en", digest)
    assert (tmp_path / "text.en").read_bytes() == OLD
    assert [asked for asked, _ in Place.asked][1] == (f"bytes={HALF}-" if known else None)


def test_a_file_of_another_address_is_not_taken(server: str, tmp_path: Path) -> None:
    Place.answers = [answer(OLD)]
    download(server, tmp_path / "text.en")
    download(server, tmp_path / "text.en")
    assert len(Place.asked) == 1
    Place.answers = [answer(NEW)]
    download(f"{server}.gz", tmp_path / "text.en")
    assert (tmp_path / "text.en").read_bytes() == NEW


PAGE = b"\n<!DOCTYPE html><html><body>Please log in</body></html>"


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (
            answer(PAGE, Content_Type="text/html; charset=utf-8"),
            "answers with a web page and not with the file: ",
        ),
        (answer(PAGE, Content_Type="application/zip"), "answers with a web page"),
        (answer(OLD, Content_Encoding="br"), r"comes encoded \(br\), which nobody asked for"),
        (answer(OLD * 100, Content_Length=""), r"is larger than any file of a public set \(1 MiB\)"),
        (answer(OLD * 100), r"is larger than any file of a public set \(1 MiB\)"),
        (answer(OLD, 204), r"could not be downloaded \(it answers with the status 204\): repeat the command when"),
        (answer(OLD, 206, Content_Range="bytes 0-9/9"), r"could not be downloaded \(it answers with the status 206\)"),
        (answer(OLD, 404), r"could not be downloaded \(HTTP Error 404: Not Found\)"),
        (answer(OLD, 416), r"could not be downloaded \(HTTP Error 416"),
        (answer(OLD, 503, Retry_After="3"), r"could not be downloaded \(HTTP Error 503"),
        (answer(b"", 302, Location="/text.en"), r"could not be downloaded \(HTTP Error 302"),
        (answer(b"", 302, Location="javascript:x"), "could not be downloaded"),
        (answer(b"", 302, Location="http://[x"), "could not be downloaded"),
        (answer(b"x" * 9, Content_Length="", Transfer_Encoding="chunked"), "could not be downloaded"),
        (raw(b""), "could not be downloaded"),
        (raw(b"HTTP/1.1 OK\r\n\r\n"), "could not be downloaded"),
        (raw(b"SSH-2.0-OpenSSH\r\n"), "could not be downloaded"),
        (raw(b"HTTP/1.1 200 OK\r\n" + b"X: " + b"y" * 70_000 + b"\r\n\r\n"), "could not be downloaded"),
        (raw(b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 200 + b"\r\n"), "could not be downloaded"),
    ],
)
def test_what_is_not_the_file_leaves_nothing(
    given: Answer, sentence: str, server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(data_prep.download, "LARGEST", 1 << 20)
    Place.answers = [given]
    with pytest.raises(UserError, match=sentence) as refusal:
        download(server, tmp_path / "text.en")
    assert "\n" not in str(refusal.value) and not (tmp_path / "text.en").exists()
    Place.answers = [answer(NEW)]
    download(server, tmp_path / "text.en")
    assert (tmp_path / "text.en").read_bytes() == NEW


def test_a_silent_address_is_not_waited_for(server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data_prep.download, "_PATIENCE", 0.1)
    done = threading.Event()
    Place.answers = [
        lambda place: (answer(OLD, sent=9)(place), setattr(place, "close_connection", False), done.wait(9))
    ]
    with pytest.raises(UserError, match=r"could not be downloaded \(.*timed out.*\)"):
        download(server, tmp_path / "text.en")
    done.set()


def test_a_full_disk_is_no_network(server: str, tmp_path: Path) -> None:
    (tmp_path / "text.en.part").symlink_to("/dev/full")
    (tmp_path / "text.en.json").write_text(json.dumps({"url": server}))
    Place.answers = [answer(OLD)]
    with pytest.raises(UserError, match=r"text.en.part cannot be written \(No space left on device\): free disk space"):
        download(server, tmp_path / "text.en")
