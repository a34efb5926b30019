"""Configurations of earlier releases: what has another name now, and what is gone."""

import copy
from typing import Any

from mt.common.options import as_typed
from mt.errors import UserError, shown

LAST = "0.3.0"
"""The last release that reads what is gone."""
_ANY = object()
_GONE = {
    "dataset.streaming": False,
    "dataset.digits": None,
    "dataset.format": "files",
    "dataset.field.network": None,
    "dataset.shuffle_buffer": _ANY,
    "dataset.tokenizer.tags": 0,
    "init": _ANY,
    "search.cuda_graphs": _ANY,
    "training.learnt_tags": 0.0,
    "training.objective": "cross_entropy",
    "training.risk": _ANY,
}
"""Options that are gone, with the value that changed nothing; `_ANY`: a run is read as it was with any value."""
_GONE_CHOICES = {"encoder.name": ("lc_bilstm", "pyramid", "conv")}
_RENAMED = {("attention.name", "concat"): "bahdanau", ("encoder.name", "embedding"): "none"}
"""Choices that had two names, by the one that is gone."""


def as_now(plain: dict[str, Any]) -> dict[str, Any]:
    """Returns a configuration of an earlier release, or a part of one, as this release reads it. Raises UserError where
    it has what is gone, and that changed something."""
    plain = copy.deepcopy(plain)
    # What is gone is dropped where it changed nothing, and refused elsewhere.
    for option, idle in _GONE.items():
        owner, name = _owner(plain, option)
        value = owner.pop(name, idle)
        if idle is not _ANY and value != idle:
            raise UserError(gone(f"{option}={shown(as_typed(value))}", "without it"))
    # Choices that are gone are always refused, since they made a model that cannot be built any more.
    for option, choices in _GONE_CHOICES.items():
        owner, name = _owner(plain, option)
        if owner.get(name) in choices:
            raise UserError(gone(f"{option.removesuffix('.name')}={owner[name]}", "with another"))
    for (option, old), new in _RENAMED.items():
        owner, name = _owner(plain, option)
        if owner.get(name) == old:
            owner[name] = new
    # A weight without other corpora changed nothing, and is refused now.
    dataset, _ = _owner(plain, "dataset.weight")
    if not dataset.get("mix"):
        dataset.pop("weight", None)
    return plain


def _owner(plain: Any, option: str) -> tuple[dict[str, Any], str]:
    """Returns the group that holds an option, and its name there; an empty group where there is none."""
    *groups, name = option.split(".")
    for group in groups:
        plain = plain.get(group) if isinstance(plain, dict) else None
    return plain if isinstance(plain, dict) else {}, name


def gone(option: str, remedy: str) -> str:
    """Returns the refusal of a run with an option that is gone. remedy: how it may be trained again."""
    return (
        f"{option} of this run is gone, and mt {LAST} is the last release that reads it: install that release, or "
        f"train again {remedy}"
    )
