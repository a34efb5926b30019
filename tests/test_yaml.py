"""Every choice composes into a configuration that makes a model, and conf/ has the options of the classes."""

import itertools
import re
from pathlib import Path
from typing import Any

import pytest
import torch
from hydra import compose, initialize_config_dir
from omegaconf import OmegaConf

from mt.cli.composition import CONF
from mt.common.options import described, parse
from mt.config import Config
from mt.data.dataset import DatasetConfig
from mt.errors import UserError
from mt.metrics import METRICS
from mt.models.attention import ATTENTIONS
from mt.models.decoders import DECODERS
from mt.models.encoders import ENCODERS
from mt.models.frontends import FRONTENDS
from mt.models.seq2seq import Seq2Seq
from scripts import options
from tests import marks
from tests.marks import chosen

ROOT = Path(__file__).parents[1]
FILES = ["dataset.folder=DIR", "dataset.source=en", "dataset.target=de"]
# What a dataset cannot do without.
OF_A_FOLDER = ("audio", "pictures", "photographs", "rsicd", "digits", "single_digits", "mboshi", "mboshi_french")
NEEDED = {
    "files": FILES,
    **dict.fromkeys((*OF_A_FOLDER, "tatoeba", "letters", "cmudict", "headlines", "compression"), FILES[:1]),
}
# What train.py takes for itself.
OF_THE_ENTRY = {"folder", "resume", "corpora"}
# Choices of all the other groups, which would undo theirs (see test_experiments.py), and of Hydra itself.
NO_PARTS = ("experiment", "hydra", "online")
WITHOUT_PRESET = "~preset"
# Choices that go together, each of which is tried with each data set.
WITH_A_PRESET = ("dataset", "frontend", "preset")


def names(group: str) -> list[str]:
    return sorted(path.stem for path in (CONF / group).glob("*.yaml"))


def choices() -> list[list[str]]:
    """Lists of overrides, as few as the largest group needs: every choice of a group with every one that it nests, or
    in the short run with one of them. A preset is tried with its own data set, as it sets options of parts that it
    chooses."""
    columns = []
    for group in sorted({path.parent.name for path in CONF.glob("*/*.yaml")} - {*NO_PARTS, *WITH_A_PRESET}):
        nested = sorted(path.name for path in (CONF / group).iterdir() if path.is_dir())
        column = []
        for number, name in enumerate(names(group)):
            # A file that has no such part, as attention=none has no energy, cannot be given one.
            inner = [key for key in nested if f"- {key}:" in (CONF / group / f"{name}.yaml").read_text()]
            parts = [[f"{group}/{key}={part}" for part in names(f"{group}/{key}")] for key in inner]
            every = [[f"{group}={name}", *chosen] for chosen in itertools.product(*parts)]
            column += every if marks.FULL else [every[number % len(every)]]
        columns.append(column)
    count = max(len(column) for column in columns)
    rows = [[override for column in columns for override in column[i % len(column)]] for i in range(count)]
    # An attention that mixes predictions goes with one decoder.
    mixing = [f"attention={name}" for name, kind in ATTENTIONS.items() if kind.mixes_predictions]
    for row in rows:
        if {*row} & {*mixing}:
            row[:] = ["decoder=luong" if override.startswith("decoder=") else override for override in row]
    of_parts = [["preset=phrasebook", "dataset=phrasebook", *row] for row in rows]
    return [*of_parts, *([f"dataset={name}"] for name in names("dataset"))]


def composed(*overrides: str, root: str = "config") -> dict[str, Any]:
    with initialize_config_dir(str(CONF), version_base="1.3"):
        result = compose(root, list(overrides))
    # Values alone: the names of runs come from parts of Hydra that a test has not.
    plain = OmegaConf.to_container(result, resolve=False)
    assert isinstance(plain, dict)
    return {str(key): value for key, value in plain.items() if root != "config" or key not in OF_THE_ENTRY}


@pytest.fixture(scope="module")
def everything() -> list[tuple[dict[str, Any], Config]]:
    """Every choice, composed and parsed."""
    result = []
    for overrides in choices():
        [dataset] = [override.removeprefix("dataset=") for override in overrides if override.startswith("dataset=")]
        plain = composed(*overrides, *NEEDED.get(dataset, []))
        result.append((plain, parse(plain, Config, " ".join(overrides))))
    return result


