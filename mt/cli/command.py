"""Makes plain data of the command line: Hydra composes, and its complaints become sentences. First come the types of
options, then `compose` and the flags, and last the jobs."""

import argparse
import re
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, cast

from hydra.core.hydra_config import HydraConfig
from hydra.core.override_parser.types import Override
from omegaconf import DictConfig, OmegaConf, flag_override
from pydantic import AfterValidator, ValidationInfo

from mt.cli.choices import CONF, check_choice, compose as composed_of, plain_of, presets
from mt.cli.manual import explanation, manual
from mt.cli.overrides import (
    complaints_as_sentences,
    parse_overrides,
    quote_text,
    require_once,
    several_values_sentence,
    with_file,
)
from mt.cli.parser import Parser, typed_flags
from mt.cli.sweep import Job, expand, folder_of, launch, require_launcher, run_all
from mt.common.options import Options, flat, parse
from mt.common.terminal import say
from mt.errors import UserError, reported, shown, within_memory
from mt.storage import write_text

Main = Callable[[dict[str, Any], list[str], Sequence[str]], None]
"""Does a job: with the plain configuration, its `key=value` arguments, and lines that name what presets set."""


def _require_folder(path: str, info: ValidationInfo) -> str:
    remedies = {"folder": "a path such as outputs/name", "corpora": "that of prepared corpora"}
    if not path or "\0" in path or (info.field_name == "folder" and Path(path).name in ("", "..")):
        remedy = remedies.get(info.field_name or "", "that of a run")
        raise UserError(f"{info.field_name}={shown(path)} names no folder: give {remedy}")
    return path


_Folder = Annotated[str, AfterValidator(_require_folder)]


class _TrainOptions(Options, extra="ignore"):
    """The options of `mt train` that are not of the model and its training."""

    folder: _Folder
    corpora: _Folder
    resume: _Folder | None
    init_from: _Folder | None


class _PrepareOptions(Options, extra="ignore"):
    """The options of `mt prepare` that are not of the data."""

    corpora: _Folder
    dry_run: bool
    runner: Literal["processes", "ray"]


_ENTRIES: dict[str, type[Options]] = {"config": _TrainOptions, "data_prep": _PrepareOptions}


def compose(main: Main, name: str, arguments: Sequence[str]) -> None:
    """Calls `main` with what `conf/<name>.yaml` and the command line say, for each job of a sweep. What a user can mend
    ends as one sentence; in a sweep, whose other jobs run, as a line of the table at its end."""
    with reported():
        compose_unreported(main, name, arguments)


def compose_unreported(main: Main, name: str, arguments: Sequence[str]) -> None:
    """Does what `compose` does, and raises what a user can mend as UserError."""
    with complaints_as_sentences():
        # The line is read: flags, a file of options, and what is typed as it stands.
        flags = _read_flags(arguments)
        roots = [*([flags.config_dir] if flags.config_dir else []), CONF]
        whole = flags.help and "all" in flags.overrides
        words = [word for word in flags.overrides if not (whole and word == "all")]
        overrides = parse_overrides([quote_text(line) for line in with_file(words, roots)], roots)
        require_once(overrides)
        command = _Command(main, name, roots)
        if flags.multirun:
            if not command.sweep(overrides):
                sys.exit(1)
            return
        # A page is of one job: what has several values is left out of it.
        page = flags.help or flags.explain is not None
        single = [override for override in overrides if not (page and override.is_sweep_override())]
        command.check(single)
        job = Job([override.input_line or "" for override in single])
        composed = command.compose(job)
        if flags.explain is not None:
            say(explanation(name, composed, job.overrides, roots, key=flags.explain, presets=job.presets))
        elif flags.help:
            say(manual(name, composed, job.overrides, roots, whole=whole))
        elif flags.cfg:
            say(_shown_part(composed, flags))
        else:
            command.run(job)


