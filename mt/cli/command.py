"""From the command line to plain data: Hydra composes, and its complaints become sentences. For entry points alone."""

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

import hydra
from hydra.core.hydra_config import HydraConfig
from hydra.core.override_parser.types import Override
from omegaconf import DictConfig, OmegaConf
from pydantic import AfterValidator

from mt.cli import launch
from mt.cli.choices import CONF, RECIPE_KEYS, check_choice, implied
from mt.cli.flags import read_flags, require_package
from mt.cli.manual import manual
from mt.cli.overrides import parsed, translated
from mt.cli.sweep import Job, expand, folder_of, run_all
from mt.cli.typed import plain, require_once, several
from mt.common.options import Options, parse
from mt.errors import UserError, reported, shown, with_own_commands, within_memory
from mt.storage import write_text

if TYPE_CHECKING:  # preparation comes this way too, and would wait for torch
    from mt.config import Config

_RESUMABLE_TRAINING = (
    *("epochs", "max_updates", "patience", "average_checkpoints", "save_every", "log_every"),
    *("plots", "plot_words", "plot_format"),
)
RESUMABLE = ("device", *(f"training.{name}" for name in _RESUMABLE_TRAINING))
"""Options that may change when a run is resumed, besides those of search: none alters what an update does."""

Main = Callable[[dict[str, Any], list[str]], None]


def _can_be_made(path: str) -> str:
    if Path(path).name in ("", "..") or "\0" in path:
        raise UserError(f"folder={shown(path)} names no folder that can be made: give a path such as outputs/name")
    return path


def _can_be_opened(path: str) -> str:
    if not path or "\0" in path:
        raise UserError(f"resume={shown(path)} names no folder: give that of a run")
    return path


def _can_be_started_from(path: str) -> str:
    if not path or "\0" in path:
        raise UserError(f"init_from={shown(path)} names no folder: give that of a run")
    return path


class _TrainOptions(Options, extra="ignore"):
    """What `train.py` takes for itself."""

    folder: Annotated[str, AfterValidator(_can_be_made)]
    resume: Annotated[str, AfterValidator(_can_be_opened)] | None
    init_from: Annotated[str, AfterValidator(_can_be_started_from)] | None


class _PrepareOptions(Options, extra="ignore"):
    """What `python -m data_prep` takes for itself."""

    corpora: str
    dry_run: bool
    part: str | None
    runner: Literal["processes", "ray"]


_ENTRIES: dict[str, type[Options]] = {"config": _TrainOptions, "data_prep": _PrepareOptions}


def compose(main: Main, name: str) -> None:
    """Calls `main(plain, overrides)` with what `conf/<name>.yaml` and the command line say, for each job of a sweep.

    plain: the resolved configuration; overrides: the `key=value` arguments. What a user can mend ends as one sentence;
    in a sweep, whose other jobs run, as a line of the table at its end.
    """
    with reported():
        composed(main, name)


def composed(main: Main, name: str) -> None:
    """As `compose`, inside of `reported`."""
    # Otherwise Hydra prints a report of its own and ends the process.
    os.environ["HYDRA_FULL_ERROR"] = "1"
    with translated():
        arguments = read_flags()
        roots = [*([Path(arguments.config_dir)] if arguments.config_dir else []), CONF]
        whole = arguments.help and "all" in arguments.overrides
        lines = [plain(line) for line in arguments.overrides if not (whole and line == "all")]
        overrides = parsed(lines, roots)
        if not arguments.shell_completion:
            require_once(overrides)
        if arguments.help:
            single = [one for one in overrides if not one.is_sweep_override()]
            typed = [one.input_line or "" for one in single]
            text = manual(name, typed, roots, implied=_implied(single, roots, name), whole=whole)
            print(with_own_commands(text))
            return
        # `--info` would take an override for its value.
        flags = [argument for argument in sys.argv[1:] if argument not in arguments.overrides]
        if not arguments.multirun:
            _check(overrides, roots, _ENTRIES[name])
        elif launch.chosen(overrides) or not any(map(_of_hydra, overrides)):
            jobs = expand([one for one in overrides if not _of_hydra(one)])
            _check([override for job in jobs for override in parsed(job.overrides, roots)], roots, _ENTRIES[name])
            flags = [flag for flag in flags if flag not in ("-m", "--multirun")]
            if launch.chosen(overrides):
                succeeded = _launch(main, name, jobs, [one for one in overrides if _of_hydra(one)], roots)
            else:
                succeeded = run_all(jobs, lambda job: _run(main, name, job, flags, roots))
            if not succeeded:
                sys.exit(1)
            return
        # A sweeper of Hydra's plugins is Hydra's to run.
        with require_package(arguments.package):
            _run(main, name, Job(lines), flags, roots)


def _of_hydra(override: Override) -> bool:
    return override.key_or_group.startswith(("hydra/", "hydra."))


