"""Finds finished runs on disk, reads them without their models, and names them by what tells them apart."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mt.checkpoint import load_config
from mt.common.options import as_typed, flat
from mt.comparison.results import Curve, Results, read_curves, read_results
from mt.config import Config
from mt.errors import UserError, nearest
from mt.evaluation.scoring import metrics_of
from mt.text_io import read_lines


@dataclass(frozen=True)
class FinishedRun:
    """The results of a run, and the configuration that it was trained with."""

    folder: Path
    config: Config
    results: Results
    hypotheses: Sequence[str]
    """Its translations of the split that it was scored on, in the order of the data."""
    curves: Mapping[str, Curve]
    """The loss and the main score of each metric on dev, over updates."""
    evaluations: Sequence[Results] = ()
    """Results of scripts/evaluate.py for the best checkpoint on the same split, by other searches."""

    @property
    def attention(self) -> str:
        return self.config.attention.name


def find(paths: Sequence[Path]) -> list[FinishedRun]:
    """Finds the runs at these folders, or anywhere below them, each once.

    Raises UserError where there is none, or one that has not ended or is damaged.
    """
    folders = {folder.resolve(): folder for path in paths for folder in _below(path)}
    return [_read(folder) for folder in folders.values()]


def names(runs: Sequence[FinishedRun]) -> list[str]:
    """Returns for each run its attention, with encoder, decoder and dataset where they are not those of most runs.

    Where that leaves two the same, each option in which those differ is added, and the folder's name as a last resort.
    """
    folders = [str(run.folder) for run in runs]
    return distinct_names([run.attention for run in runs], [options_of(run) for run in runs], folders)


def distinct_names(bases: Sequence[str], options: Sequence[Mapping[str, Any]], folders: Sequence[str]) -> list[str]:
    """Returns distinct names that begin as `bases`; see `names`. options: of each, by dotted names."""
    extended = list(bases)
    for key in ("encoder.name", "decoder.name", "dataset.name"):
        [(usual, _)] = Counter(settings[key] for settings in options).most_common(1)
        for i, settings in enumerate(options):
            if settings[key] not in (usual, settings["attention.name"]):
                extended[i] = _extended(extended[i], settings, [key])
    for name, group in _repeated(extended):
        differing = _differing([options[i] for i in group])
        for i in group:
            extended[i] = _extended(name, options[i], differing)
    for name, group in _repeated(extended):
        for i in group:
            extended[i] = f"{name} {folders[i]}"
    # Settings are free text in part: nothing in them may move a terminal's cursor, or end a line of a table.
    return ["".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in name) for name in extended]


def differences(runs: Sequence[FinishedRun]) -> dict[str, list[str]]:
    """Returns the options in which any of the runs differ, with the value in each: "-" where it has no such option."""
    options = [options_of(run) for run in runs]
    return {
        key: [as_typed(settings[key]) if key in settings else "-" for settings in options]
        for key in _differing(options)
    }


def choose(runs: Sequence[FinishedRun], run_names: Sequence[str], wanted: str) -> int:
    """Returns the index of the run that is meant by a folder, by its name among `run_names` or by its attention.

    Raises UserError where none or several are.
    """
    folder = Path(wanted).resolve()
    fits = [i for i, run in enumerate(runs) if run.folder.resolve() == folder or wanted == run_names[i]]
    fits = fits or [i for i, run in enumerate(runs) if run.attention == wanted]
    if not fits:
        attentions = {run.attention for run in runs}
        raise UserError(f"no run is {wanted}, to be the baseline: {nearest(wanted, {*run_names, *attentions})}")
    if len(fits) > 1:
        several = " or ".join(str(runs[i].folder) for i in fits)
        raise UserError(f"{wanted} is not one run, to be the baseline, but {len(fits)}: give the folder, {several}")
    return fits[0]


def _below(path: Path) -> list[Path]:
    """Returns the folders of finished runs at a path and below it. Raises UserError where there is none."""
    if (path / "checkpoints").is_dir():
        if not (path / "results.json").is_file():
            raise UserError(
                f"{path} has no results.json, so its training has not ended: resume with "
                f"`python train.py resume={path}`"
            )
        return [path]
    # What scripts/evaluate.py writes has results too, but no checkpoints.
    folders = sorted(file.parent for file in path.rglob("results.json") if (file.parent / "checkpoints").is_dir())
    if not folders:
        raise UserError(
            f"{path} holds no finished run (a folder with checkpoints/ and results.json): give the folder that "
            "training printed, or one above several"
        )
    return folders


def _read(folder: Path) -> FinishedRun:
    results = read_results(folder / "results.json")
    config = load_config(folder, "best")
    hypotheses = read_lines(folder / "hypotheses" / f"{results.split}.txt")
    logged = ("loss", *(metric.main() for metric in metrics_of(config.dataset)))
    evaluations = [
        read_results(file) for file in sorted(folder.glob(f"evaluations/{results.split}-best-*/results.json"))
    ]
    return FinishedRun(folder, config, results, hypotheses, read_curves(folder / "metrics.jsonl", logged), evaluations)


def options_of(run: FinishedRun) -> dict[str, Any]:
    """Returns the whole configuration of a run but for its device, by dotted names."""
    return dict(flat(run.config.model_dump(mode="json", exclude={"device"})))


def _differing(options: Sequence[Mapping[str, Any]]) -> list[str]:
    """Returns the names of the options that are not the same in all."""
    keys = dict.fromkeys(key for settings in options for key in settings)
    return [key for key in keys if any(settings.get(key) != options[0].get(key) for settings in options)]


def _extended(name: str, options: Mapping[str, Any], keys: Sequence[str]) -> str:
    """Returns a name with options behind it as the command line has them: `encoder=lstm`, `attention.chunk_size=4`."""
    return " ".join(
        [name, *(f"{key.removesuffix('.name')}={as_typed(options[key])}" for key in keys if key in options)]
    )


def _repeated(names: Sequence[str]) -> list[tuple[str, list[int]]]:
    """Returns each name that several have, with the indices of those."""
    groups = [(name, [i for i, other in enumerate(names) if other == name]) for name in dict.fromkeys(names)]
    return [(name, group) for name, group in groups if len(group) > 1]
