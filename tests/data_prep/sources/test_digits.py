from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from data_prep.prepare import prepare
from data_prep.sources import open_source
from data_prep.sources.digits import WORDS, joined
from mt.data.corpus import SPLITS, Corpus
from mt.data.dataset import DatasetConfig
from mt.errors import UserError
from tests.data_prep.small import RATE, sound_config

soundfile = pytest.importorskip("soundfile", reason="needs the extra `speech`")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ten recordings of each of three digits by each of two speakers; a digit has a level, an index a length."""
    folder = tmp_path_factory.mktemp("recordings")
    for speaker in ("ann", "bob"):
        for digit in range(3):
            for index in range(10):
                ending = "flac" if speaker == "ann" else "wav"
                samples = np.full(400 + 80 * index + 7, 1000 * (digit + 1), dtype=np.int16)
                soundfile.write(folder / f"{digit}_{speaker}_{index}.{ending}", samples, RATE)
    (folder / "notes_on_them.txt").touch()
    return folder


def configured(folder: Path, **digits: Any) -> DatasetConfig:
    return sound_config(
        folder,
        name="digits",
        source="recordings",
        field={"name": "audio", "rate": RATE},
        digits={"train": 40, "dev": 10, "test": 12} | digits,
        tokenizer={"model_type": "word", "vocab_size": 20},
    )


def recordings(source: str) -> list[tuple[int, str, int]]:
    names = [part.split(".")[0].split("_") for part in source.split(" + ")[1::2]]
    return [(int(digit), speaker, int(index)) for digit, speaker, index in names]


def test_strings_are_of_one_speaker_and_of_recordings_that_no_other_split_has(folder: Path) -> None:
    source = open_source(configured(folder))
    used: dict[str, set[tuple[int, str, int]]] = {}
    for split, size in {"train": 40, "dev": 10, "test": 12}.items():
        examples = list(source.splits[split].read())
        assert len(examples) == len(list(source.splits[split].read())) == size
        strings = [recordings(example.source) for example in examples]
        assert [" ".join(WORDS[digit] for digit, _, _ in one) for one in strings] == [e.target for e in examples]
        assert {len(one) for one in strings} <= ({1, 3, 4, 5, 6, 7} if split == "train" else {3, 4, 5, 6, 7})
        assert all(len({speaker for _, speaker, _ in one}) == 1 for one in strings)
        assert {speaker for one in strings for _, speaker, _ in one} == {"ann", "bob"}
        used[split] = {recording for one in strings for recording in one}
    indices = {split: {index for _, _, index in used[split]} for split in SPLITS}
    assert indices == {"test": {0, 1, 2, 3, 4}, "dev": {5, 6, 7}, "train": {8, 9}}


def test_what_is_drawn_depends_on_the_seed_alone(folder: Path) -> None:
    first, again, other = (
        {split: list(open_source(configured(folder, seed=seed)).splits[split].read()) for split in SPLITS}
        for seed in (1, 1, 2)
    )
    assert first == again
    assert all(first[split] != other[split] for split in SPLITS)


def test_single_digits_use_each_recording_once(folder: Path) -> None:
    every = {"lengths": [1, 1], "train": None, "dev": None, "test": None}
    source = open_source(configured(folder, **every))
    assert {split: len(list(source.splits[split].read())) for split in SPLITS} == {"train": 12, "dev": 18, "test": 30}
    counts = Counter(one for split in SPLITS for e in source.splits[split].read() for one in recordings(e.source))
    assert len(counts) == 60 and {*counts.values()} == {1}
    source = open_source(configured(folder, held_out="bob", **every))
    speakers = {s: {one[0][1] for one in (recordings(e.source) for e in source.splits[s].read())} for s in SPLITS}
    assert speakers == {"train": {"ann"}, "dev": {"ann"}, "test": {"bob"}}
    assert {split: len(list(source.splits[split].read())) for split in SPLITS} == {"train": 21, "dev": 9, "test": 30}


def test_the_sound_is_what_is_written_and_the_times_are_where_recordings_lie(folder: Path) -> None:
    config = configured(folder)
    corpus = Corpus.open(prepare(config, folder / "corpora", progress=False))
    for split in SPLITS:
        part = corpus.split(split)
        columns = zip(*(part.column(name) for name in ("source", "target", "links")), strict=True)
        for (source, target, links), (row, _) in zip(columns, part.ids(range(len(part))), strict=True):
            samples = row.ravel()
            now = 0
            quiets = [float(quiet) for quiet in source.split(" + ")[::2]]
            assert all(0.05 <= quiet <= 0.4 for quiet in quiets[1:-1]) and max(quiets) <= 0.4
            times = [tuple(map(int, one.split("-"))) for one in links.split()]
            for word, (begin, end), quiet in zip(target.split(), times, quiets, strict=False):
                assert begin == now + round(1000 * quiet)
                recording = samples[8 * begin : 8 * end]
                # What a recording lacks of its last 10 ms is silence.
                assert {*recording[:-80].tolist()} == {1000 * (WORDS.index(word) + 1)}
                now = end
            assert len(samples) == 8 * (now + round(1000 * quiets[-1]))


def test_quiet_is_noise_no_louder_than_the_quietest_place_or_nothing(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    for digit in (1, 2):
        loud = rng.normal(0, 3000, 1600).astype(np.int16)
        loud[800:960] = rng.normal(0, 50, 160).astype(np.int16)
        soundfile.write(tmp_path / f"{digit}_ann_0.wav", loud, RATE)
    field = configured(tmp_path).field
    levels = []
    for length in range(100):
        source = f"0.{length:02} + 1_ann_0.wav + 1.00 + 2_ann_0.wav + 0.30"
        samples = joined(tmp_path, field, source)
        assert np.array_equal(samples, joined(tmp_path, field, source))
        levels.append(samples[-2400:].astype(float).std())
    assert 20 <= sum(level == 0 for level in levels) <= 46, "a third of the strings have no noise"
    assert 30 < max(levels) < 60


def test_what_cannot_be_joined_is_one_sentence(folder: Path, tmp_path: Path) -> None:
    def refusal(folder: Path, **digits: Any) -> str:
        with pytest.raises(UserError) as refused:
            source = open_source(configured(folder, **digits))
            for split in SPLITS:
                len(list(source.splits[split].read()))
        return str(refused.value)

    assert refusal(tmp_path).startswith(f"{tmp_path} has no recordings of digits: set dataset.folder to the folder ")
    assert refusal(tmp_path / "none").startswith(f"{tmp_path}/none has no recordings of digits: ")
    assert refusal(folder, held_out="anna").startswith(f"{folder} has no speaker anna: did you mean ann? choices: ann,")
    assert refusal(folder, test_recordings=9).startswith(f"{folder} has no recordings left for train (60 in all, by ")
    assert refusal(folder, lengths=[50, 60]).startswith("no speaker has the 50 recordings for train of which ")
    assert refusal(folder, lengths=[4, 3]) == "dataset.digits.lengths=[4,3] begins above its end: turn it round"
    for digit in range(2):
        for index in range(12):
            soundfile.write(tmp_path / f"{digit}_ann_{index}.wav", np.ones(800, np.int16), RATE)
    (tmp_path / "1_ann_3.wav").write_text("no sound")
    assert refusal(tmp_path).startswith(f"{tmp_path}/1_ann_3.wav is no sound, or cut short (")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"field": {"name": "text"}}, "dataset.digits joins sound, and the sources of digits are text: choose "),
        ({"folder": None}, "dataset digits is joined from recordings: set dataset.folder=DIR to the folder that "),
        ({"dev_size": 10}, "dataset digits draws its own splits from recordings alone: leave out dataset.dev_size"),
        ({"format": "kaldi"}, "dataset digits draws its own splits from recordings alone: leave out dataset.dev_size"),
    ],
)
def test_what_does_not_go_with_joining_is_refused(folder: Path, options: dict[str, Any], sentence: str) -> None:
    plain = configured(folder).model_dump(mode="json") | options
    with pytest.raises(UserError) as refused:
        DatasetConfig.model_validate(plain, strict=False)
    assert str(refused.value).startswith(sentence)
