"""Configures a run that starts from another (`init_from=RUN`): the options of the model are those of the earlier run,
but for those that the command line sets."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hydra.core.override_parser.types import Override

from mt.cli.choices import CONF
from mt.cli.overrides import parse_overrides
from mt.config import Config
from mt.errors import UserError
from mt.models.config import ModelConfig

_TOKENIZER = "dataset.tokenizer"
_SAMPLE = f"{_TOKENIZER}.sample"
_PRETRAINED = "embedding.pretrained"


def with_earlier_model(composed: Mapping[str, Any], overrides: Sequence[str], earlier: Config) -> dict[str, Any]:
    """Returns what was composed, with the parts of the model as the earlier run has them.

    A part that the command line chooses (`attention=mocha`) is as composed, and with an experiment all are; of others
    the single options that it sets are changed. Raises UserError where it sets what cannot differ.
    """
    typed = parse_overrides(overrides, [CONF])
    plain = dict(composed)
    before = earlier.model_dump(mode="json")
    keys = {override.key_or_group for override in typed}
    for key in sorted(keys - {_SAMPLE}):
        if key.startswith(_TOKENIZER):
            raise UserError(
                f"{key} cannot be chosen with init_from, whose tokenizers are taken: leave it out; "
                "init.vocabulary=extend adds pieces"
            )
        if key.startswith(_PRETRAINED):
            raise UserError(f"{key} cannot be chosen with init_from, whose vectors are taken: leave it out")
    plain["dataset"] = _with_tokenizer(plain["dataset"], before["dataset"])
    if any(override.key_or_group == "experiment" and not override.is_delete() for override in typed):
        return plain
    for part in ModelConfig.model_fields:
        of_part = [override for override in typed if _within(override, part)]
        if isinstance(plain[part], Mapping) and any("." not in override.key_or_group for override in of_part):
            continue
        value = before[part]
        for override in of_part:
            value = _changed(value, composed[part], override.key_or_group.split(".")[1:])
        plain[part] = value
    return plain


def folder_of_attention(folder: Path, overrides: Sequence[str], plain: Mapping[str, Any]) -> Path:
    """Returns the run's folder, which by default is below the name of the attention that the earlier run has.

    folder: as it was composed. plain: the configuration with the model of the earlier run.
    """
    typed = {override.key_or_group for override in parse_overrides(overrides, [CONF])}
    if typed & {"folder", "attention"}:
        return folder
    return folder.parent.with_name(plain["attention"]["name"]) / folder.name


def _with_tokenizer(dataset: Mapping[str, Any], before: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the options of a data set with the earlier run's options of tokenizers, which are taken as they are.

    Raises UserError for data of another kind.
    """
    field = dataset["field"]
    earlier_field = before["field"]
    for option in ("name", "rate", "size"):
        if field.get(option) != earlier_field.get(option):
            raise UserError(
                f"init_from was trained with dataset.field.{option}={earlier_field.get(option)}, and this run would "
                f"have dataset.field.{option}={field.get(option)}: choose data of its kind"
            )
    if dataset["transcript"] and not before["transcript"]:
        raise UserError(
            f"dataset.transcript={dataset['transcript']} needs a vocabulary of its own, which init_from has not: leave "
            "it out"
        )
    sample = dataset["tokenizer"]["sample"]
    return {**dataset, "tokenizer": {**before["tokenizer"], "sample": sample}}


def _within(override: Override, part: str) -> bool:
    """Returns whether an override chooses a part of the model, or sets an option of it."""
    key = override.key_or_group
    return key == part or key.startswith((f"{part}.", f"{part}/"))


def _changed(value: Any, composed: Any, path: Sequence[str]) -> Any:
    """Returns a value with one option as it was composed; the composed option itself where the path ends."""
    if not path or not isinstance(value, Mapping):
        return composed
    return {**value, path[0]: _changed(value.get(path[0]), composed.get(path[0]), path[1:])}
