"""Several jobs of one command line: all of them run, and their folders are named by what differs."""

import itertools
import re
import signal
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from typing import Any

import pytest

from mt.cli import sweep
from mt.cli.choices import CONF
from mt.cli.overrides import parse_overrides
from mt.cli.sweep import Job, expand, folder_of
from mt.errors import Preempted, UserError

from .conftest import Call


def refuse_dot(plain: dict[str, Any]) -> None:
    if plain["attention"]["name"] == "dot":
        raise UserError("dot does not suit: choose general")


def test_a_job_that_fails_does_not_end_the_others(call: Call, capfd: pytest.CaptureFixture[str]):
    ran: list[str] = []

    def body(plain: dict[str, Any]) -> None:
        refuse_dot(plain)
        if plain["attention"]["name"] == "general":
            raise ZeroDivisionError("of\nours")
        ran.append(plain["attention"]["name"])

    with pytest.raises(SystemExit) as end:
        call("-m", "attention=dot,general,none", body=body)
    output, errors = capfd.readouterr()
    assert (end.value.code, ran) == (1, ["none"])
    assert "job 1 of 3: attention=dot\nerror: dot does not suit: choose general\n" in errors and "Traceback" in errors
    assert output == (
        "\n3 jobs, 2 of them not done\n"
        "  1  attention=dot      failed: dot does not suit: choose general\n"
        "  2  attention=general  failed: ZeroDivisionError: of\\nours\n"
        "  3  attention=none     done\n"
    )


def test_an_option_that_one_job_has_not_fails_that_job_alone(call: Call, capfd: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit) as end:
        call("-m", "attention=dot,mocha", "attention.chunk_size=2")
    assert end.value.code == 1
    output = capfd.readouterr().out
    assert (
        "1  attention=dot    failed: unknown option attention.chunk_size here: it is an option of attention=mocha"
        in output
    )
    assert "2  attention=mocha  done\n" in output


def test_an_interrupt_ends_all_and_tells_what_was_done(call: Call, capfd: pytest.CaptureFixture[str]):
    def body(plain: dict[str, Any]) -> None:
        if plain["seed"] == 2:
            raise KeyboardInterrupt

    with pytest.raises(SystemExit) as end:
        call("-m", "seed=1,2,3", body=body)
    output = capfd.readouterr().out
    assert end.value.code == 130
    assert re.findall(r"seed=\d +(.*)", output) == ["done", "interrupted", "not run"]


def jobs(*lines: str) -> list[Job]:
    return expand(parse_overrides(lines, [CONF]))


def test_every_combination_is_a_job():
    result = jobs("attention=dot,mocha", "training.epochs=3", "seed=range(1,3)", "~preset")
    assert [job.overrides for job in result] == [
        [f"attention={attention}", "training.epochs=3", f"seed={seed}", "~preset"]
        for attention in ("dot", "mocha")
        for seed in (1, 2)
    ]
    assert result[1].differs == {"attention": "dot", "seed": "2"}
    assert result[1].title == "attention=dot seed=2"


def test_patterns_and_quotes_of_values():
    assert [job.overrides for job in jobs("attention=glob(local_*)")] == [["attention=local_m"], ["attention=local_p"]]
    assert jobs("dataset.folder='a b','c,d'")[1].overrides == ["dataset.folder='c,d'"]


TIME = Path("outputs/phrasebook/mocha/2026-01-02_03-04-05")


@pytest.mark.parametrize(
    ("lines", "folders"),
    [
        (["seed=1"], [TIME.name]),
        # What the folders above say is not said again.
        (["attention=dot,mocha", "dataset=phrasebook,bulletin"], [TIME.name] * 4),
        (["attention=dot,mocha", "seed=1,2"], [f"seed-1_{TIME.name}", f"seed-2_{TIME.name}"] * 2),
        (["optimizer.lr=0.1,1e-3", "training.epochs=2"], [f"lr-0.1_{TIME.name}", f"lr-0.001_{TIME.name}"]),
        (
            ["encoder.dropout=0,1", "decoder.dropout=0,1"],
            [f"encoder.dropout-{a}+decoder.dropout-{b}_{TIME.name}" for a in (0, 1) for b in (0, 1)],
        ),
        (["attention/energy=dot,concat"], [f"energy-dot_{TIME.name}", f"energy-concat_{TIME.name}"]),
        # Free text is never a path.
        (["dataset.folder='../a b','/c/é'"], [f"folder-..-a-b_{TIME.name}", f"folder-c_{TIME.name}"]),
        (["dataset.references=[a,b],[c]"], [f"references-a-b_{TIME.name}", f"references-c_{TIME.name}"]),
    ],
    ids=" ".join,
)
def test_a_folder_is_named_by_what_differs(lines: list[str], folders: list[str]):
    result = [folder_of(job, TIME) for job in jobs(*lines)]
    assert result == [TIME.parent / name for name in folders]
    for folder in result:
        assert re.fullmatch(r"[\w.+-]+", folder.name)
        # As it stands it can be given to resume=.
        assert parse_overrides([f"resume={folder}"], [CONF])[0].value() == str(folder)


