"""The papers' recipes: each has the published schedule, and each learns, made small, on the tiny language pair."""

import functools
import itertools
import math
from pathlib import Path

import pytest
import torch

from mt.cli.composition import CONF
from mt.common.options import parse
from mt.config import Config
from mt.data.corpus import Corpus
from mt.models.seq2seq import Seq2Seq
from mt.training.loop import Progress, updates
from mt.training.optimizer import build_optimizer, learning_rate
from tests.test_yaml import composed as plainly_composed

EXPERIMENTS = sorted(path.stem for path in (CONF / "experiment").glob("*.yaml"))
# (experiment, update, epoch, rate)
RATES = [
    ("luong2015_wmt14", 9, 8, 1.0),
    ("luong2015_wmt14", 9, 12, 0.0625),
    ("bahdanau2015_wmt14", 667_000, 5, 1.0),
    ("raffel2017_gigaword", 45_000, 1, 0.97015e-3),
    ("raffel2017_gigaword", 60_000, 2, 0.9604e-3),
    ("raffel2017_iwslt15_envi", 9, 7, 1e-3),
    ("raffel2017_iwslt15_envi", 9, 10, 0.512e-3),
    ("raffel2017_iwslt15_envi_eq16", 9, 10, 0.5e-3),
    ("raffel2017_iwslt15_envi_eq16", 9, 12, 0.32e-3),
    ("mocha2018_cnndm", 50_000, 11, 5e-4),
    ("mocha2018_cnndm", 60_001, 11, 1.25e-4),
    ("mocha2018_cnndm", 500_000, 11, 5e-5),
]


@functools.cache
def composed(*overrides: str) -> Config:
    return parse(plainly_composed(*overrides), Config)


def reduced(name: str, texts: Path) -> Config:
    """An experiment at sizes of 8, on files of a folder."""
    sizes = ("embedding.embedding_dim", "encoder.hidden_size", "decoder.hidden_size", "decoder.readout_size")
    overrides = ["device=cpu", *(f"{size}=8" for size in sizes)]
    attention = composed(f"experiment={name}").attention
    for path, options in (("attention", attention), ("attention.energy", dict(attention).get("energy"))):
        if hasattr(options, "attention_dim"):
            overrides.append(f"{path}.attention_dim=8")
    data = [f"dataset.folder={texts}", "dataset.source=en", "dataset.target=de"]
    return composed(f"experiment={name}", *overrides, *data)


@pytest.mark.parametrize(("name", "update", "epoch", "expected"), RATES)
def test_an_experiment_has_the_published_schedule(name: str, update: int, epoch: int, expected: float):
    options = composed(f"experiment={name}").optimizer
    assert learning_rate(options, update=update, epoch=epoch, bad_validations=[0]) == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_an_experiment_learns_at_a_reduced_size(name: str, texts: Path, corpus: Corpus):
    config = reduced(name, texts)
    torch.manual_seed(1)
    model = Seq2Seq(config, *(len(side) for side in corpus.tokenizers))
    before = {key: value.clone() for key, value in model.named_parameters()}
    result = updates(model, build_optimizer(config.optimizer, model), corpus.split("train"), config, Progress())
    taken = list(itertools.islice(result, 2))
    assert all(math.isfinite(update.loss) and update.gradient_norm > 0 for update in taken)
    assert any(not torch.equal(value, before[key]) for key, value in model.named_parameters())
    assert model.online == (name == "milk2019_deen")


def test_an_experiment_wins_over_the_recipe_and_gives_way_to_the_command_line():
    by_recipe = composed("dataset=wmt14")
    assert by_recipe.training.epochs != 12 and by_recipe.embedding.embedding_dim != 1000
    config = composed("experiment=luong2015_wmt14", "training.epochs=1", "attention=dot", "encoder.num_layers=2")
    assert (config.training.epochs, config.attention.name, config.encoder.num_layers) == (1, "dot", 2)
    assert (config.embedding.embedding_dim, config.decoder.num_layers, config.attention.scaled) == (1000, 4, False)
    assert composed("experiment=raffel2017_gigaword", "dataset=bulletin").dataset.generator == "bulletin"