def test_every_choice_is_a_configuration_of_its_own_class(everything):
    """Every choice of every group is composed, and what it makes is what the table of its group has."""
    kinds = {type(part) for _, parsed in everything for part in (parsed.attention, parsed.encoder, parsed.decoder)}
    kinds |= {type(parsed.frontend) for _, parsed in everything}
    assert kinds >= {part.Config for table in (ATTENTIONS, ENCODERS, DECODERS, FRONTENDS) for part in table.values()}
    assert parse(composed(WITHOUT_PRESET), Config) == Config()


def test_the_options_of_conf_are_those_of_the_classes():
    differing = [path.relative_to(CONF).as_posix() for path, text in options.files() if path.read_text() != text]
    assert differing == [], "python scripts/options.py writes them"


def test_every_choice_makes_a_model(everything):
    with torch.device("meta"):
        for _, parsed in everything:
            if parsed.attention.name != "none":  # which not every preset goes with
                Seq2Seq(parsed, 100, 100)


# `dot` is the attention that asks most of the sizes; every other one is tried with one dataset.
FITTING = [*((name, "dot") for name in names("dataset")), *(("phrasebook", name) for name in names("attention"))]


@pytest.mark.parametrize(("dataset", "attention"), chosen(FITTING, ("phrasebook", "dot")))
def test_the_shipped_sizes_fit_together(dataset: str, attention: str):
    one_size = ["encoder=bilstm"] if dataset in ("pictures", "photographs", "rsicd") else []
    words = [f"dataset={dataset}", f"attention={attention}", *one_size, *NEEDED.get(dataset, [])]
    if dataset == "scenes":
        # Its preset is for attentions that need no equal sizes; what is refused names the option that makes them equal.
        with pytest.raises(UserError, match=r"of size 64: set encoder\.hidden_size=128 or ") as refusal:
            built(words)
        words += re.findall(r"encoder\.hidden_size=\d+", str(refusal.value))
    built(words)


def built(words: list[str]) -> Seq2Seq:
    with torch.device("meta"):
        return Seq2Seq(parse(composed(*words), Config), 100, 100)


@pytest.mark.parametrize("encoder", chosen(names("encoder"), "bilstm"))
def test_every_encoder_fits_under_the_default_preset(encoder: str):
    built([f"encoder={encoder}"])


def test_every_preset_is_one_that_a_data_set_names():
    texts = [path.read_text() for path in (CONF / "dataset").glob("*.yaml")]
    named = {match[1] for text in texts if (match := re.search(r"override /preset@_global_\.preset: (\w+)", text))}
    assert named == set(names("preset"))
    files = [path.read_text().partition("\n")[2].partition("\n")[2] for path in (CONF / "preset").glob("*.yaml")]
    assert len({*files}) == len(files)


@pytest.mark.parametrize("dataset", chosen(names("dataset"), "multi30k"))
def test_the_commands_of_data_preparation_compose(dataset: str):
    plain = composed(f"dataset={dataset}", *NEEDED.get(dataset, []), root="data_prep")
    assert set(plain) == {"dataset", "dry_run", "corpora", "runner"}


def listed(page: str, begin: str) -> set[str]:
    """Returns the words of a page's only line that begins so."""
    lines = (ROOT / page).read_text(encoding="utf-8").splitlines()
    [line] = [line for line in lines if line.lstrip().startswith(begin)]
    return {*re.findall(r"\w+", line)}


@pytest.mark.parametrize("group", ["attention", "encoder", "decoder", "optimizer", "search"])
def test_pages_name_every_choice_of_a_group(group: str):
    assert {*names(group)} <= listed("conf/config.yaml", f"- {group}:")
    assert {*names(group)} <= listed("docs/choices.md", f"| `{group}` |")


def test_pages_name_every_metric_and_dataset():
    assert {*METRICS} <= {*re.findall(r"\w+", described(DatasetConfig)["metrics"])}
    assert {*METRICS} <= listed("docs/choices.md", "| `metrics` |")
    assert {*names("dataset")} <= listed("docs/choices.md", "| `dataset` |")
    config = (ROOT / "conf/config.yaml").read_text(encoding="utf-8")
    assert {*names("dataset")} <= {*re.findall(r"\w+", config.partition("\nseed:")[0])}