def _read_flags(words: Sequence[str]) -> argparse.Namespace:
    parser = Parser(None, add_help=False)
    parser.add_argument("overrides", nargs="*", metavar="KEY=VALUE")
    parser.add_argument("--help", "-h", action="store_true")
    parser.add_argument("--explain", metavar="KEY", help="say where the value of an option comes from")
    parser.add_argument("--multirun", "-m", action="store_true")
    parser.add_argument("--cfg", "-c", choices=("job", "hydra", "all"), help="show the configuration")
    parser.add_argument("--resolve", action="store_true")
    parser.add_argument("--package", "-p", metavar="PART")
    parser.add_argument("--config-dir", "-cd", type=Path, metavar="DIR")
    parser.needed = {"--resolve": "--cfg", "--package": "--cfg"}
    flags = parser.parse_args(words)
    # Each of these flags ends the command by itself, so only one can be obeyed.
    actions = typed_flags(flags, ("explain", "cfg", "multirun"))
    if len(actions) > 1:
        raise UserError(f"{' and '.join(actions)} do not go together: give one of them")
    if flags.config_dir is not None and not flags.config_dir.is_dir():
        raise UserError(f"--config-dir {shown(str(flags.config_dir))} is no folder: give one of configuration files")
    return flags


def _shown_part(composed: DictConfig, flags: argparse.Namespace) -> str:
    HydraConfig.instance().set_config(composed)  # the run's folder is named by what is chosen
    keys = {"job": [str(key) for key in composed if key != "hydra"], "hydra": ["hydra"], "all": None}[flags.cfg]
    shown_config = OmegaConf.masked_copy(composed, keys) if keys else composed
    if flags.package is not None:
        shown_config = OmegaConf.select(shown_config, flags.package)
    if shown_config is None:
        raise UserError(
            f"--package {shown(flags.package)} is no part of the configuration: give a group or an option, as dataset"
        )
    is_tree = OmegaConf.is_config(shown_config)
    return OmegaConf.to_yaml(shown_config, resolve=flags.resolve).rstrip() if is_tree else str(shown_config)


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
        """Returns the configuration of a job with Hydra's own part, without options of presets that its parts lack."""
        lines = [*job.overrides, *job.added]
        composed = composed_of(self.name, lines, self.roots)
        typed = {override.key_or_group for override in parse_overrides(job.overrides, self.roots)}
        plain, chosen = plain_of(composed)
        job.presets = presets(chosen, dict(flat(plain)), typed, self.roots)
        removed = job.presets.removed
        return composed_of(self.name, [*lines, *removed], self.roots) if removed else composed

    def sweep(self, overrides: Sequence[Override]) -> bool:
        """Runs the jobs of a sweep here, or by the launcher that is chosen; there they resume when a queue starts them
        again. Returns whether all succeeded."""
        jobs = expand([override for override in overrides if not override.is_hydra_override()])
        self.check([override for job in jobs for override in parse_overrides(job.overrides, self.roots)])
        options = [override for override in overrides if override.is_hydra_override()]
        if not options:
            return run_all(jobs, self.run)
        require_launcher(options)
        if self.name == "config":
            # A job that is started again goes on by itself, in the folder that has the time of now in its name.
            folder = str(plain_of(composed_of(self.name, [], self.roots))[0]["folder"])
            folder = re.sub(r"\$\{now:(.*?)\}", lambda now: time.strftime(now[1]), folder)
            typed = {override.key_or_group for override in overrides}
            added = [line for line in ("resume=auto", f"folder={folder}") if line.partition("=")[0] not in typed]
            for job in jobs:
                job.added += added
        return launch(
            composed_of(self.name, [override.input_line or "" for override in options], self.roots), jobs, self.run
        )

    def run(self, job: Job) -> None:
        """Composes and does one job."""
        with complaints_as_sentences():
            composed = self.compose(job)
            _require_lasting_folder(composed)
            HydraConfig.instance().set_config(composed)  # the run's folder is named by what is chosen
            with flag_override(composed, ["struct", "readonly"], False):
                del composed["hydra"]
            plain = cast(dict[str, Any], OmegaConf.to_container(composed, resolve=True))
        parse(plain, _ENTRIES[self.name])
        if "folder" in plain:
            plain["folder"] = str(folder_of(job, Path(plain["folder"])))
        with within_memory():
            typed = [line for line in job.overrides if not re.match(r"[~+]*hydra[./]", line)]
            self.main(plain, typed, job.presets.lines)


def _require_lasting_folder(composed: DictConfig) -> None:
    raw, _ = plain_of(composed)
    if raw.get("resume") == "auto" and "${now:" in str(raw["folder"]):
        raise UserError(
            "resume=auto goes on in the folder that it is given, and this one has the time in its name: add "
            "folder=outputs/NAME"
        )


def save_composed(composed: Mapping[str, Any], folder: Path) -> None:
    """Writes `config.yaml`: what was composed for a run."""
    write_text(folder / "config.yaml", OmegaConf.to_yaml(OmegaConf.create(dict(composed))).splitlines())
