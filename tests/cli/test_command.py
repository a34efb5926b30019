"""What is typed at the shell: choices, options and sweeps; every mistake ends as one sentence and status 2."""

import os
import re
import runpy
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from omegaconf import OmegaConf

from mt.cli.command import compose
from mt.cli.start import continued_config, resumed_config
from mt.cli.startup import loading
from mt.common.options import parse
from mt.config import Config
from mt.errors import UserError

from .conftest import Call

ROOT = Path(__file__).parents[2]
Run = Callable[..., list[tuple[Config, list[str]]]]


@pytest.fixture
def run(call: Call) -> Run:
    """Calls the command line, and gives the configuration of each job and its overrides."""

    def called(*arguments: str) -> list[tuple[Config, list[str]]]:
        configs: list[Config] = []

        def body(plain: dict[str, Any]) -> None:
            configs.append(
                parse({key: plain[key] for key in plain if key not in ("folder", "resume", "corpora")}, Config)
            )

        jobs = call(*arguments, body=body)
        return [(config, overrides) for config, (_, overrides) in zip(configs, jobs, strict=True)]

    return called


def test_choices_and_options(run: Run):
    ((config, overrides),) = run("attention=mocha", "attention.chunk_size=3", "training.epochs=2", "preset=multi30k")
    assert (config.attention.name, config.attention.chunk_size, config.training.epochs) == ("mocha", 3, 2)
    assert overrides == ["attention=mocha", "attention.chunk_size=3", "training.epochs=2", "preset=multi30k"]


def test_a_preset_sets_options_of_the_parts_that_it_chooses(run: Run):
    ((config, overrides),) = run("dataset=morse")
    assert (config.encoder.name, config.encoder.forget_bias, config.search.name) == ("lstm", 2, "beam")
    assert overrides == ["dataset=morse"]
    # With other parts, the options that these have.
    ((config, _),) = run("dataset=morse", "attention=mocha", "encoder=gru", "attention.noise_std=1")
    assert (config.encoder.name, config.encoder.hidden_size) == ("gru", 128)
    assert (config.attention.energy_bias, config.attention.noise_std) == (-5, 1)
    first, second = run("-m", "dataset=morse", "attention=mocha,general")
    assert (first[0].attention.name, second[0].attention.name) == ("mocha", "general")


