"""Finished runs: found on disk, read without their models, and named by what tells them apart."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mt.checkpoint import load_config
from mt.config import Config
from mt.errors import UserError, nearest
from mt.text_io import read_lines


@dataclass(frozen=True)
class FinishedRun:
    """What a run left for people, and the configuration that it was trained with."""

    folder: Path
    config: Config
    results: Mapping[str, Any]
    """`results.json`."""
    hypotheses: Sequence[str]
    """Of the test split, in its order."""

    @property
    def attention(self) -> str:
        """Its choice on the command line: `dot` is global with that energy, `bahdanau` is `concat` and a decoder."""
        attention = self.config.attention.model_dump()
        name = attention["energy"]["name"] if attention["name"] == "global" else attention["name"]
        return "bahdanau" if (name, self.config.decoder.name) == ("concat", "bahdanau") else name


def find(paths: Sequence[Path]) -> list[FinishedRun]:
    """The runs at these folders, or anywhere below them, each once.

    Raises UserError where there is none, or one that has not ended or is damaged.
    """
    folders = {folder.resolve(): folder for path in paths for folder in _below(path)}
    return [_read(folder) for folder in folders.values()]


def names(runs: Sequence[FinishedRun]) -> list[str]:
    """For each run its attention, with encoder, decoder and dataset where they are not those of most runs.

    Where that leaves two the same, each option in which those differ is added, and the folder's name as a last resort.
    """
    options = [dict(_flat(run.config.model_dump(exclude={"device"}))) for run in runs]
    found = [run.attention for run in runs]
    for key in ("encoder.name", "decoder.name", "dataset.name"):
        [(usual, _)] = Counter(own[key] for own in options).most_common(1)
        for i, own in enumerate(options):
            if own[key] not in (usual, runs[i].attention):
                found[i] = _extended(found[i], own, [key])
    for name, group in _repeated(found):
        differing = _differing([options[i] for i in group])
        for i in group:
            found[i] = _extended(name, options[i], differing)
    for name, group in _repeated(found):
        for i in group:
            found[i] = f"{name} {runs[i].folder}"
    return found


def choose(runs: Sequence[FinishedRun], known: Sequence[str], wanted: str) -> int:
    """The index of the run that is meant by a folder, by its name among `names` or by its attention.

    Raises UserError where none or several are.
    """
    folder = Path(wanted).resolve()
    fits = [i for i, run in enumerate(runs) if run.folder.resolve() == folder or wanted == known[i]]
    fits = fits or [i for i, run in enumerate(runs) if run.attention == wanted]
    if not fits:
        attentions = {run.attention for run in runs}
        raise UserError(f"no run is {wanted}, to be the baseline: {nearest(wanted, {*known, *attentions})}")
    if len(fits) > 1:
        several = " or ".join(str(runs[i].folder) for i in fits)
        raise UserError(f"{wanted} is not one run, to be the baseline, but {len(fits)}: give the folder, {several}")
    return fits[0]


def _below(path: Path) -> list[Path]:
    if (path / "checkpoints").is_dir():
        if not (path / "results.json").is_file():
            raise UserError(
                f"{path} has no results.json, so its training has not ended: go on with `python train.py resume={path}`"
            )
        return [path]
    # What scripts/evaluate.py writes has results too, but no checkpoints.
    found = sorted(file.parent for file in path.rglob("results.json") if (file.parent / "checkpoints").is_dir())
    if not found:
        raise UserError(
            f"{path} holds no finished run (a folder with checkpoints/ and results.json): give the folder that "
            "training printed, or one above several"
        )
    return found


def _read(folder: Path) -> FinishedRun:
    path = folder / "results.json"
    try:
        results = json.loads(path.read_text(encoding="utf-8"))
        results["search"]["mode"]
    except (OSError, ValueError, KeyError, TypeError):
        raise UserError(
            f"{path} does not hold the results of a run: copy the run again, or leave it out of the comparison"
        ) from None
    return FinishedRun(folder, load_config(folder, "best"), results, read_lines(folder / "hypotheses" / "test.txt"))


def _flat(options: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in options.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield prefix + key, value


def _differing(options: Sequence[Mapping[str, Any]]) -> list[str]:
    keys = dict.fromkeys(key for own in options for key in own)
    return [key for key in keys if any(own.get(key) != options[0].get(key) for own in options)]


def _extended(name: str, options: Mapping[str, Any], keys: Sequence[str]) -> str:
    """The name with options as the command line has them: `encoder=lstm`, `attention.chunk_size=4`."""
    return " ".join([name, *(f"{key.removesuffix('.name')}={options[key]}" for key in keys if key in options)])


def _repeated(found: Sequence[str]) -> list[tuple[str, list[int]]]:
    """Each name that several have, and who."""
    groups = [(name, [i for i, other in enumerate(found) if other == name]) for name in dict.fromkeys(found)]
    return [(name, group) for name, group in groups if len(group) > 1]
