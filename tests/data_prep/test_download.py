"""Downloads from servers that keep to HTTP and from such as do not: the right file in the end, or one sentence and
nothing left that the same command would take for the file."""

import gc
import http.server
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import data_prep.download
from data_prep.download import download
from mt.errors import UserError
from tests.refusals.sentences import require_refusal

OLD = b"".join(b"old line %d\n" % number for number in range(3000))
NEW = b"".join(b"new line %d\n" % number for number in range(2000))
HALF = 5000

# urllib leaves the sockets of answers that it cannot read to the collector.
UNCLOSED = ("ignore:unclosed:ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
pytestmark = [*map(pytest.mark.filterwarnings, UNCLOSED)]

Answer = Callable[["Place"], None]


class Place(http.server.BaseHTTPRequestHandler):
    """Answers each request as the next of `answers` says, and the last one again and again."""

    answers: list[Answer] = []  # noqa: RUF012
    asked = 0

    def do_GET(self) -> None:
        Place.asked += 1
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


def raw(text: bytes) -> Answer:
    def give(place: Place) -> None:
        place.wfile.write(text)
        place.close_connection = True

    return give


@pytest.fixture(scope="module", autouse=True)
def no_sockets() -> Iterator[None]:
    """None is left for tests of other modules, in which warnings of them are errors."""
    yield
    gc.collect()


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setattr(data_prep.download, "_PATIENCE", 5)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Place) as place:
        place.daemon_threads = True
        Place.asked = 0
        thread = threading.Thread(target=place.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{place.server_port}/text.en"
        place.shutdown()
        thread.join()


def test_a_download_is_whole_or_not_there(server: str, tmp_path: Path) -> None:
    Place.answers = [answer(OLD, sent=HALF), answer(NEW)]
    with pytest.raises(UserError, match=rf"text.en could not be downloaded \(it ended after 5,000 of {len(OLD):,} byt"):
        download(server, tmp_path / "text.en")
    assert [*tmp_path.iterdir()] == []
    for _ in range(2):
        download(server, tmp_path / "text.en")
    assert (tmp_path / "text.en").read_bytes() == NEW and Place.asked == 2


PAGE = b"\n<!DOCTYPE html><html><body>Please log in</body></html>"


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (answer(PAGE, Content_Type="text/html; charset=utf-8"), "answers with a web page and not with the file: "),
        (answer(PAGE, Content_Type="application/zip"), "answers with a web page"),
        (answer(OLD, Content_Encoding="br"), r"comes encoded \(br\), which nobody asked for"),
        (answer(OLD * 100, Content_Length=""), r"is larger than any file of a public set \(1 MiB\)"),
        (answer(OLD * 100), r"is larger than any file of a public set \(1 MiB\)"),
        (answer(OLD, 204), r"could not be downloaded \(it answers with the status 204\): repeat the command when"),
        (answer(OLD, 206, Content_Range="bytes 0-9/9"), r"could not be downloaded \(it answers with the status 206\)"),
        (answer(OLD, 404), r"could not be downloaded \(HTTP Error 404: Not Found\)"),
        (answer(b"", 302, Location="/text.en"), r"could not be downloaded \(HTTP Error 302"),
        (answer(b"", 302, Location="javascript:x"), "could not be downloaded"),
        (answer(b"", 302, Location="http://[x"), "could not be downloaded"),
        (answer(b"x" * 9, Content_Length="", Transfer_Encoding="chunked"), "could not be downloaded"),
        (raw(b""), "could not be downloaded"),
        (raw(b"HTTP/1.1 OK\r\n\r\n"), "could not be downloaded"),
        (raw(b"HTTP/1.1 200 OK\r\n" + b"X: " + b"y" * 70_000 + b"\r\n\r\n"), "could not be downloaded"),
        (raw(b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 200 + b"\r\n"), "could not be downloaded"),
    ],
)
def test_what_is_not_the_file_leaves_nothing(given, sentence, server, tmp_path, monkeypatch):
    monkeypatch.setattr(data_prep.download, "LARGEST", 1 << 20)
    Place.answers = [given]
    with pytest.raises(UserError, match=sentence) as refusal:
        download(server, tmp_path / "text.en")
    assert "\n" not in str(refusal.value) and [*tmp_path.iterdir()] == []
    Place.answers = [answer(NEW)]
    download(server, tmp_path / "text.en")
    assert (tmp_path / "text.en").read_bytes() == NEW


def test_a_silent_address_is_not_waited_for(server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data_prep.download, "_PATIENCE", 0.1)
    done = threading.Event()
    Place.answers = [lambda it: (answer(OLD, sent=9)(it), setattr(it, "close_connection", False), done.wait(9))]
    require_refusal(lambda: download(server, tmp_path / "text.en"), r"could not be downloaded \(.*timed out.*\)")
    done.set()


def test_a_folder_that_takes_no_file_is_no_network(server: str, tmp_path: Path) -> None:
    Place.answers = [answer(OLD)]
    with pytest.raises(UserError, match=r"none/text.en cannot be written \(No such file or directory\): name a"):
        download(server, tmp_path / "none" / "text.en")