def test_what_presets_set_is_told_but_what_the_command_line_sets(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    told: list[str] = []
    monkeypatch.chdir(tmp_path)
    words = ["dataset=morse", "attention=mocha", "encoder=gru", "training.epochs=1", "online=true"]
    compose(lambda plain, overrides, presets: told.extend(presets), "config", words)
    preset, online = told
    assert preset.startswith("preset morse: frontend=logmel, optimizer/schedule=decay, ")
    assert "attention.energy_bias=-5, " in preset and "encoder.hidden_size=128, " in preset
    assert "forget_bias" not in preset and "epochs" not in preset and "encoder=" not in preset
    assert online == "online=true: search=online, frontend.causal=true, decoder.init_hidden=zeros"


def test_online_sets_all_that_a_stream_needs(run: Run):
    for words in (["dataset=phrasebook"], ["dataset=morse"], ["attention=milk", "encoder=gru"]):
        ((config, _),) = run("online=true", *words)
        assert (config.search.name, config.decoder.init_hidden) == ("online", "zeros")
        assert config.encoder.name == ("gru" if "encoder=gru" in words else "lstm")
        assert config.attention.name == ("milk" if "attention=milk" in words else "mocha")
    ((config, _),) = run("online=true", "search=wait_k", "attention=general")
    assert (config.search.name, config.attention.name) == ("wait_k", "general")


def test_going_on_by_itself_needs_a_folder_that_is_the_same_every_time(run: Run, capfd: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit) as end:
        run("resume=auto")
    assert (end.value.code, capfd.readouterr().err) == (
        2,
        "error: resume=auto goes on in the folder that it is given, and this one has the time in its name: add "
        "folder=outputs/NAME\n",
    )
    assert len(run("resume=auto", "folder=mine")) == 1


def test_choices_of_a_folder_of_ones_own(run: Run, tmp_path: Path):
    (tmp_path / "mine" / "dataset").mkdir(parents=True)
    (tmp_path / "mine" / "dataset" / "our_news.yaml").write_text("defaults: [bulletin, _self_]\nname: our_news\n")
    ((config, _),) = run("--config-dir", "mine", "dataset=our_news")
    assert (config.dataset.name, config.dataset.generator) == ("our_news", "bulletin")


def test_no_folder_is_left_behind(run: Run, tmp_path: Path):
    ((config, _),) = run("~preset")
    assert config.embedding.embedding_dim == 256
    assert list(tmp_path.iterdir()) == []


MISTAKES = [
    ("attention=mocah", "attention=mocah is an invalid choice: did you mean mocha? choices: bahdanau, "),
    ("attention/energy=dto", "attention/energy=dto is an invalid choice: did you mean dot? choices: concat, dot, "),
    ("preset=../../x", "preset=../../x is an invalid choice: choices: audio, bulletin, "),
    ("attention=[dot,general]", "attention=[dot,general] is an invalid choice: did you mean general? "),
    ("attention=null", "attention=null is an invalid choice: choices: bahdanau, "),
    ("preset=null", "preset=null is no file: to leave the preset out, write ~preset"),
    ("recipe=morse", "recipe=morse is called preset=morse now: write that"),
    ("attention=concat", "attention=concat is called attention=bahdanau now: write that"),
    ("folder=", "folder= names no folder: give a path such as outputs/name"),
    ("resume=", "resume= names no folder: give that of a run"),
    ("corpora=", "corpora= names no folder: give that of prepared corpora"),
    ("~folder", "folder cannot be left out: give it another value"),
    ("~attention", "~attention leaves nothing chosen: write attention=CHOICE; choices: bahdanau, "),
    ("init_from=false", "init_from=false is not possible: input should be a valid string"),
    ("-m seed=interval(0,1)", "seed=interval(0,1) is no list of values: write seed=A,B,C, or range(1,4)"),
    ("-m seed=range(1,1)", "seed=range(1,1) has no values: write seed=A,B,C"),
    ("-m seed=range(0,100000)", "this sweep has more than 10,000 jobs: give fewer values"),
    ("-m attention=dot,mocah", "attention=mocah is an invalid choice: did you mean mocha? "),
    ("training.epoch=3", "unknown option training.epoch: did you mean epochs? choices: average_checkpoints, "),
    ("+trainin.epochs=3", "unknown option trainin: did you mean training? choices: "),
    ("atention=mocha", "unknown option atention: did you mean attention? choices: "),
    ("optimizer/schedul=decay", "unknown option optimizer/schedul: did you mean optimizer/schedule? choices: "),
    ("attention.chunk_siz=3 attention=mocha", "unknown option attention.chunk_siz: did you mean chunk_size? choices: "),
    (
        "attention.chunk_size=3",
        "unknown option attention.chunk_size here: it is an option of attention=mocha; add that, or ",
    ),
    (
        "optimizer=sgd optimizer.betas=[0.9,0.9]",
        "unknown option optimizer.betas here: it is an option of optimizer=adam or ",
    ),
    ("training.epochs.x=3", "unknown option training.epochs.x: training.epochs has no options"),
    ("search.beam_size=x", 'search.beam_size="x" is not possible: input should be a valid integer'),
    ("foo", "foo cannot be read: write group=choice or key=value, with an option's name before the ="),
    (
        "training.epochs=[1",
        "training.epochs=[1 cannot be read: for this text, type 'training.epochs=\"[1\"'; a list is written ",
    ),
    ("seed=${sead}", "seed cannot be read (Interpolation key 'sead' not found): give it a plain value"),
    ("training.epochs=1,2", "training.epochs=1,2 has several values: for a run of each, add -m"),
    ("dataset.metrics={a:1}", "dataset.metrics={a:1} is not possible ("),
    ("dataset=files", "dataset files does not say where its text is: set dataset.folder=DIR "),
    ("--x", "unknown option --x: choices: --cfg, "),
    ("--cfg", "--cfg has no value: write --cfg job|hydra|all "),
    ("--resolve", "--resolve is about --cfg job|hydra|all: add that, or leave it out"),
    ("--cfg job -m", "--cfg and --multirun do not go together: "),
    ("--cfg job -p nope", "--package nope is no part of the configuration: give a group or an option, "),
    ("-m hydra/sweeper=x seed=1", "hydra/sweeper=x cannot be obeyed, as -m makes the jobs itself: "),
    ("--info", "--info is gone: --cfg job shows what a command would run"),
    ("--config-dir /nope", "--config-dir /nope is no folder: give one of configuration files"),
    ("--explain attention.chunk_siz attention=mocha", "--explain attention.chunk_siz is no option here: did you"),
    ("@x=1", "@x=1 names no option before the =: write group=choice or key=value"),
    ("größe=1", "größe=1 cannot be read: write group=choice or key=value, "),
]


@pytest.mark.parametrize(("line", "sentence"), MISTAKES)
def test_a_mistake_ends_as_one_sentence(run: Run, capfd, line: str, sentence: str):
    with pytest.raises(SystemExit) as end:
        run(*line.split())
    output, errors = capfd.readouterr()
    assert end.value.code == 2
    assert errors.startswith(f"error: {sentence}")
    assert errors.count("\n") == 1
    assert output == ""


def test_a_fault_of_the_program_is_none_of_the_user(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    def main(plain: dict[str, Any], overrides: list[str], presets: Sequence[str]) -> None:
        raise ZeroDivisionError

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["train.py"])
    with pytest.raises(ZeroDivisionError):
        compose(main, "config", [])


def test_a_resumed_run_may_be_told_to_go_on_for_longer():
    before = Config(seed=5)
    after = resumed_config(
        before, ["resume=RUN", "folder=x", "corpora=y", "training.epochs=99", "search.beam_size=2", "device=cpu"]
    )
    assert (after.training.epochs, after.search.beam_size, after.device) == (99, 2, "cpu")
    assert resumed_config(before, ["training.patience=null"]) == before
    assert after.model_copy(update={"training": before.training, "search": before.search, "device": "auto"}) == before


def test_a_command_that_goes_on_by_itself_may_change_what_resuming_may():
    given = Config(seed=5).model_dump(mode="json")
    changed = {"training": given["training"] | {"epochs": 99}, "search": {"name": "greedy"}, "device": "cpu"}
    config = parse(given | changed, Config)
    assert continued_config(config, Config(seed=5), Path("run")) == config
    sentence = (
        "^run was trained with optimizer.betas=[0.9,0.98], and optimizer.betas=[0.5,0.98] would be another run: leave "
        "it as it was, or give another folder=$"
    ).replace("[", r"\[")
    other = parse(given | {"optimizer": given["optimizer"] | {"betas": [0.5, 0.98]}}, Config)
    with pytest.raises(UserError, match=sentence):
        continued_config(other, Config(seed=5), Path("run"))


@pytest.mark.parametrize("override", ["attention=mocha", "optimizer.lr=0.1", "seed=2", "dataset.folder=x"])
def test_a_resumed_run_stays_the_run_that_it_is(override: str):
    key = override.partition("=")[0]
    with pytest.raises(UserError, match=rf"^{re.escape(key)} cannot change when a run is resumed, since it would be"):
        resumed_config(Config(), [override])


@pytest.mark.parametrize(
    "entry",
    [
        lambda: runpy.run_path(str(ROOT / "train.py"), run_name="__main__"),
        lambda: runpy.run_module("data_prep", run_name="__main__"),
    ],
    ids=["train.py", "data_prep"],
)
def test_the_entry_points_go_through_it(entry: Callable[[], object], monkeypatch, tmp_path: Path, capfd):
    # It would be for the rest of the process, which is the tests'.
    monkeypatch.setattr("mt.cli.train.leave_at_once", lambda rank: None)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["entry", "dataset=phrasbook"])
    with pytest.raises(SystemExit) as end:
        entry()
    assert end.value.code == 2
    error = capfd.readouterr().err
    assert error.startswith("error: dataset=phrasbook is an invalid choice: did you mean phrasebook? choices: ")
    assert error.count("\n") == 1 and error.endswith("\n")


