"""Makes plain data of the command line: Hydra composes, and its complaints become sentences. For entry points alone."""

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal, cast

import hydra
from hydra import initialize_config_dir
from hydra.core.hydra_config import HydraConfig
from hydra.core.override_parser.types import Override
from omegaconf import DictConfig, OmegaConf, flag_override
from pydantic import AfterValidator

from mt.cli import launch
from mt.cli.choices import CONF, check_choice, presets, search_path
from mt.cli.flags import read_flags, require_package
from mt.cli.manual import explanation, manual
from mt.cli.overrides import complaints_as_sentences, parse_overrides
from mt.cli.sweep import Job, expand, folder_of, run_all
from mt.cli.typed import quote_text, require_once, several_values_sentence, with_files
from mt.common.options import Options, flat, parse
from mt.common.terminal import say
from mt.errors import UserError, reported, shown, with_own_commands, within_memory
from mt.storage import write_text

Main = Callable[[dict[str, Any], list[str], Sequence[str]], None]
"""Does a job: with the plain configuration, its `key=value` arguments, and lines that name what presets set."""


def _new_folder(path: str) -> str:
    if Path(path).name in ("", "..") or "\0" in path:
        raise UserError(f"folder={shown(path)} names no folder that can be made: give a path such as outputs/name")
    return path


def _named_folder(path: str, option: str) -> str:
    if not path or "\0" in path:
        kind = "that of prepared corpora" if option == "corpora" else "that of a run"
        raise UserError(f"{option}={shown(path)} names no folder: give {kind}")
    return path


class _TrainOptions(Options, extra="ignore"):
    """The options of `train.py` that are not of the model and its training."""

    folder: Annotated[str, AfterValidator(_new_folder)]
    corpora: Annotated[str, AfterValidator(partial(_named_folder, option="corpora"))]
    resume: Annotated[str, AfterValidator(partial(_named_folder, option="resume"))] | None
    init_from: Annotated[str, AfterValidator(partial(_named_folder, option="init_from"))] | None


class _PrepareOptions(Options, extra="ignore"):
    """The options of `python -m data_prep` that are not of the data."""

    corpora: Annotated[str, AfterValidator(partial(_named_folder, option="corpora"))]
    dry_run: bool
    part: str | None
    runner: Literal["processes", "ray"]


_ANSWERED_BY_HYDRA = ("--cfg", "-c", "--info", "-i", "--shell-completion", "-sc", "--hydra-help")
_ENTRIES: dict[str, type[Options]] = {"config": _TrainOptions, "data_prep": _PrepareOptions}


def compose(main: Main, name: str, arguments: Sequence[str]) -> None:
    """Calls `main` with what `conf/<name>.yaml` and the command line say, for each job of a sweep.

    arguments: the words of the command line. What a user can mend ends as one sentence; in a sweep, whose other jobs
    run, as a line of the table at its end.
    """
    with reported():
        compose_unreported(main, name, arguments)


def compose_unreported(main: Main, name: str, words: Sequence[str]) -> None:
    """Does what `compose` does, and raises what a user can mend as UserError."""
    # Otherwise Hydra prints a report of its own and ends the process.
    os.environ["HYDRA_FULL_ERROR"] = "1"
    with complaints_as_sentences():
        arguments = read_flags(words)
        roots = [*([Path(arguments.config_dir)] if arguments.config_dir else []), CONF]
        whole = arguments.help and "all" in arguments.overrides
        typed = [line for line in arguments.overrides if not (whole and line == "all")]
        lines = [quote_text(line) for line in with_files(typed, roots)]
        overrides = parse_overrides(lines, roots)
        if not arguments.shell_completion:
            require_once(overrides)
        command = _Command(main, name, roots)
        if arguments.help or arguments.explain is not None:
            command.check([one for one in overrides if not one.is_sweep_override()])
            job = Job([one.input_line or "" for one in overrides if not one.is_sweep_override()])
            command.apply_presets(job)
            pages = (name, job.overrides, roots)
            if arguments.explain is not None:
                say(explanation(*pages, key=arguments.explain, presets=job.presets))
            else:
                say(with_own_commands(manual(*pages, added=job.added, whole=whole)))
            return
        # `--info` would take an override for its value.
        flags = [argument for argument in words if argument not in arguments.overrides]
        if arguments.multirun and (launch.chosen(overrides) or not any(map(_is_of_hydra, overrides))):
            if not command.sweep(overrides, [flag for flag in flags if flag not in ("-m", "--multirun")]):
                sys.exit(1)
            return
        job = Job(lines)
        if arguments.multirun:  # a sweeper of Hydra's plugins makes the jobs
            command.answer(job, flags)
            return
        command.check(overrides)
        with require_package(arguments.package):
            command.run(job, flags)


