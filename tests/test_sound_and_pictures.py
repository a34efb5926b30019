"""Sound and pictures all the way: prepared, trained on, decoded, scored, drawn; by the modules and scripts of text."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mt
from data_prep.prepare import prepare
from mt.__main__ import call
from mt.config import Config
from mt.data.corpus import Corpus
from tests.refusals.sentences import require_refusal
from tests.tiny import finished

soundfile = pytest.importorskip("soundfile", reason="needs the extra `speech`")
Image = pytest.importorskip("PIL.Image", reason="needs the extra `images`")

RATE = 8000
PITCHES = {"low": 300.0, "middle": 800.0, "high": 2000.0}
COLOURS = {"red": (255, 0, 0), "green": (0, 255, 0), "blue": (0, 0, 255)}
SIZES = {"train": 90, "dev": 6, "test": 6}


def write_tones(path: Path, words: list[str], draw: np.random.Generator) -> None:
    """A tone of a tenth of a second for each word, and silence between them."""
    time = np.arange(RATE // 10) / RATE
    tones = [np.append(0.5 * np.sin(2 * np.pi * PITCHES[word] * time), np.zeros(RATE // 20)) for word in words]
    samples = np.concatenate(tones)
    soundfile.write(path, samples + draw.normal(0, 0.01, len(samples)), RATE)


def write_halves(path: Path, words: list[str], draw: np.random.Generator) -> None:
    """A picture whose left is of the first colour, and its right of the second."""
    pixels = np.zeros((32, 32, 3), np.int64)
    pixels[:, :16] = COLOURS[words[0]]
    pixels[:, 16:] = COLOURS[words[-1]]
    Image.fromarray((pixels + draw.integers(-20, 20, pixels.shape)).clip(0, 255).astype(np.uint8)).save(path)


KINDS: dict[str, dict[str, Any]] = {
    "audio": {
        "write": (write_tones, [*PITCHES], "wav"),
        "endings": ("SPH", "caf"),
        "field": {"name": "audio", "rate": RATE, "max_seconds": 5.0},
        "frontend": {"name": "logmel", "bands": 24, "channels": 8, "frequency_masks": 0, "time_masks": 0},
        "encoder": {"name": "bilstm", "hidden_size": 32},
        "batch_tokens": 300,
    },
    "pictures": {
        "write": (write_halves, [*COLOURS], "png"),
        "endings": ("jfif",),
        "field": {"name": "image", "size": 32},
        "frontend": {"name": "image", "stages": 2, "channels": 16, "dropout": 0.0},
        "encoder": {"name": "none"},
        "batch_tokens": 40,
    },
}


@pytest.fixture(params=list(KINDS), scope="module")
def kind(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(scope="module")
def folder(kind: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp(kind)
    draw = np.random.default_rng(0)
    write, words, ending = KINDS[kind]["write"]
    for split, size in SIZES.items():
        lines = ["path\ttext"]
        for number in range(size):
            spoken = [words[i] for i in draw.integers(0, len(words), 2)]
            write(folder / f"{split}{number}.{ending}", spoken, draw)
            lines.append(f"{split}{number}.{ending}\t{' '.join(spoken)}")
        (folder / f"{split}.tsv").write_text("\n".join(lines) + "\n")
    return folder


@pytest.fixture(scope="module")
def config(kind: str, folder: Path, configure: Callable[..., Config]) -> Config:
    parts = KINDS[kind]
    dataset = {"name": kind, "folder": str(folder), "source": "path", "target": "text", "workers": 1}
    dataset |= {"metrics": ["wer", "bleu"], "tokenizer": {"model_type": "word", "vocab_size": 10}}
    training = {"epochs": 14, "validate_every": 70, "average_checkpoints": 1, "label_smoothing": 0.0}
    changes = {
        "dataset": dataset | {"field": parts["field"]},
        "training": training | {"batch_tokens": parts["batch_tokens"]},
        "embedding": {"embedding_dim": 16},
        "decoder": {"readout_size": 16},
        "optimizer": {"lr": 0.01},
        "search": {"name": "greedy"},
    }
    return configure(changes | {name: parts[name] for name in ("frontend", "encoder")})


@pytest.fixture(scope="module")
def corpora(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("corpora")


@pytest.fixture(scope="module")
def corpus(config: Config, corpora: Path) -> Corpus:
    return Corpus.open(prepare(config.dataset, corpora, progress=False))


@pytest.fixture(scope="module")
def run(config: Config, corpora: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return finished(config, corpora, tmp_path_factory.mktemp("runs") / "run")


def test_it_learns_and_leaves_what_a_run_of_text_leaves(kind: str, run: Path, corpus: Corpus):
    results = json.loads((run / "results.json").read_text())
    assert results["wer"]["score"] <= 10
    lines = (run / "hypotheses/test.txt").read_text().splitlines()
    assert len(lines) == 6
    drawn = np.load(run / "alignments/0000.npz")
    places = drawn["weights"].shape[1]
    assert (run / "alignments/0000.png").stat().st_size > 1000
    if kind == "audio":  # 0.3 seconds, of which every 0.04 are a position
        assert [*drawn["source"]] == [f"{0.0375 * i:.2f}" for i in range(8)]
    else:
        assert [*drawn["source"]] == [f"{row},{column}" for row in range(8) for column in range(8)]
    assert places == len(drawn["source"])
    np.testing.assert_allclose(drawn["weights"].sum(1), 1, atol=1e-4)


def test_paths_and_arrays_give_what_the_corpus_gives(kind: str, run: Path, folder: Path, corpus: Corpus):
    translator = mt.load(run, device="cpu")
    ending = KINDS[kind]["write"][2]
    paths = [folder / f"test{number}.{ending}" for number in range(6)]
    expected = (run / "hypotheses/test.txt").read_text().splitlines()
    assert [actual.text for actual in translator.translate(paths)] == expected
    assert translator.translate(str(paths[0])).text == expected[0]
    rows = [row for row, _ in corpus.split("test").read(range(2)).pairs]
    arrays = [row.ravel() if kind == "audio" else row for row in rows]
    assert [actual.text for actual in translator.translate(arrays)] == expected[:2]
    assert translator.translate(["", paths[1]])[0].text == ""
    forced = translator.align(paths[0], expected[0])
    assert forced.alignment.shape == (len(forced.tokens), len(forced.source_tokens))
    assert forced.links <= {(place, word) for place in range(64) for word in range(2)}
    require_refusal(lambda: translator.translate(f"absent.{ending}"), r"absent.* cannot be read")


def test_the_scripts_take_paths(kind, run, folder, corpora, capsys, tmp_path):
    ending = KINDS[kind]["write"][2]
    expected = (run / "hypotheses/test.txt").read_text()
    paths = [str(folder / f"test{number}.{ending}") for number in range(6)]
    (tmp_path / "list").write_text("".join(f"{path}\n" for path in paths))
    call("translate", [str(run), str(tmp_path / "list"), "--device", "cpu"])
    assert capsys.readouterr().out == expected
    call("translate", [str(run), paths[2], "--device", "cpu"])
    assert capsys.readouterr().out.strip() == expected.splitlines()[2]
    for other in KINDS[kind]["endings"]:
        renamed = shutil.copy(paths[2], tmp_path / f"renamed.{other}")
        call("translate", [str(run), str(renamed), "--device", "cpu"])
        assert capsys.readouterr().out.strip() == expected.splitlines()[2]
    call("evaluate", [str(run), "--corpora", str(corpora), "--device", "cpu", "--out", str(tmp_path / "out")])
    assert (tmp_path / "out/hypotheses/test.txt").read_text() == expected