def test_a_file_is_the_command_line_that_it_stands_for(run: Run, tmp_path: Path, capfd):
    ((config, _),) = run("dataset=morse", "online=true", "attention/energy=dot", "seed=3", "dataset.limit=7")
    path = tmp_path / "a run.yaml"
    path.write_text(OmegaConf.to_yaml(config.model_dump(mode="json")))
    assert run(str(path))[0][0] == config
    # What is typed wins, also a part that is chosen anew.
    ((changed, _),) = run(str(path), "seed=4", "encoder=gru", "dataset.tokenizer.vocab_size=50")
    assert (changed.seed, changed.encoder.name, changed.dataset.tokenizer.vocab_size) == (4, "gru", 50)
    assert (changed.attention, changed.search) == (config.attention, config.search)
    # As people write it.
    path.write_text(
        "dataset: {name: morse, cleaning: {max_ratio: 3.0}}\nattention: mocha\nonline: true\ntraining: {epochs: 2}\n"
    )
    ((config, _),) = run(str(path))
    assert (config.attention.name, config.search.name, config.dataset.cleaning.max_ratio) == ("mocha", "online", 3)
    assert (config.encoder.forget_bias, config.training.epochs) == (2, 2)
    capfd.readouterr()
    for text, sentence in (
        ("a: [", "{path} cannot be read as YAML ("),
        ("- a", "{path} holds no options: give a file such as a run's config.yaml"),
        ("sed: 3", "unknown option sed: did you mean seed?"),
        ("attention: mocah", "attention=mocah is an invalid choice: did you mean mocha?"),
        ("training: {epochs: many}", 'training.epochs="many" is not possible: '),
    ):
        path.write_text(text)
        with pytest.raises(SystemExit):
            run(str(path))
        assert capfd.readouterr().err.startswith(f"error: {sentence.format(path=path)}")
    path.unlink()
    for make, reason in ((lambda _: None, "No such file or directory"), (os.mkfifo, "is a named pipe, and no regular")):
        make(path)
        with pytest.raises(SystemExit):
            run(str(path))
        assert capfd.readouterr().err.startswith(f"error: {path} cannot be read as YAML ({reason}")


