"""Sound with a translation and a transcript, and without a test split: prepared, trained on, scored."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mt.checkpoint import load_model
from mt.common.options import parse
from mt.config import Config
from mt.data.dataset import DatasetConfig
from mt.data.tokenizer import EOS
from tests.data_prep.small import RATE, pairs_of, prepared, sound_config
from tests.refusals.sentences import refusal_of, require_refusal
from tests.tiny import finished

soundfile = pytest.importorskip("soundfile", reason="needs the extra `speech`")

SAID = ["moro", "ngá", "wa", ""]
MEANT = ["man", "and I", "he", "nothing"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sounds")
    lines = ["name\tmbosi\tfrench"]
    for number in range(40):
        soundfile.write(folder / f"{number}.wav", np.full(RATE // 4, 100 * number, np.int16), RATE)
        lines.append(f"{number}.wav\t{SAID[number % 4]}\t{MEANT[number % 4]} {number}")
    (folder / "all.tsv").write_text("\n".join(lines) + "\n")
    return folder


def options(folder: Path, **changed: Any) -> dict[str, Any]:
    columns = {"source": "name", "target": "french", "transcript": "mbosi"}
    splits = {"splits": {"train": "all", "test": None}, "dev_size": 5}
    words = {"tokenizer": {"model_type": "word", "vocab_size": 100}}
    given = {"name": "sounds", "metrics": ["wer"], **columns, **splits, **words, **changed}
    return sound_config(folder, **given).model_dump(mode="json")


def configured(folder: Path, **changed: Any) -> DatasetConfig:
    return parse(options(folder, **changed), DatasetConfig)


def refusal(folder: Path, **changed: Any) -> str:
    return refusal_of(lambda: pairs_of(configured(folder, **changed)))


def test_a_corpus_has_transcripts_with_a_vocabulary_of_characters(folder: Path, tmp_path: Path) -> None:
    corpus = prepared(configured(folder), tmp_path)
    of_transcripts = corpus.tokenizers.transcript
    tokenizers = corpus.tokenizers
    assert of_transcripts is not None and of_transcripts is not tokenizers.target and tokenizers.joint
    assert tokenizers.sizes == (len(tokenizers.target), len(tokenizers.target), len(of_transcripts))
    assert set("morongáwa") <= {piece.strip("▁") for piece in of_transcripts.pieces([*range(len(of_transcripts))])}
    for name in ("train", "dev"):
        split = corpus.split(name)
        numbers = [int(source.removesuffix(".wav")) for source in split.column("source")]
        ids = split.read(range(len(split))).transcripts
        assert ids is not None and all(row[-1] == EOS for row in ids)
        assert [of_transcripts.decode(row) for row in ids] == [SAID[number % 4] for number in numbers]
        assert split.column("references") == [[f"{MEANT[number % 4]} {number}"] for number in numbers]
    assert (len(corpus.split("train")), len(corpus.split("dev")), len(corpus.split("test"))) == (35, 5, 0)
    assert corpus.scored == "dev"


def test_dev_is_cut_by_names_alone(folder: Path) -> None:
    configs = [configured(folder, target=target, transcript="") for target in ("french", "mbosi")]
    result = [[example.source for example in pairs_of(config, "dev")] for config in configs]
    # Where the text is blank, a sound stays in train.
    assert len(result[0]) == len(result[1]) == 5
    assert {int(name.removesuffix(".wav")) % 4 for name in result[1]} <= {0, 1, 2}
    spoken = [name for name in result[0] if int(name.removesuffix(".wav")) % 4 != 3]
    assert spoken == [name for name in result[1] if name in result[0]]


def test_what_cannot_be_a_transcript_is_one_sentence(folder: Path) -> None:
    assert refusal(folder, transcript="mboshi").startswith("train has no column mboshi: did you mean mbosi? choices: ")
    assert refusal(folder, transcript="french").startswith("dataset.transcript=french of sounds is read already: ")
    assert refusal(folder, field={"name": "text"}).startswith("dataset.transcript is what is said in a sound, and ")
    sentence = r"^dataset.transcript=mbosi is what ctc_weight teaches the encoder, and ctc_w"
    plain = {"dataset": options(folder), "frontend": {"name": "logmel"}}
    require_refusal(lambda: parse(plain, Config), sentence)


def test_a_run_learns_them_and_is_scored_on_dev(folder: Path, tmp_path: Path) -> None:
    plain = {
        "dataset": options(folder),
        "frontend": {"name": "logmel", "bands": 8, "channels": 2},
        "embedding": {"embedding_dim": 4},
        "encoder": {"name": "lstm", "hidden_size": 4},
        "decoder": {"name": "luong", "hidden_size": 4, "readout_size": 4},
        "ctc_weight": 0.5,
        "training": {"epochs": 1, "plots": 1, "average_checkpoints": 1},
        "search": {"name": "greedy"},
        "device": "cpu",
    }
    finished(parse(plain, Config), tmp_path, tmp_path / "run")
    results = json.loads((tmp_path / "run" / "results.json").read_text())
    assert results["split"] == "dev" and results["wer"]["score"] > 0
    lines = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    assert max(line.get("train/auxiliary_loss", line.get("auxiliary_loss", 0)) for line in lines) > 0
    model, tokenizers, _ = load_model(tmp_path / "run", "best")
    assert tokenizers.transcript is not None and model.ctc is not None
    assert model.ctc.out_features == len(tokenizers.transcript) + 1
