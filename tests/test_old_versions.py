"""What earlier versions wrote is read: `old/` has what each of them left of a tiny run (docs/commands.md says so)."""

import copy
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch

import mt
from mt.checkpoint import load_config, load_model
from mt.common.earlier import as_now
from mt.common.options import parse
from mt.config import Config
from mt.data.corpus import Corpus
from tests.refusals.sentences import require_refusal, sign

VERSIONS = sorted((Path(__file__).parent / "old").iterdir())


def lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize("old", VERSIONS, ids=lambda path: path.name)
def test_a_checkpoint_decodes_as_it_did(old: Path, tmp_path: Path) -> None:
    run = shutil.copytree(old / "run", tmp_path / "run")
    translations = mt.load(run, device="cpu").translate(lines(old / "sources.txt"))
    assert [translation.text for translation in translations] == lines(old / "hypotheses.txt")
    model, _, config = load_model(run / "checkpoints" / "best", "best")
    assert config == load_config(run, "best") and all(torch.isfinite(weights).all() for weights in model.parameters())


@pytest.mark.parametrize("old", VERSIONS, ids=lambda path: path.name)
def test_a_corpus_has_its_text(old: Path) -> None:
    corpus = Corpus.open(old / "corpus")
    split = corpus.split("test")
    assert split.column("source") == lines(old / "sources.txt")
    assert split.column("references") == [[line] for line in lines(old / "references.txt")]
    decoded = [corpus.tokenizers.target.decode(target.tolist()) for _, target in split.read(range(len(split))).pairs]
    assert decoded == lines(old / "references.txt") and len(corpus.split("train")) == 30


@pytest.mark.parametrize(
    ("part", "old", "new"), [("attention", "concat", "bahdanau"), ("encoder", "embedding", "none")], ids=str
)
def test_choices_that_had_two_names_are_read(part: str, old: str, new: str) -> None:
    plain = parse({part: {"name": new}}, Config).model_dump(mode="json")
    read = parse(as_now(plain | {part: plain[part] | {"name": old}}), Config)
    assert read == parse(plain, Config)


@pytest.mark.parametrize(
    ("group", "option", "idle", "used"), [("training", "learnt_tags", 0.0, 0.4), ("tokenizer", "tags", 0, 8)]
)
def test_options_that_are_gone_are_left_out_where_they_changed_nothing(group, option, idle, used):
    plain = parse({}, Config).model_dump(mode="json")

    def recorded(value: float) -> dict[str, Any]:
        copied = copy.deepcopy(plain)
        owner = copied["dataset"] if group == "tokenizer" else copied
        owner[group][option] = value
        return copied

    assert parse(as_now(recorded(idle)), Config) == parse(plain, Config)
    require_refusal(lambda: as_now(recorded(used)), rf"{group}.{option}=.*is gone, and mt 0.3.0 is the last release")


def test_a_run_whose_vocabulary_was_extended_is_read() -> None:
    plain = parse({}, Config).model_dump(mode="json")
    assert parse(as_now(plain | {"init": {"vocabulary": "extend", "new_pieces": 7}}), Config) == parse(plain, Config)


GONE = [
    ({"streaming": True}, r"dataset\.streaming=true of this run is gone, and mt 0\.3\.0 is the last"),
    ({"digits": {"lengths": [3, 7]}}, r"dataset\.digits=\{.* of this run is gone, and mt 0\.3\.0"),
    ({"field": {"name": "features", "network": "x"}}, r"dataset\.field\.network=x of this run is gone, and mt 0\.3\.0"),
]


@pytest.mark.parametrize(("dataset", "sentence"), GONE)
def test_what_used_an_option_that_is_gone_names_the_last_release(dataset: dict, sentence: str, tmp_path: Path) -> None:
    corpus = shutil.copytree(VERSIONS[-1] / "corpus", tmp_path / "corpus")
    meta = json.loads((corpus / "meta.json").read_text())
    (corpus / "meta.json").write_text(json.dumps(meta | {"settings": meta["settings"] | dataset}))
    require_refusal(lambda: Corpus.open(corpus), sentence)
    plain = parse({}, Config).model_dump(mode="json")
    require_refusal(lambda: as_now(plain | {"dataset": plain["dataset"] | dataset}), sentence)
    idle = {"streaming": False, "shuffle_buffer": 100_000, "digits": None}
    assert parse(as_now(plain | {"dataset": plain["dataset"] | idle}), Config) == parse(plain, Config)


@pytest.mark.parametrize(
    ("group", "values", "option", "remedy"),
    [
        *(("encoder", {"name": name}, f"encoder={name}", "with another") for name in ("lc_bilstm", "pyramid", "conv")),
        ("training", {"objective": "minimum_risk"}, "training.objective=minimum_risk", "without it"),
    ],
)
def test_a_run_with_what_is_gone_names_the_release_that_reads_it(group, values, option, remedy, tmp_path):
    run = shutil.copytree(VERSIONS[-1] / "run", tmp_path / "run")
    for path in run.glob("checkpoints/*/config.json"):
        plain = json.loads(path.read_text(encoding="utf-8"))
        path.write_text(json.dumps(plain | {group: plain[group] | values}), encoding="utf-8")
        sign(path.parent)
    gone = f"{option} of this run is gone, and mt 0.3.0 is the last release that reads it"
    require_refusal(lambda: mt.load(run, device="cpu"), gone, f"install that release, or train again {remedy}$")
