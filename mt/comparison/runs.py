"""Finds finished runs on disk and reads their results, without loading models. Learning curves come first, then runs,
then their names. Damaged files raise a UserError."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, Field, TypeAdapter, ValidationError

from mt.checkpoint import load_config
from mt.common.input_files import open_regular
from mt.common.options import as_typed, first_fault, flat
from mt.config import Config
from mt.errors import UserError, nearest
from mt.evaluation.results import LARGEST, Results, read_results
from mt.evaluation.scoring import metrics_of
from mt.text_io import byte_lines, read_lines

Curve = dict[int, float]
"""The value of a score at each validation, by the number of updates before it."""
_RECORD = TypeAdapter(dict[str, Any])


class LoggedScores(BaseModel, frozen=True, strict=True):
    """The scores of one validation, as a line of `metrics.jsonl` has them."""

    update: int = Field(ge=0, le=2**53)
    scores: dict[str, float]


def read_curves(path: Path, names: Collection[str]) -> dict[str, Curve]:
    """Reads the curves of these scores from `metrics.jsonl`. A score that was not logged has no curve, and a missing
    file has no curves at all. Raises UserError where a line is not a record of a run."""
    try:
        with open_regular(path) as file:
            lines = [*byte_lines(file, str(path))]
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise UserError(f"{path} cannot be read ({error.strerror}): copy the run again") from None
    # Only validations are plotted, but every line is checked: the file may come from a stranger.
    curves: dict[str, Curve] = {}
    for number, line in enumerate(lines, start=1):
        try:
            record = _RECORD.validate_json(line)
            if record.get("kind") != "dev":
                continue
            scores = {name: record[name] for name in names if name in record}
            validation = LoggedScores.model_validate({"update": record.get("update"), "scores": scores})
        except ValidationError as error:
            raise UserError(
                f"{path}, line {number} is no record of a run ({first_fault(error)}): copy the run again"
            ) from None
        for name, value in validation.scores.items():
            # A run that diverged logs numbers that no axis can show.
            if abs(value) < LARGEST:
                curves.setdefault(name, {})[validation.update] = value
    return curves


# Finished runs.


@dataclass(frozen=True)
class FinishedRun:
    """The results of a run, and the configuration that it was trained with."""

    folder: Path
    config: Config
    results: Results
    hypotheses: Sequence[str]
    """The translations of the split that the run was scored on, in the order of the data."""
    curves: Mapping[str, Curve]
    """The loss and the main score of each metric on dev, over updates."""
    evaluations: Mapping[Path, Results]
    """Results of mt evaluate for the best checkpoint on the same split, by other searches, by their folders."""

    @property
    def attention(self) -> str:
        return self.config.attention.name


def find(paths: Sequence[Path]) -> list[FinishedRun]:
    """Finds the runs at these folders, or anywhere below them, each once. Raises UserError if there is no run, or if a
    run has not ended or is damaged."""
    # Two paths may lead to the same folder; the user sees it by the name given last.
    folders = {folder.resolve(): folder for path in paths for folder in _below(path)}
    return [_read(folder) for folder in folders.values()]


def left_out(paths: Sequence[Path]) -> list[Path]:
    """Returns the folders below these that hold checkpoints but no results: runs that were not tested."""
    below = {file.parent.parent.resolve(): file.parent.parent for path in paths for file in path.rglob("checkpoints/*")}
    return sorted(folder for folder in below.values() if not (folder / "results.json").is_file())


def require_scored_on(run: FinishedRun, digests: Mapping[str, Any]) -> bool:
    """Raises UserError if a run, or an evaluation of it that is compared, was scored on a text with other digests.
    Returns whether all results hold digests; results of earlier versions have none."""
    split = run.results.split
    remedy = f"by `mt evaluate {run.folder} --split {split} --out {run.folder}`"
    compared = [(run.folder, run.results, remedy)]
    # Evaluations without latency are not in the comparison.
    compared += [(folder, each, "with its options") for folder, each in run.evaluations.items() if each.latency]
    for folder, results, how in compared:
        if results.scored_on not in (None, digests):
            raise UserError(
                f"{folder} was scored on another {split} split than its data hold now: restore the data, or evaluate "
                f"again {how}"
            )
    return all(results.scored_on is not None for _, results, _ in compared)


def names(runs: Sequence[FinishedRun]) -> list[str]:
    """Names each run by its attention. Encoder, decoder and dataset are added where they differ from those of most
    runs. Runs whose names are still equal get the options in which they differ, and as a last resort their folders."""
    folders = [str(run.folder) for run in runs]
    return distinct_names([run.attention for run in runs], [options_of(run) for run in runs], folders)


def distinct_names(bases: Sequence[str], options: Sequence[Mapping[str, Any]], folders: Sequence[str]) -> list[str]:
    """Makes names distinct by adding options to `bases`, as `names` explains. options: those of each run, by dotted
    names."""
    extended = list(bases)
    # First the parts that are unusual among these runs.
    for key in ("encoder.name", "decoder.name", "dataset.name"):
        # The usual value tells no runs apart, and one that the attention's name says already adds nothing.
        [(usual, _)] = Counter(settings[key] for settings in options).most_common(1)
        for i, settings in enumerate(options):
            if settings[key] not in (usual, settings["attention.name"]):
                extended[i] = _extended(extended[i], settings, [key])
    # Then the options that tell equal names apart, and where these do not, the folders.
    for name, group in _repeated(extended):
        differing = _differing([options[i] for i in group])
        for i in group:
            extended[i] = _extended(name, options[i], differing)
    for name, group in _repeated(extended):
        for i in group:
            extended[i] = f"{name} {folders[i]}"
    # Some settings are free text, which must not move a terminal's cursor or break a line of a table.
    return ["".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in name) for name in extended]


def differences(runs: Sequence[FinishedRun]) -> dict[str, list[str]]:
    """Returns the options in which any of the runs differ, with the value of each run: "-" if it has no such option."""
    options = [options_of(run) for run in runs]
    return {
        key: [as_typed(settings[key]) if key in settings else "-" for settings in options]
        for key in _differing(options)
    }


def choose(runs: Sequence[FinishedRun], run_names: Sequence[str], wanted: str) -> int:
    """Returns the index of the run that a user names by its folder, its name among `run_names` or its attention.
    Raises UserError if no run or several runs match."""
    folder = Path(wanted).resolve()
    fits = [i for i, run in enumerate(runs) if run.folder.resolve() == folder or wanted == run_names[i]]
    # An attention is enough where only one run has it.
    fits = fits or [i for i, run in enumerate(runs) if run.attention == wanted]
    if not fits:
        attentions = {run.attention for run in runs}
        raise UserError(f"no run is {wanted}, to be the baseline: {nearest(wanted, {*run_names, *attentions})}")
    if len(fits) > 1:
        several = " or ".join(str(runs[i].folder) for i in fits)
        raise UserError(f"{wanted} is not one run, to be the baseline, but {len(fits)}: give the folder, {several}")
    return fits[0]


def _below(path: Path) -> list[Path]:
    if (path / "checkpoints").is_dir():
        if not (path / "results.json").is_file():
            raise UserError(
                f"{path} has no results.json, so its training has not ended, or training.test=false left the test out: "
                f"resume with `mt train resume={path} training.test=true`"
            )
        return [path]
    # Folders written by mt evaluate have results too, but no checkpoints.
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
    files = sorted(folder.glob(f"evaluations/{results.split}-best-*/results.json"))
    # Only evaluations of the best checkpoint: the run's own result is of that one, too.
    evaluations = {file.parent: read_results(file) for file in files}
    return FinishedRun(folder, config, results, hypotheses, read_curves(folder / "metrics.jsonl", logged), evaluations)


def options_of(run: FinishedRun) -> dict[str, Any]:
    """Returns the configuration of a run by dotted names, without its device."""
    # Another device does not make it another run.
    return dict(flat(run.config.model_dump(mode="json", exclude={"device"})))


def _differing(options: Sequence[Mapping[str, Any]]) -> list[str]:
    keys = dict.fromkeys(key for settings in options for key in settings)
    return [key for key in keys if any(settings.get(key) != options[0].get(key) for settings in options)]


def _extended(name: str, options: Mapping[str, Any], keys: Sequence[str]) -> str:
    """Adds options to a name as the command line has them: `encoder=lstm`, `attention.chunk_size=4`."""
    added = [f"{key.removesuffix('.name')}={as_typed(options[key])}" for key in keys if key in options]
    return " ".join([name, *added])


def _repeated(names: Sequence[str]) -> list[tuple[str, list[int]]]:
    """Returns each name that occurs several times, with its indices."""
    groups: dict[str, list[int]] = {}
    for i, name in enumerate(names):
        groups.setdefault(name, []).append(i)
    return [(name, group) for name, group in groups.items() if len(group) > 1]
