"""Commands of docs/layouts.md and docs/data.md write the tables that they promise, from files in layouts of others."""

import json
import re
import shutil
import textwrap
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.processes import run_shell

PAGE = Path(__file__).parents[1] / "docs" / "layouts.md"
STM = "a 1 {who} {begin} {end} <o,f0,male> {text}\n"
MANIFEST = [
    {"audio_filepath": "wav/a.wav", "text": "one  two", "duration": 1.5},
    {"audio_filepath": "wav/b.wav", "text": 'a "word"', "offset": 2.25, "duration": 1e-05},
]
CAPTIONS = {
    "images": [{"id": 7, "file_name": "b.jpg"}, {"id": 3, "file_name": "a.jpg"}],
    "annotations": [{"image_id": 3, "id": 1, "caption": "A dog\n"}, {"image_id": 7, "id": 2, "caption": 'A "cat" .'}],
}
SPLITS = [
    {"split": split, "filename": f"{split}.jpg", "sentences": [{"raw": f"{split} one"}, {"raw": f"{split}\ntwo"}]}
    for split in ("train", "restval", "val", "test")
]
FILES = {
    "LibriSpeech": {
        "train-clean-100/19/198/19-198.trans.txt": "19-198-0000 ONE DAY\n19-198-0001 IT'S 'ERE & THERE\n",
    },
    "LJSpeech": {
        "metadata.csv": 'LJ001-0001|In 1 sense, "so"|In one sense, "so"\nLJ001-0002|"All of it"|"All of it"\n',
    },
    "VCTK": {
        "txt/p225/p225_001.txt": "Please call Stella. \n",
        "txt/p225/p225_002.txt": "Ask 100% of them\\n",
        "txt/p315/p315_001.txt": "It was never recorded.\n",
        "wav48_silence_trimmed/p225/p225_001_mic1.flac": "",
        "wav48_silence_trimmed/p225/p225_002_mic1.flac": "",
    },
    "TED-LIUM": {
        "train/stm/a.stm": ";; a comment\n"
        + STM.format(who="a", begin="0.50", end="2.00", text="i 'm <unk> here")
        + STM.format(who="inter_segment_gap", begin="2.00", end="3.00", text="ignore_time_segment_in_scoring")
        + STM.format(who="a", begin="3.00", end="4.25", text="now"),
    },
    "Kaldi": {
        "train/wav.scp": "rec-1 /data/a b.wav\nrec-2 sph2pipe -f wav c.sph |\n",
        "train/segments": "s-1 rec-1 0.00 1.50\ns-2 rec-1 1.50 2\ns-3 rec-2 0 1\n",
        "train/text": "s-1 one two\ns-2\ns-3 three\n",
    },
    "NeMo": {"train_manifest.json": "".join(f"{json.dumps(row)}\n" for row in MANIFEST)},
    "MuST-C": {
        "data/train/txt/train.yaml": "- {duration: 1.5, offset: 2.25, rW: 2, uW: 0, speaker_id: spk.1, wav: a.wav}\n",
        "data/train/txt/train.en": "Good\u2028morning.\n",
        "data/train/txt/train.de": "Guten Morgen.\n",
    },
    "COCO": {"annotations/captions_train2014.json": json.dumps(CAPTIONS)},
    "Karpathy's splits": {"dataset_coco.json": json.dumps({"images": SPLITS, "dataset": "coco"})},
    "Flickr8k": {
        "Flickr_8k.trainImages.txt": "b.jpg\r\n",
        "Flickr8k.token.txt": "a.jpg#0\tA dog .\nb.jpg#0\tThe #1 cat .\nb.jpg#1\tA cat .\nb.jpg.1#0\tNo picture .\n",
    },
    "Flickr30k": {
        "results.csv": "image_name| comment_number| comment\na.jpg| 0| Two | three dogs .\na.jpg| 4   A dog runs .\n",
    },
    "Two texts": {"train.source": "A b .\n", "train.target": "A .<q>B .\n"},
}
TABLES = {
    "LibriSpeech": "path\ttext\n"
    "train-clean-100/19/198/19-198-0000.flac\tONE DAY\n"
    "train-clean-100/19/198/19-198-0001.flac\tIT'S 'ERE & THERE\n",
    "LJSpeech": 'path\ttext\nwavs/LJ001-0001.wav\tIn one sense, "so"\nwavs/LJ001-0002.wav\t"All of it"\n',
    "VCTK": "path\ttext\n"
    "wav48_silence_trimmed/p225/p225_001_mic1.flac\tPlease call Stella. \n"
    "wav48_silence_trimmed/p225/p225_002_mic1.flac\tAsk 100% of them\\n\n",
    "TED-LIUM": "path\ttext\ntrain/sph/a.sph#t=0.50,2.00\ti 'm <unk> here\ntrain/sph/a.sph#t=3.00,4.25\tnow\n",
    "Kaldi": "path\ttext\n"
    "/data/a b.wav#t=0.00,1.50\tone two\n"
    "/data/a b.wav#t=1.50,2\t\n"
    "sph2pipe -f wav c.sph |#t=0,1\tthree\n",
    "NeMo": 'path\ttext\nwav/a.wav#t=0.000,1.500\tone two\nwav/b.wav#t=2.250,2.250\ta "word"\n',
    "MuST-C": "path\ten\tde\ndata/train/wav/a.wav#t=2.250,3.750\tGood morning.\tGuten Morgen.\n",
    "COCO": 'path\tcaption\ntrain2014/a.jpg\tA dog\ntrain2014/b.jpg\tA "cat" .\n',
    "Karpathy's splits": "path\tcaption\n"
    "train.jpg\ttrain one\ntrain.jpg\ttrain two\nrestval.jpg\trestval one\nrestval.jpg\trestval two\n",
    "Flickr8k": "path\tcaption\nb.jpg\tThe #1 cat .\nb.jpg\tA cat .\n",
    "Flickr30k": "path\tcaption\na.jpg\tTwo | three dogs .\na.jpg\tA dog runs .\n",
    "Two texts": '{"article": "A b .", "highlights": "A .\\nB ."}\n',
}