def test_a_configuration_is_shown_and_nothing_runs(run: Run, capfd):
    assert run("--cfg", "job", "attention=mocha", "seed=7") == []
    shown = OmegaConf.create(capfd.readouterr().out)
    assert (shown.attention.name, shown.seed, "hydra" in shown) == ("mocha", 7, False)
    assert run("--cfg", "job", "-p", "training", "training.epochs=9") == []
    assert OmegaConf.create(capfd.readouterr().out).epochs == 9
    assert run("-c", "hydra", "-p", "hydra.launcher", "hydra/launcher=basic") == []
    assert "BasicLauncher" in capfd.readouterr().out
    assert run("--cfg", "job", "--resolve", "-p", "folder") == []
    assert capfd.readouterr().out.startswith("outputs/phrasebook/general/2")


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        (["training.epochs"], "training.epochs=3, from preset phrasebook: passes over the training split"),
        (["training.epochs", "training.epochs=9"], "training.epochs=9, from the command line: "),
        (["attention.chunk_size", "attention=mocha"], "attention.chunk_size=4, from the default, in conf/attention/mo"),
        (["attention"], "attention=general, from the default, in conf/config.yaml"),
        (["encoder", "online=true"], "encoder=lstm, from online=true"),
        (["attention", "experiment=milk2019_deen"], "attention=milk, from conf/experiment/milk2019_deen.yaml"),
        (["optimizer.schedule.factor", "dataset=morse"], "optimizer.schedule.factor=0.1, from preset morse: "),
    ],
)
def test_where_a_value_comes_from(run: Run, capfd, words: list[str], answer: str):
    assert run("--explain", *words) == []
    assert capfd.readouterr().out.startswith(answer)


@pytest.mark.usefixtures("foreground")
def test_an_interrupt_ends_a_command_that_loads_and_is_an_exception_afterwards() -> None:
    with pytest.raises(ImportError), loading():
        assert signal.getsignal(signal.SIGINT) is signal.SIG_DFL
        raise ImportError
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
