"""Configures runs that go on from an earlier one. A resumed run (`resume=RUN`, `resume=auto`) may change few options. A
run with `init_from=RUN` has the model of the earlier run, except for the options that the command line sets."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mt.cli.composition import parse_overrides
from mt.common.options import as_typed, flat, parse
from mt.common.terminal import note
from mt.config import Config
from mt.errors import UserError, shown
from mt.models.config import ModelConfig
from mt.search.config import revised_search, with_default_limits

_RESUMABLE_TRAINING = (
    *("epochs", "max_updates", "patience", "average_checkpoints", "save_every", "log_every"),
    *("plots", "plot_words", "plot_format"),
)
RESUMABLE = ("device", *(f"training.{name}" for name in _RESUMABLE_TRAINING))
"""Options that may change when a run is resumed, besides those of search. None alters what an update does, except
for the end of a run with optimizer/schedule=cooldown: see `_note_another_end`."""


def _note_another_end(trained: Config, config: Config) -> None:
    """Prints a note where the learning rate falls towards the end of a run, and the run gets another end."""
    ends = [(each.training.epochs, each.training.max_updates) for each in (trained, config)]
    if config.optimizer.schedule.name == "cooldown" and ends[0] != ends[1]:
        note(
            "with optimizer/schedule=cooldown the rate falls towards the end of the run, which is another now: "
            "updates that it has made at a falling rate differ from those of a run of this length from the beginning"
        )


def resumed_config(config: Config, overrides: Sequence[str]) -> Config:
    """Returns a checkpoint's configuration with the changes of a command line that has `resume=RUN`. Raises UserError
    for a change that would make it another run."""
    plain = config.model_dump(mode="json")
    # Changes of the search are collected, as a new search drops options that it does not have.
    search: dict[str, Any] = {}
    for override in parse_overrides(overrides):
        key = "search.name" if override.key_or_group == "search" else override.key_or_group
        if key in ("resume", "folder", "corpora"):
            continue
        group, _, option = key.rpartition(".")
        if override.is_delete() or (key not in RESUMABLE and group != "search"):
            raise UserError(
                f"{key} cannot change when a run is resumed, since it would be another run: leave it out, or start "
                f"anew (search.* and {', '.join(RESUMABLE)} can change)"
            )
        # Among the options of the search, of a group, or at the top.
        (search if group == "search" else plain[group] if group else plain)[option] = override.value()
    revised = parse(plain, type(config))
    _note_another_end(config, revised)
    return revised.model_copy(update={"search": revised_search(config.search, search)})


def continued_config(config: Config, trained: Config, folder: Path) -> Config:
    """Returns the configuration of a run that goes on by `resume=auto`.

    config: as the command line says. trained: as in the run's checkpoint. Raises UserError where they differ in an
    option that may not change when a run is resumed.
    """
    options = dict(flat(config.model_dump(mode="json")))
    trained_options = dict(flat(trained.model_dump(mode="json")))
    # In order, so that the same option is named each time.
    for key in sorted(options.keys() | trained_options.keys()):
        value = options.get(key)
        trained_value = trained_options.get(key)
        if value != trained_value and key not in RESUMABLE and not key.startswith("search."):
            written, trained_as = (shown(as_typed(each)) for each in (value, trained_value))
            raise UserError(
                f"{folder} was trained with {key}={trained_as}, and {key}={written} would be another run: leave it as "
                "it was, or give another folder="
            )
    _note_another_end(trained, config)
    return config.model_copy(update={"search": with_default_limits(config.search, trained.search)})


# A run that starts from another.


def with_earlier_model(composed: Mapping[str, Any], overrides: Sequence[str], earlier: Config) -> dict[str, Any]:
    """Returns the composed options with the model of the earlier run.

    A part that the command line chooses (`attention=mocha`) stays as composed, and an experiment keeps all parts. In
    the other parts, single options of the command line are set. Raises UserError for an option that cannot differ.
    """
    typed = parse_overrides(overrides)
    plain = dict(composed)
    trained = earlier.model_dump(mode="json")
    keys = [override.key_or_group for override in typed]
    # Tokenizers and pretrained vectors come with the earlier run, so options of them cannot be obeyed.
    for key in sorted(keys):
        if key.startswith("dataset.tokenizer") and key != "dataset.tokenizer.sample":
            raise UserError(
                f"{key} cannot be chosen with init_from, whose tokenizers are taken: leave it out, or start anew"
            )
        if key.startswith("embedding.pretrained"):
            raise UserError(f"{key} cannot be chosen with init_from, whose vectors are taken: leave it out")
    plain["dataset"] = _with_tokenizer(plain["dataset"], trained["dataset"])
    # An experiment says what the whole model is, so nothing of the earlier one replaces it.
    if any(override.key_or_group == "experiment" and not override.is_delete() for override in typed):
        return plain
    # Every other part is as it was, except for the single options that are typed.
    for name in ModelConfig.model_fields:
        of_part = [key for key in keys if re.split("[./]", key)[0] == name]
        if isinstance(plain[name], Mapping) and any("." not in key for key in of_part):
            continue
        plain[name] = trained[name]
        for key in of_part:
            plain[name] = _changed(plain[name], composed[name], key.split(".")[1:])
    return plain


def _with_tokenizer(dataset: Mapping[str, Any], earlier: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the options of a data set with the tokenizers of the earlier run. Raises UserError for data of another
    kind."""
    # Sources are of the same kind, and a transcript needs the earlier run's vocabulary of transcripts.
    for option in ("name", "rate", "size"):
        trained, composed = (each["field"].get(option) for each in (earlier, dataset))
        if composed != trained:
            raise UserError(
                f"init_from was trained with dataset.field.{option}={trained}, and this run would have "
                f"dataset.field.{option}={composed}: choose data of its kind"
            )
    if dataset["transcript"] and not earlier["transcript"]:
        raise UserError(
            f"dataset.transcript={dataset['transcript']} needs a vocabulary of its own, which init_from has not: leave "
            "it out"
        )
    # Whether pieces are sampled is of the training, not of the vocabulary, so that it may differ.
    sample = dataset["tokenizer"]["sample"]
    return {**dataset, "tokenizer": {**earlier["tokenizer"], "sample": sample}}


def _changed(value: Any, composed: Any, path: Sequence[str]) -> Any:
    """Returns a part with the option at a path replaced by its composed value."""
    if not path or not isinstance(value, Mapping):
        return composed
    return {**value, path[0]: _changed(value.get(path[0]), composed.get(path[0]), path[1:])}