def command_of(name: str, page: Path = PAGE) -> str:
    """The lines of code after the paragraph that begins with a name."""
    text = page.read_text(encoding="utf-8")
    found = re.search(rf"^\**{re.escape(name)}\b.*\n\n((?: {{4}}.*\n)+)", text, re.MULTILINE)
    assert found, name
    return textwrap.dedent(found[1])


def run(command: str, folder: Path) -> None:
    run_shell(command.replace("DIR", str(folder)), folder)


@pytest.fixture
def folder(name: str, tmp_path: Path) -> Path:
    if shutil.which("awk") is None:
        pytest.skip("there is no awk here")
    for file, text in FILES[name].items():
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_bytes(text.encode())
    return tmp_path


@pytest.mark.parametrize("name", [*FILES])
def test_a_command_of_the_page_writes_the_table(name: str, folder: Path) -> None:
    run(command_of(name), folder)
    (table,) = [*folder.glob("train.[tj]s*"), *folder.glob("all.tsv")]
    assert table.read_bytes().decode() == TABLES[name]


@pytest.mark.parametrize("name", ["Karpathy's splits"])
def test_the_splits_of_karpathy_are_three_tables(folder: Path) -> None:
    run(command_of("Karpathy's splits"), folder)
    assert (folder / "dev.tsv").read_text() == "path\tcaption\nval.jpg\tval one\nval.jpg\tval two\n"
    assert (folder / "test.tsv").read_text() == "path\tcaption\ntest.jpg\ttest one\ntest.jpg\ttest two\n"


@pytest.mark.parametrize("name", ["Kaldi"])
def test_without_segments_an_utterance_is_a_whole_sound(folder: Path) -> None:
    (folder / "train/segments").unlink()
    (folder / "train/text").write_text("rec-1 one two\nrec-3 three\n")
    run(command_of("Kaldi"), folder)
    assert (folder / "train.tsv").read_text() == "path\ttext\n/data/a b.wav\tone two\n\tthree\n"


@pytest.mark.parametrize("name", ["Kaldi"])
def test_commands_in_the_place_of_paths_are_run(folder: Path) -> None:
    (folder / "train/wav.scp").write_text("rec-1 cat train/text | tail -n 1 |\nrec-2 false |\nrec-3 cat |\n")
    run(f"cd DIR; {command_of('Commands')}", folder)
    assert (folder / "train/wav.scp").read_text() == "rec-1 sounds/rec-1.wav\nrec-3 sounds/rec-3.wav\n"
    assert (folder / "sounds/rec-1.wav").read_text() == "s-3 three\n"


def test_cells_with_pictures_become_files_and_a_line_for_each_text(tmp_path: Path) -> None:
    pictures = [{"bytes": b"one", "path": "x.JPG"}, {"bytes": b"two", "path": None}, {"bytes": b"three", "path": None}]
    texts = [["A dog\n", "A\tcat"], ["A tree"], [None]]
    pq.write_table(pa.table({"image": pictures, "caption": texts}), tmp_path / "train.parquet")
    command = command_of("Repositories of the hub keep", PAGE.with_name("data.md"))
    run(command.replace("audio text", "image caption"), tmp_path)
    lines = [
        "path\ttext",
        "train/0000000.JPG\tA dog",
        "train/0000000.JPG\tA cat",
        "train/0000001\tA tree",
        "train/0000002\t",
    ]
    assert (tmp_path / "train.tsv").read_text() == "\n".join([*lines, ""])
    assert (tmp_path / "train/0000001").read_bytes() == b"two"


LINES = b'{"en":"a","de":"\xc3\xbc"}\n'


@pytest.mark.parametrize(
    ("old", "content", "expected"),
    [
        ("semicolons", '\ufeffen;de\r\n"a;b, c";"x\n""y"""\r\n'.encode(), b'en,de\r\n"a;b, c","x\n""y"""\r\n'),
        ("UTF-16", "en\tde\r\na\tü\r\n".encode("utf-16"), b"en\tde\r\na\t\xc3\xbc\r\n"),
        ("another encoding", "en,de\na,„ü“\n".encode("cp1252"), "en,de\na,„ü“\n".encode()),
        ("objects within objects", '{"id": 1, "data": {"en": "a", "de": "ü"}}\n'.encode(), LINES),
        ("a list within an object", b'{"data": [{"en": "a",\n"de": "\\u00fc"}]}', LINES),
    ],
)
def test_tables_that_are_not_read_are_written_anew(old: str, content: bytes, expected: bytes, tmp_path: Path) -> None:
    page = (PAGE.parent / "data.md").read_text(encoding="utf-8")
    command, old_name, new_name = re.findall(rf"\| [^|]*{old}[^|]* \| `(.* (old\.\w+) > (train\.\w+))` \|", page)[0]
    if shutil.which(command.split()[0]) is None:
        pytest.skip(f"there is no {command.split()[0]} here")
    (tmp_path / old_name).write_bytes(content)
    run_shell(command, tmp_path)
    assert (tmp_path / new_name).read_bytes() == expected
