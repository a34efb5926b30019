"""`init_from=RUN`: the options of the model are the run's own, but for those that the command line sets."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hydra.core.override_parser.types import Override

from mt.cli.choices import CONF
from mt.cli.overrides import parsed
from mt.config import Config
from mt.errors import UserError
from mt.models.config import ModelConfig

_TOKENIZER = "dataset.tokenizer"
_SAMPLE = f"{_TOKENIZER}.sample"


def started(composed: Mapping[str, Any], overrides: Sequence[str], earlier: Config) -> dict[str, Any]:
    """Returns what was composed, with the parts of the model as the earlier run has them.

    A part that the command line chooses (`attention=mocha`) is as composed, and with an experiment all are; of others
    the single options that it sets are changed. Raises UserError where it sets what cannot differ.
    """
    typed = parsed(overrides, [CONF])
    plain = dict(composed)
    before = earlier.model_dump(mode="json")
    keys = {override.key_or_group for override in typed}
    for key in sorted(keys - {_SAMPLE}):
        if key.startswith(_TOKENIZER):
            raise UserError(
                f"{key} cannot be chosen with init_from, whose tokenizers are taken: leave it out; "
                "init.vocabulary=extend adds pieces"
            )
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


def renamed(folder: Path, overrides: Sequence[str], plain: Mapping[str, Any]) -> Path:
    """Returns the run's folder, in which by default the name of the attention is that which was composed, with its
    own."""
    typed = {override.key_or_group for override in parsed(overrides, [CONF])}
    return (
        folder if typed & {"folder", "attention"} else folder.parent.with_name(plain["attention"]["name"]) / folder.name
    )


def _with_tokenizer(dataset: Mapping[str, Any], before: Mapping[str, Any]) -> dict[str, Any]:
    """Of the options of a data set those of the tokenizers that are taken, which say how they were made."""
    field = dataset["field"]
    known = before["field"]
    for option in ("name", "rate", "size"):
        if field.get(option) != known.get(option):
            one, other = (f"dataset.field.{option}={value.get(option)}" for value in (known, field))
            raise UserError(
                f"init_from was trained with {one}, and this run would have {other}: choose data of its kind"
            )
    if dataset["transcript"] and not before["transcript"]:
        raise UserError(
            f"dataset.transcript={dataset['transcript']} needs a vocabulary of its own, which init_from has not: leave "
            "it out"
        )
    sample = dataset["tokenizer"]["sample"]
    return {**dataset, "tokenizer": {**before["tokenizer"], "sample": sample}}


def _within(override: Override, part: str) -> bool:
    key = override.key_or_group
    return key == part or key.startswith((f"{part}.", f"{part}/"))


def _changed(value: Any, composed: Any, path: Sequence[str]) -> Any:
    """The value with one option as it was composed; the option itself where the path ends."""
    if not path or not isinstance(value, Mapping):
        return composed
    return {**value, path[0]: _changed(value.get(path[0]), composed.get(path[0]), path[1:])}