def test_a_folder_that_was_chosen_gets_one_for_each_job():
    first, second, *_ = jobs("attention=dot,mocha", "seed=1,2", "folder=mine")
    assert folder_of(first, Path("mine")) == Path("mine/attention-dot+seed-1")
    assert folder_of(second, Path("mine")) == Path("mine/attention-dot+seed-2")
    assert folder_of(jobs("folder=a,b")[1], Path("b")) == Path("b")
    # No name is longer than file systems take.
    assert len(folder_of(jobs("dataset.folder=" + "x" * 500 + ",y")[0], TIME).name) < 200


def test_jobs_of_a_launcher_are_those_of_a_sweep(call: Call, capfd: pytest.CaptureFixture[str], monkeypatch):
    """Named by what differs, with what presets imply; and they go on when they are started again, in folders that have
    the time of the submission in their names."""
    clock = itertools.count()
    monkeypatch.setattr("mt.cli.command.time.strftime", lambda pattern, *_: str(next(clock)))
    given = ["hydra/launcher=basic", "dataset=morse", "online=true", "attention=mocha,general", "seed=1,2"]
    jobs = call("-m", *given)
    assert [(plain["encoder"]["name"], plain["search"]["name"], plain["resume"]) for plain, _ in jobs] == [
        ("lstm", "online", "auto")
    ] * 4
    assert [Path(plain["folder"]).parts[1:-1] for plain, _ in jobs] == [("morse", "mocha")] * 2 + [
        ("morse", "general")
    ] * 2
    names = [Path(plain["folder"]).name.split("_") for plain, _ in jobs]
    assert [seed for seed, _ in names] == ["seed-1", "seed-2"] * 2
    assert len({time for _, time in names}) == 1
    assert jobs[0][1] == ["dataset=morse", 'online="true"', "attention=mocha", "seed=1"]
    assert "\n4 jobs, all done\n  1  attention=mocha seed=1    done\n" in capfd.readouterr().out
    ((plain, overrides),) = call("-m", "hydra/launcher=basic", "seed=1", "resume=RUN")
    assert (plain["resume"], overrides) == ("RUN", ["seed=1", "resume=RUN"])


def test_jobs_of_a_launcher_that_fail_are_told(call: Call, capfd: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit) as end:
        call("-m", "hydra/launcher=basic", "attention=dot,none", body=refuse_dot)
    output, errors = capfd.readouterr()
    assert end.value.code == 1 and "error: dot does not suit: choose general\n" in errors
    assert output.endswith("of them not done\n  1  attention=dot   failed: dot does not suit: choose general\n  2  "
                           "attention=none  done\n")  # fmt: skip


def test_a_job_of_a_launcher_that_is_preempted_has_no_result(call: Call, capfd: pytest.CaptureFixture[str]):
    def body(plain: dict[str, Any]) -> None:
        raise Preempted(signal.SIGTERM, "it is saved")

    with pytest.raises(SystemExit) as end:
        call("-m", "hydra/launcher=basic", "seed=1,2", body=body)
    assert end.value.code == 75
    assert capfd.readouterr().err.endswith("interrupted by SIGTERM: it is saved\n")


def test_a_launcher_that_is_not_installed(call: Call, capfd: pytest.CaptureFixture[str], monkeypatch):
    def nowhere(name: str) -> None:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(sweep, "distribution", nowhere)
    with pytest.raises(SystemExit) as end:
        call("-m", "hydra/launcher=submitit_slurm", "seed=1,2")
    facts = "error: hydra/launcher=submitit_... needs hydra-submitit-launcher, which is not installed: pip install "
    assert end.value.code == 2 and capfd.readouterr().err.startswith(facts)