@dataclass(frozen=True)
class _Command:
    """A command of which jobs are composed and run."""

    main: Main
    name: str
    """The name of its configuration file, `conf/<name>.yaml`."""
    roots: Sequence[Path]
    """Folders of configuration files."""

    def check(self, overrides: Sequence[Override]) -> None:
        """Raises UserError for overrides that no single job can have."""
        for override in overrides:
            if override.is_delete() and override.key_or_group in _ENTRIES[self.name].model_fields:
                raise UserError(f"{override.key_or_group} cannot be left out: give it another value")
            if override.is_sweep_override():
                raise UserError(several_values_sentence(override))
            check_choice(override, self.roots)

    def compose(self, job: Job) -> DictConfig:
        """Returns the configuration of a job, with Hydra's own part."""
        with initialize_config_dir(str(CONF), job_name="mt", version_base="1.3"):
            lines = [*search_path(self.roots), *job.overrides, *job.added]
            return hydra.compose(self.name, lines, return_hydra_config=True)

    def apply_presets(self, job: Job) -> DictConfig:
        """Returns the configuration of a job without the options of presets that its parts do not have."""
        composed = self.compose(job)
        typed = {override.key_or_group for override in parse_overrides(job.overrides, self.roots)}
        plain = cast(dict[str, Any], OmegaConf.to_container(composed, resolve=False))
        chosen = plain.pop("hydra")["runtime"]["choices"]
        job.presets = presets(chosen, dict(flat(plain)), typed, self.roots)
        job.added += job.presets.removed
        return self.compose(job) if job.presets.removed else composed

    def sweep(self, overrides: Sequence[Override], flags: Sequence[str]) -> bool:
        """Runs the jobs of a sweep: here, one after another, or by the launcher that is chosen, where they go on where
        they were when a queue starts them again. Returns whether all succeeded."""
        jobs = expand([one for one in overrides if not _is_of_hydra(one)])
        self.check([override for job in jobs for override in parse_overrides(job.overrides, self.roots)])
        if not launch.chosen(overrides):
            return run_all(jobs, lambda job: self.run(job, flags))
        for job in jobs:
            self.apply_presets(job)
            if self.name == "config" and not any(line.startswith("resume=") for line in job.overrides):
                job.added.append("resume=auto")
        options = [one for one in overrides if _is_of_hydra(one)]
        return launch.launch(self.name, jobs, options, self.roots, self.call)

    def run(self, job: Job, flags: Sequence[str]) -> None:
        """Runs one job, or does what else the flags ask for."""
        with complaints_as_sentences():
            composed = self.apply_presets(job)
            if any(flag.startswith(_ANSWERED_BY_HYDRA) for flag in flags):
                self.answer(job, flags)
                return
            _require_lasting_folder(composed)
            HydraConfig.instance().set_config(composed)  # the run's folder is named by what is chosen
            with flag_override(composed, ["struct", "readonly"], False):
                del composed["hydra"]
        self.call(job, composed)

    def answer(self, job: Job, flags: Sequence[str]) -> None:
        """Lets Hydra read the command line, and answer it: the flags that show a configuration are its own."""
        sys.argv = [sys.argv[0], *job.overrides, *job.added, *flags]
        hydra.main(version_base="1.3", config_path=str(CONF), config_name=self.name)(partial(self.call, job))()

    def call(self, job: Job, composed: DictConfig) -> None:
        """Calls `main` for a job with what was composed for it."""
        with complaints_as_sentences():
            plain = cast(dict[str, Any], OmegaConf.to_container(composed, resolve=True))
        parse(plain, _ENTRIES[self.name])
        if "folder" in plain:
            plain["folder"] = str(folder_of(job, Path(plain["folder"])))
        with within_memory():
            typed = [one for one in HydraConfig.get().overrides.task if one not in job.added]
            self.main(plain, typed, job.presets.lines)


def _is_of_hydra(override: Override) -> bool:
    return override.key_or_group.startswith(("hydra/", "hydra."))


def _require_lasting_folder(composed: DictConfig) -> None:
    raw = cast(dict[str, Any], OmegaConf.to_container(composed, resolve=False))
    if raw.get("resume") == "auto" and "${now:" in str(raw["folder"]):
        raise UserError(
            "resume=auto goes on in the folder that it is given, and this one has the time in its name: add "
            "folder=outputs/NAME"
        )


def save_composed(composed: Mapping[str, Any], folder: Path) -> None:
    """Writes `config.yaml`: what was composed for a run."""
    write_text(folder / "config.yaml", OmegaConf.to_yaml(OmegaConf.create(dict(composed))).splitlines())
