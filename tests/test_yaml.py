"""YAML is the manual: every choice composes into a configuration, and every option stands there, explained."""

import itertools
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from hydra import compose, initialize_config_dir
from omegaconf import OmegaConf
from pydantic import BaseModel

from mt.cli.composition import CONF
from mt.common.options import parse
from mt.config import Config
from mt.data.dataset import DatasetConfig
from mt.errors import UserError
from mt.metrics import METRICS
from mt.models.attention import ATTENTIONS
from mt.models.decoders import DECODERS
from mt.models.encoders import ENCODERS
from mt.models.frontends import FRONTENDS
from mt.models.seq2seq import Seq2Seq
from tests.marks import chosen

ROOT = Path(__file__).parents[1]
FILES = ["dataset.folder=DIR", "dataset.source=en", "dataset.target=de"]
# What a dataset cannot do without.
OF_A_FOLDER = ("audio", "pictures", "photographs", "rsicd", "digits", "single_digits", "mboshi", "mboshi_french")
NEEDED = {"files": FILES, **dict.fromkeys((*OF_A_FOLDER, "tatoeba", "cmudict", "headlines", "compression"), FILES[:1])}
# A front-end goes with the field of the dataset.
OWN_DATASETS = {"logmel": "audio", "image": "pictures", "features": "photographs"}
READS = {frontend: [f"dataset={name}", *NEEDED[name]] for frontend, name in OWN_DATASETS.items()}
# What train.py takes for itself.
OF_THE_ENTRY = {"folder", "resume", "corpora"}
# Choices of all the other groups, which would undo theirs (see test_experiments.py), and of Hydra itself.
NO_PARTS = ("experiment", "hydra", "online")
WITHOUT_PRESET = "~preset"
# Files of a group that set other values than the defaults.
VARIANTS = ("beam_long", "beam_probable", "beam_summary")
# A choice that comes with the dataset, by its preset.
WITH_THE_DATASET = "frontend"


def names(group: str) -> list[str]:
    return sorted(path.stem for path in (CONF / group).glob("*.yaml"))


def choices() -> list[list[str]]:
    """Lists of overrides, as few as the largest group needs: every choice of a group with every one that it nests. A
    preset is tried with its own data set, as it sets options of the parts that it chooses."""
    columns = []
    for group in sorted({path.parent.name for path in CONF.glob("*/*.yaml")} - {*NO_PARTS, WITH_THE_DATASET, "preset"}):
        nested = sorted(path.name for path in (CONF / group).iterdir() if path.is_dir())
        column = []
        for name in names(group):
            # A file that has no such part, as attention=none has no energy, cannot be given one.
            inner = [key for key in nested if f"- {key}:" in (CONF / group / f"{name}.yaml").read_text()]
            parts = itertools.product(*([f"{group}/{key}={part}" for part in names(f"{group}/{key}")] for key in inner))
            column += [[f"{group}={name}", *chosen] for chosen in parts]
        columns.append(column)
    count = max(len(column) for column in columns)
    rows = [[override for column in columns for override in column[i % len(column)]] for i in range(count)]
    of_parts = [
        ["preset=phrasebook", "dataset=phrasebook", *(one for one in row if one[:8] != "dataset=")] for row in rows
    ]
    return [*of_parts, *([f"dataset={name}"] for name in names("dataset"))]


def composed(*overrides: str, root: str = "config") -> dict[str, Any]:
    with initialize_config_dir(str(CONF), version_base="1.3"):
        result = compose(root, list(overrides))
    # Values alone: the names of runs come from parts of Hydra that a test has not.
    plain = OmegaConf.to_container(result, resolve=False)
    assert isinstance(plain, dict)
    return {str(key): value for key, value in plain.items() if root != "config" or key not in OF_THE_ENTRY}


def written(plain: Any, parsed: Any) -> Iterator[tuple[type[BaseModel], set[str]]]:
    """Each configuration class in `parsed`, with the options that `plain` gives it."""
    if isinstance(parsed, BaseModel):
        yield type(parsed), set(plain)
        for name in plain:
            yield from written(plain[name], getattr(parsed, name))


def unwritten(everything: Iterable[tuple[Any, Any]]) -> list[str]:
    """The options that no plain configuration among (plain, parsed) pairs gives."""
    given: dict[type[BaseModel], set[str]] = {}
    for plain, parsed in everything:
        for kind, options in written(plain, parsed):
            given.setdefault(kind, set()).update(options)
    return sorted(f"{kind.__name__}.{name}" for kind, seen in given.items() for name in {*kind.model_fields} - seen)


@pytest.fixture(scope="module")
def everything() -> list[tuple[dict[str, Any], Config]]:
    """Every choice, composed and parsed."""
    result = []
    for overrides in choices():
        [dataset] = [override.removeprefix("dataset=") for override in overrides if override.startswith("dataset=")]
        plain = composed(*overrides, *NEEDED.get(dataset, []))
        result.append((plain, parse(plain, Config, " ".join(overrides))))
    return result


