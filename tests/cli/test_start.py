"""`init_from`: whose options a new run has."""

from collections.abc import Callable
from pathlib import Path

import pytest

from mt.cli.start import continued_config, resumed_config, with_earlier_model
from mt.common.options import parse
from mt.config import Config
from mt.models.config import ModelConfig
from tests.refusals.sentences import require_refusal

Call = Callable[..., list]


@pytest.fixture
def begun(call: Call) -> Callable[..., Config]:
    """The configuration of `train.py` with these arguments, started from that of the run."""

    def of(earlier: Config, *arguments: str) -> Config:
        [(plain, overrides)] = call("init_from=run", *arguments)
        own = {name: value for name, value in plain.items() if name not in ("folder", "resume", "corpora")}
        return parse(with_earlier_model(own, overrides, earlier), Config)

    return of


def test_the_model_is_the_run_s_and_the_rest_is_new(begun, configure: Callable[..., Config]) -> None:
    earlier = configure({"attention": {"name": "mocha", "chunk_size": 3}, "init_range": 0.2})
    config = begun(earlier, "optimizer=sgd", "training.epochs=2", "seed=7")
    for part in ModelConfig.model_fields:
        assert getattr(config, part) == getattr(earlier, part), part
    assert (config.optimizer.name, config.training.epochs, config.seed) == ("sgd", 2, 7)
    assert config.dataset.name == "phrasebook" and config.search != earlier.search
    assert config.dataset.tokenizer == earlier.dataset.tokenizer


def test_what_the_command_line_says_of_the_model(begun, configure: Callable[..., Config]) -> None:
    earlier = configure({"attention": {"name": "mocha", "chunk_size": 3}})
    config = begun(earlier, "encoder.dropout=0.5", "embedding.dropout=0.25", "init_range=0.3")
    assert config.encoder == earlier.encoder.model_copy(update={"dropout": 0.5})
    assert config.embedding == earlier.embedding.model_copy(update={"dropout": 0.25}) and config.init_range == 0.3
    config = begun(earlier, "attention=general")
    assert config.attention.name == "general" and config.decoder == earlier.decoder
    config = begun(earlier, "experiment=raffel2017_iwslt15_envi", "dataset=phrasebook")
    assert config.encoder.hidden_size != earlier.encoder.hidden_size


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["dataset.tokenizer.joint=false"], "dataset.tokenizer.joint cannot be chosen with init_from, whose"),
        (["embedding.pretrained_source=glove.txt"], "embedding.pretrained_source cannot be chosen with init_from"),
        (["dataset=morse"], "was trained with dataset.field.name=text, and this run would have dataset.field.name="),
    ],
)
def test_what_cannot_differ(arguments: list[str], sentence: str, begun, configure: Callable[..., Config]) -> None:
    require_refusal(lambda: begun(configure(), *arguments), sentence)


@pytest.mark.parametrize(
    ("name", "option", "noted"),
    [("cooldown", "epochs", True), ("cooldown", "patience", False), ("constant", "epochs", False)],
)
def test_another_end_of_a_run_whose_rate_falls_towards_it_is_noted(name, option, noted, configure, capsys):
    trained = configure({"optimizer": {"schedule": {"name": name}}})
    resumed_config(trained, [f"training.{option}=40"])
    longer = configure({"optimizer": {"schedule": {"name": name}}, "training": {option: 40}})
    continued_config(longer, trained, Path("run"))
    assert capsys.readouterr().err.count("updates that it has made at a falling rate differ") == 2 * noted