def _check(overrides: Sequence[Override], roots: Sequence[Path], entry: type[Options]) -> None:
    for override in overrides:
        if override.is_delete() and override.key_or_group in entry.model_fields:
            raise UserError(f"{override.key_or_group} cannot be left out: give it another value")
        if override.is_sweep_override():
            raise UserError(several(override))
        check_choice(override, roots)


def _implied(overrides: Sequence[Override], roots: Sequence[Path], name: str) -> list[str]:
    return implied(overrides, roots) if name == "config" else []


def _run(main: Main, name: str, job: Job, flags: Sequence[str], roots: Sequence[Path]) -> None:
    """One job, or what else the flags ask for: Hydra reads the command line itself."""
    failures: list[Exception] = []

    def task(composed: DictConfig) -> None:
        try:
            _require_lasting_folder(composed)
            _call(main, name, job, further, composed)
        except Exception as error:
            # Hydra would write a line of its own about an exception that leaves the task.
            failures.append(error)

    further = [] if "--multirun" in flags or "-m" in flags else _implied(parsed(job.overrides, roots), roots, name)
    sys.argv = [sys.argv[0], *job.overrides, *further, *flags]
    with translated():
        hydra.main(version_base="1.3", config_path=str(CONF), config_name=name)(task)()
    if failures:
        raise failures[0]


def _launch(main: Main, name: str, jobs: list[Job], options: Sequence[Override], roots: Sequence[Path]) -> bool:
    """All jobs, by the launcher that the options choose. They go on where they were when a queue starts them again."""
    further = [_implied(parsed(job.overrides, roots), roots, name) for job in jobs]
    for job, implied_lines in zip(jobs, further, strict=True):
        if name == "config" and not any(line.startswith("resume=") for line in job.overrides):
            implied_lines.append("resume=auto")

    def call(number: int, composed: DictConfig) -> None:
        _call(main, name, jobs[number], further[number], composed)

    with translated():
        return launch.launch(name, jobs, further, options, roots, call)


def _call(main: Main, name: str, job: Job, further: Sequence[str], composed: DictConfig) -> None:
    """Calls `main` for a job. further: its arguments that nobody typed."""
    with translated():
        plain = cast(dict[str, Any], OmegaConf.to_container(composed, resolve=True))
    for key in RECIPE_KEYS:
        plain.pop(key, None)
    parse(plain, _ENTRIES[name])
    if "folder" in plain:
        plain["folder"] = str(folder_of(job, Path(plain["folder"])))
    with within_memory():
        main(plain, [one for one in HydraConfig.get().overrides.task if one not in further])


def _require_lasting_folder(composed: DictConfig) -> None:
    raw = cast(dict[str, Any], OmegaConf.to_container(composed, resolve=False))
    if raw.get("resume") == "auto" and "${now:" in str(raw["folder"]):
        raise UserError(
            "resume=auto goes on in the folder that it is given, and this one has the time in its name: add "
            "folder=outputs/NAME"
        )


def merged(config: "Config", overrides: Sequence[str]) -> "Config":
    """A checkpoint's configuration with what may change on the way: how long to train, how to decode, where to run."""
    from mt.search.config import revised_search  # Not above: preparation comes this way, too, and would wait for torch.

    plain = config.model_dump(mode="json")
    search: dict[str, Any] = {}
    for override in parsed(overrides, [CONF]):
        key = "search.name" if override.key_or_group == "search" else override.key_or_group
        if key in ("resume", "folder"):
            continue
        part, _, option = key.rpartition(".")
        if override.is_delete() or (key not in RESUMABLE and part != "search"):
            raise UserError(
                f"{key} cannot change when a run is resumed, since it would be another run: leave it out, or start a "
                f"new run (search.* and {', '.join(RESUMABLE)} can change)"
            )
        (search if part == "search" else plain[part] if part else plain)[option] = override.value()
    revised = parse(plain, type(config))
    return revised.model_copy(update={"search": revised_search(config.search, search)})


def agreed(config: "Config", trained: "Config", folder: Path) -> "Config":
    """The configuration of a command line that goes on with a run.

    trained: that of its checkpoint. Raises UserError where they differ in more than may change on the way.
    """
    from mt.comparison.runs import flat, shown as written  # Not above, as in `merged`.

    here, there = (dict(flat(one.model_dump(mode="json"))) for one in (config, trained))
    for key in sorted(here.keys() | there.keys()):
        now, then = (shown(written(values.get(key))) for values in (here, there))
        if now != then and key not in RESUMABLE and not key.startswith("search."):
            raise UserError(
                f"{folder} was trained with {key}={then}, and {key}={now} would be another run: leave it as it was, or "
                "give another folder="
            )
    from mt.search.config import limited_as  # likewise

    return config.model_copy(update={"search": limited_as(config.search, trained.search)})


def save_composed(composed: Mapping[str, Any], folder: Path) -> None:
    """Writes `config.yaml`: what was composed for a run."""
    write_text(folder / "config.yaml", OmegaConf.to_yaml(OmegaConf.create(dict(composed))).splitlines())