def test_every_choice_is_a_configuration_and_every_option_is_written_somewhere(everything):
    given = {override for overrides in choices() for override in overrides}
    given |= {f"{WITH_THE_DATASET}={parsed.frontend.name}" for _, parsed in everything}
    given |= {f"preset={name}" for name in names("preset")}  # see test_every_preset_is_one_that_a_data_set_names
    files = {f"{path.parent.relative_to(CONF).as_posix()}={path.stem}" for path in CONF.glob("*/**/*.yaml")}
    assert given == {file for file in files if re.split("[=/]", file)[0] not in NO_PARTS}
    assert unwritten(everything) == []
    kinds = {kind for plain, parsed in everything for kind, _ in written(plain, parsed)}
    assert kinds >= {part.Config for table in (ATTENTIONS, ENCODERS, DECODERS, FRONTENDS) for part in table.values()}


def test_the_defaults_are_what_is_composed_without_a_preset():
    assert parse(composed(WITHOUT_PRESET), Config) == Config()
    of_files = parse(composed("dataset=files", *FILES), Config).dataset
    assert of_files == DatasetConfig(folder="DIR", source="en", target="de")


# Of a nested group, within the first choice of the group around it that has it: attention/energy in attention=local_m.
def defaults() -> Iterator[tuple[list[str], list[str]]]:
    """Choices that between them are those of all groups, and what they need; groups that need nothing go together."""
    columns = []
    for group in sorted(folder.relative_to(CONF).as_posix() for folder in CONF.glob("**/") if folder != CONF):
        outer, _, inner = group.partition("/")
        around = [path.stem for path in sorted((CONF / outer).glob("*.yaml")) if f"- {inner}:" in path.read_text()]
        if outer in (*NO_PARTS, "preset", "dataset"):  # which have values of their own
            continue
        if inner or group == WITH_THE_DATASET:
            yield from (
                ([f"{group}={n}"], [f"{outer}={around[0]}"] if inner else READS.get(n, [])) for n in names(group)
            )
        else:
            columns.append([f"{group}={name}" for name in names(group) if name not in VARIANTS])
    yield from (([one for one in row if one], []) for row in itertools.zip_longest(*columns))


@pytest.mark.parametrize(("overrides", "needed"), list(defaults()), ids=" ".join)
def test_yaml_and_classes_have_the_same_defaults(overrides: list[str], needed: list[str]):
    whole = parse(composed(WITHOUT_PRESET, *overrides, *needed), Config)
    for choice in overrides:
        part: Any = whole
        for name in choice.partition("=")[0].split("/"):
            part = getattr(part, name)
        assert part == type(part)(), choice


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
    with torch.device("meta"):
        Seq2Seq(parse(composed(f"encoder={encoder}"), Config), 100, 100)


def test_a_preset_is_in_force_and_gives_way_to_the_command_line():
    preset = OmegaConf.load(CONF / "preset" / "phrasebook.yaml")
    plain = OmegaConf.create(composed())
    assert OmegaConf.merge(plain, preset) == plain
    assert composed("embedding.embedding_dim=7")["embedding"]["embedding_dim"] == 7
    assert composed("encoder=lstm")["encoder"]["name"] == "lstm"


def test_every_preset_is_one_that_a_data_set_names():
    texts = [path.read_text() for path in (CONF / "dataset").glob("*.yaml")]
    named = {match[1] for text in texts if (match := re.search(r"override /preset@_global_\.preset: (\w+)", text))}
    assert named == set(names("preset"))
    files = [path.read_text().partition("\n")[2].partition("\n")[2] for path in (CONF / "preset").glob("*.yaml")]
    assert len({*files}) == len(files)


def test_the_commands_of_data_preparation_compose():
    for dataset in names("dataset"):
        plain = composed(f"dataset={dataset}", *NEEDED.get(dataset, []), root="data_prep")
        assert set(plain) == {"dataset", "dry_run", "corpora", "runner"}


def explained(path: Path) -> set[str]:
    """The keys of a file that have a comment on their line or on the lines above."""
    lines = path.read_text(encoding="utf-8").splitlines()
    keys = (re.match(r"\s*(\w+):", line) for line in lines)
    explained_keys = set()
    for key, line, above in zip(keys, lines, ["", *lines], strict=False):
        if key and ("#" in line or above.lstrip().startswith("#")):
            explained_keys.add(key[1])
    return explained_keys


def unexplained(plain: dict[str, Any], known: set[str], path: str = "") -> Iterator[str]:
    """The options without a comment, of their own or on the mapping that they stand in. known: what has one."""
    for name, value in plain.items():
        if not isinstance(value, dict):
            if name not in known | {"name"}:
                yield f"{path}{name}"
        elif name not in known:
            yield from unexplained(value, known, f"{path}{name}.")


def test_every_option_is_explained_in_some_file_of_its_group(everything):
    known: dict[str, set[str]] = {}
    for path in CONF.rglob("*.yaml"):
        known.setdefault(path.relative_to(CONF).parts[0], set()).update(explained(path))
    missing = set()
    for plain, _ in everything:
        for name, value in plain.items():
            missing |= set(unexplained({name: value}, known.get(name, set()) | known["config.yaml"]))
    assert sorted(missing) == []


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
    assert {*METRICS} <= listed("conf/dataset/files.yaml", "metrics:")
    assert {*METRICS} <= listed("docs/choices.md", "| `metrics` |")
    assert {*names("dataset")} <= listed("docs/choices.md", "| `dataset` |")
    config = (ROOT / "conf/config.yaml").read_text(encoding="utf-8")
    assert {*names("dataset")} <= {*re.findall(r"\w+", config.partition("\nembedding:")[0])}
