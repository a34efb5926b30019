"""Captions of nearest pictures: on photographs that are all of one colour, whose features the colour decides."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from data_prep.prepare import prepare
from mt.config import Config
from mt.data.corpus import Corpus
from mt.inference import Translator
from mt.models.seq2seq import Seq2Seq
from mt.parsing import parse
from mt.training.run import complete
from mt.training.state import begin

Image = pytest.importorskip("PIL.Image", reason="needs the extra `images`")
pytest.importorskip("efficientnet_lite_pytorch", reason="needs the extra `images`, with its network")

COLOURS = {"red": (220, 30, 30), "green": (30, 200, 30), "blue": (30, 30, 230)}


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> Config:
    folder, draw = tmp_path_factory.mktemp("photographs"), np.random.default_rng(0)
    for split, size in {"train": 9, "dev": 3, "test": 3}.items():
        lines = ["path\tcaption"]
        for number in range(size):
            name = [*COLOURS][number % 3]
            pixels = np.array(COLOURS[name]) + draw.integers(-25, 25, (24, 24, 3))
            Image.fromarray(pixels.clip(0, 255).astype(np.uint8)).save(folder / f"{split}{number}.png")
            lines += [f"{split}{number}.png\tall of it is {name} .", f"{split}{number}.png\ta {name} picture ."]
        (folder / f"{split}.tsv").write_text("\n".join(lines) + "\n")
    plain = {
        "dataset": {
            "name": "photographs",
            "folder": str(folder),
            "source": "path",
            "target": "caption",
            "metrics": ["coco_bleu", "cider"],
            "field": {"name": "features"},
            "tokenizer": {"model_type": "word", "vocab_size": 30},
            "workers": 1,
        },
        "frontend": {"name": "features", "channels": 16},
        "embedding": {"embedding_dim": 8},
        "encoder": {"name": "none"},
        "decoder": {"name": "bahdanau", "hidden_size": 8, "readout_size": 8, "gate": True},
        "attention": {"name": "bahdanau"},
        "doubly_stochastic_weight": 1.0,
        "training": {"epochs": 1, "plots": 2, "batch_tokens": 2000, "average_checkpoints": 1},
        "search": {"name": "greedy", "max_length": 12},
        "device": "cpu",
    }
    return parse(plain, Config)


@pytest.fixture(scope="module")
def folder(config: Config, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return prepare(config.dataset, tmp_path_factory.mktemp("corpora"), progress=False)


def test_a_caption_of_a_near_picture_is_chosen_and_scored(call, folder: Path, tmp_path: Path) -> None:
    done = call("nearest", folder, "--neighbours", 3, "--hypotheses", tmp_path / "captions")
    assert done.err == "" and done.status == 0
    captions = (tmp_path / "captions").read_text().splitlines()
    assert [next(name for name in COLOURS if name in text) for text in captions] == [*COLOURS]
    names, scores = zip(*(line.split()[:2] for line in done.out.splitlines()), strict=True)
    assert names == ("bleu1", "bleu2", "bleu3", "bleu4", "cider") and float(scores[0]) > 99
    assert "refs:6|repeats:0" in done.out


def test_a_corpus_without_features_is_refused(call, configure: Callable[..., Config], corpora: Path) -> None:
    done = call("nearest", prepare(configure().dataset, corpora, progress=False))
    assert done.status == 2 and "this corpus has no features to find near pictures by" in done.err


def test_training_reads_features_and_pictures_are_described_by_hand_and_drawn(
    config: Config, folder: Path, tmp_path: Path
) -> None:
    corpus = Corpus.open(folder)
    assert [row.shape for row, _ in corpus.split("train").ids(range(3))] == [(196, 112)] * 3
    run = begin(config, corpus, tmp_path / "run")
    complete(run)
    assert isinstance(run.model, Seq2Seq) and run.model.frontend.mean.any()
    translator = Translator(run.model, corpus.tokenizers, config)
    picture = Path(config.dataset.folder or "") / "test1.png"
    found = translator.translate(picture)
    assert found.text == (run.folder / "hypotheses/test.txt").read_text().splitlines()[1]
    # In the middle of every panel, and in the corner of the first, the picture itself.
    figure = found.figure()
    assert len(figure.axes) == len(found.tokens) + 1
    green = np.asarray(figure.axes[0].images[0].get_array())[0, 0]
    assert green.argmax() == 1
    assert (run.folder / "alignments/0001.png").stat().st_size > 10_000
    assert np.load(run.folder / "alignments/0001.npz")["weights"].shape[1] == 196
