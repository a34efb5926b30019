"""What is typed at the shell: Hydra's own flags work, folders have names, every mistake ends as one sentence."""

import re
import shutil
import signal
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar

import pytest
from hydra.core.utils import JobReturn
from hydra.experimental.callback import Callback
from omegaconf import OmegaConf

from mt.cli.composition import STATUS, output_folder
from mt.cli.start import continued_config, resumed_config
from mt.cli.train import command
from mt.cli.training import run_jobs
from mt.common.options import parse
from mt.config import Config
from mt.errors import Preempted, UserError
from mt.training.start import RUN
from tests.marks import exhaustive
from tests.refusals.sentences import require_refusal

from .conftest import Call

ROOT = Path(__file__).parents[2]
OF_THE_ENTRY = ("folder", "resume", "corpora")
Run = Callable[..., list[tuple[Config, list[str]]]]


def read(plain: dict[str, Any]) -> Config:
    return parse({key: value for key, value in plain.items() if key not in OF_THE_ENTRY}, Config)


@pytest.fixture
def run(call: Call) -> Run:
    """Calls the command line, and gives the configuration of each job and its overrides."""
    return lambda *arguments: [(read(plain), overrides) for plain, overrides in call(*arguments)]


@pytest.fixture
def refusal(capfd: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """The one sentence with which a call ends."""

    def of(call: Callable[..., object], *arguments: Any, **options: Any) -> str:
        with pytest.raises(SystemExit) as end:
            call(*arguments, **options)
        output, errors = capfd.readouterr()
        assert (end.value.code, output, errors.count("\n"), errors[:7]) == (STATUS, "", 1, "error: ")
        return errors[7:]

    return of


def test_home_is_that_of_the_user(call: Call):
    ((plain, _),) = call("dataset=files", "dataset.folder=~/data", "~preset")
    assert plain["dataset"]["folder"] == str(Path.home() / "data")


def test_a_preset_chooses_parts_that_give_way_to_the_command_line(run: Run):
    ((config, _),) = run("dataset=morse")
    assert (config.encoder.name, config.encoder.forget_bias, config.search.name) == ("lstm", 2, "beam")
    ((config, overrides),) = run("dataset=multi30k", "search=greedy")
    assert config.search.name == "greedy" and overrides == ["dataset=multi30k", "search=greedy"]


def test_an_option_of_a_preset_that_a_choice_lacks_is_refused_with_the_way_to_leave_it_out(call: Call, refusal):
    sentence = refusal(call, "dataset=morse", "encoder=gru", body=read)
    assert sentence.startswith("unknown option encoder.forget_bias here: it is an option of encoder.name=bilstm or ")
    assert sentence.endswith("(~encoder.forget_bias)\n")
    ((plain, _),) = call("dataset=morse", "encoder=gru", "~encoder.forget_bias", body=read)
    assert plain["encoder"]["hidden_size"] == 128


def test_online_chooses_all_that_a_stream_needs(run: Run):
    for words in (["dataset=morse"], ["attention=milk", "encoder=ssru"]):
        ((config, _),) = run("online=stream", *words)
        assert (config.search.name, config.decoder.init_hidden) == ("online", "zeros")
        assert config.encoder.name == ("ssru" if "encoder=ssru" in words else "lstm")
        assert config.attention.name == ("milk" if "attention=milk" in words else "mocha")
    ((config, _),) = run("online=stream", "search=wait_k", "attention=general")
    assert (config.search.name, config.attention.name) == ("wait_k", "general")


def test_choices_of_a_folder_of_ones_own(run: Run, tmp_path: Path):
    (tmp_path / "mine" / "dataset").mkdir(parents=True)
    (tmp_path / "mine" / "dataset" / "our_news.yaml").write_text("defaults: [bulletin, _self_]\nname: our_news\n")
    ((config, _),) = run("--config-dir", "mine", "dataset=our_news")
    assert (config.dataset.name, config.dataset.generator) == ("our_news", "bulletin")


MISTAKES = [
    ("attention=mocah", "In 'config': Could not find 'attention/mocah' Available options in 'attention': bahdanau "),
    ("+trainin.epochs=3", "unknown option trainin: did you mean training? choices: "),
    ("search.beam_size=x", 'search.beam_size="x" is not possible: input should be a valid integer'),
    ("dataset=files", "dataset files does not say where its text is: set dataset.folder=DIR "),
    ("foo", "Error parsing override 'foo' "),
    ("attention=null", "Config group override must be a string or a list. Got NoneType"),
    ("hydra.sweeper.params={seed:1}", "an option below one that is null is set in a file: see docs/options.md#sweeps"),
    ("+hydra.sweeper.params.seed=1", "an option below one that is null is set in a file: see docs/options.md#sweeps"),
    ("seed=${sead}", "seed cannot be read (Interpolation key 'sead' not found): give it a plain value"),
    ("seed=" + "[" * 60 + "]" * 60, "seed=[[[["),
    ("--cfg job -m", "Only one of --run, --multirun, --cfg, "),
    ("folder=..", "folder=.. names no folder to make: write the path of a new one, such as outputs/mine"),
    ("resume=auto folder=/dev/null/x", "/dev/null"),
]


def test_aliases_of_aliases_without_end_are_refused_at_once(call: Call, refusal, tmp_path: Path):
    """Seventy-odd names stand for 9 ** 8 values; an alias that stands for a few is read."""
    file = tmp_path / "own/dataset/mine.yaml"
    file.parent.mkdir(parents=True)
    pairs = pairwise("abcdefghi")
    file.write_text("a: &a x\n" + "".join(f"{b}: &{b} [{', '.join([f'*{a}'] * 9)}]\n" for a, b in pairs))
    sentence = refusal(call, "--config-dir", str(tmp_path / "own"), "dataset=mine")
    assert "mine.yaml has aliases of aliases (*name) without end: write there what" in sentence
    file.write_text("defaults: [phrasebook]\nlimit: &n 7\ndev_size: *n\n")
    [(plain, _)] = call(f"--config-dir={tmp_path / 'own'}", "dataset=mine")
    assert plain["dataset"]["dev_size"] == 7


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("seed: [1\n", 'while parsing a flow sequence in "'),
        ("seed: 1\n", "the configuration has no option corpora: begin its list of defaults with config, as in "),
        ("defaults: [config, _self_]\nsede: 1\n", "unknown option sede: did you mean seed? "),
        ("defaults: [config, _self_]\nexperiment: {seed: 2}\n", "the file of experiment= has its options in a part of"),
    ],
)
@pytest.mark.usefixtures("shell")
def test_a_configuration_of_ones_own_that_cannot_be_used(text: str, sentence: str, refusal, tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text(text)
    assert refusal(run_jobs, ["--config-dir", str(tmp_path), "--config-name", "mine"]).startswith(sentence)


@pytest.mark.parametrize(("line", "sentence"), MISTAKES)
def test_a_mistake_ends_as_one_sentence(call: Call, refusal, line: str, sentence: str):
    assert refusal(call, *line.split(), body=read).startswith(sentence)


def test_a_fault_of_the_program_is_none_of_the_user(call: Call):
    def body(plain: dict[str, Any]) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        call(body=body)


# Flags of Hydra.


def test_a_configuration_is_shown_and_nothing_runs(call: Call, capfd):
    assert shown(call, capfd, "--cfg", "job", "attention=mocha", "seed=7") == ("mocha", 7)
    for flags in (["--info", "defaults"], ["--hydra-help"], ["-m", "--help"], ["--shell-completion", "install=bash"]):
        with pytest.raises(SystemExit) if "elp" in flags[-1] else pytest.MonkeyPatch.context():
            assert call(*flags) == []
        assert capfd.readouterr().out


def shown(call: Call, capfd: Any, *arguments: str) -> tuple[str, int]:
    assert call(*arguments) == []
    composed = OmegaConf.create(capfd.readouterr().out)
    assert "hydra" not in composed
    return composed.attention.name, composed.seed


def test_help_says_what_the_command_does_and_lists_choices_and_options(call: Call, capfd):
    with pytest.raises(SystemExit):
        call("attention=mocha", "--help")
    output = capfd.readouterr().out
    assert output.startswith("Prepare text, train an encoder-decoder with attention on it, ")
    assert "\n  mt train attention=mocha dataset=multi30k " in output
    assert "\nattention: bahdanau, " in output and "\n  chunk_size: 4\n" in output


def test_a_configuration_of_a_folder_can_be_run_again(call: Call, capfd, tmp_path: Path):
    call("attention=mocha", "seed=7", "folder=run")
    written = sorted(path.name for path in (tmp_path / "run/.hydra").iterdir())
    assert written == ["config.yaml", "hydra.yaml", "overrides.yaml"]
    call("--config-path", str(tmp_path / "run/.hydra"), "--config-name", "config", "--cfg", "job", "seed=8")
    again = OmegaConf.create(capfd.readouterr().out)
    assert (again.attention.name, again.seed) == ("mocha", 8)


# Folders.


def folders(call: Call, *arguments: str) -> list[str]:
    made: list[str] = []
    call(*arguments, body=lambda plain: made.append(output_folder().relative_to(Path.cwd()).as_posix()))
    return made


def test_a_run_has_a_folder_of_its_own(call: Call, tmp_path: Path, trained: Path):
    (folder,) = folders(call, "attention=dot", "dataset=bulletin")
    assert re.fullmatch(r"outputs/bulletin/dot/\d{4}-\d\d-\d\d_\d\d-\d\d-\d\d", folder)
    assert folders(call, "folder=mine") == ["mine"]
    assert folders(call, "folder=mine") == ["mine-2"]
    assert folders(call, "hydra.run.dir=theirs") == ["theirs"]
    # Without a choice, that of the class is trained.
    (folder,) = folders(call, "~attention", "~dataset")
    assert folder.startswith("outputs/default/default/")
    assert folders(call, "resume=auto", "folder=mine") == ["mine"]
    # A run that is resumed goes on in its folder, whose record stays.
    shutil.copytree(trained, tmp_path / "earlier", symlinks=True)
    for run in ("earlier", "earlier/checkpoints/last"):
        assert folders(call, f"resume={run}", "training.epochs=9") == ["earlier"]
    assert [path.name for path in (tmp_path / "earlier/.hydra").iterdir()] == ["resumed"]
    with pytest.raises(SystemExit):
        call("resume=nowhere")
    assert not (tmp_path / "nowhere").exists()


def refuse(plain: dict[str, Any]) -> None:
    raise UserError("no")


@pytest.mark.parametrize("options", [[], ["folder=mine/a/b"], ["folder=mine/a", "resume=auto"], ["folder=mine"]])
def test_nothing_is_left_where_no_run_begins(options: list[str], call: Call, tmp_path: Path, monkeypatch) -> None:
    ends: list[Callable[[], None]] = []
    monkeypatch.setattr("mt.cli.run_folders.atexit.register", lambda end, *given: ends.append(partial(end, *given)))
    (tmp_path / "mine").mkdir()
    with pytest.raises(SystemExit):
        call(*options, body=refuse)
    assert len([*tmp_path.rglob(".hydra")]) == 1
    monkeypatch.chdir(tmp_path / "mine")
    ends.pop()()
    assert [*tmp_path.rglob("*")] == [tmp_path / "mine"]
    # One that has begun stays.
    monkeypatch.chdir(tmp_path)
    call(*options, body=lambda plain: (output_folder() / RUN).touch())
    ends.pop()()
    assert len([*tmp_path.rglob(".hydra/overrides.yaml")]) == 1 and not ends


def test_the_runs_of_a_sweep_are_named_by_what_is_set(call: Call):
    first, second = folders(call, "-m", "attention=dot", "seed=1,2", "training.epochs=2", "device=cpu")
    assert re.fullmatch(r"outputs/phrasebook/[\d_-]+/attention-dot\+seed-1\+training.epochs-2", first)
    assert second == first.replace("seed-1", "seed-2")
    # Free text is never a path, and no name is longer than file systems take.
    *names, long = folders(call, "-m", "folder=mine", f"dataset.folder='../a b',/c,{'x' * 500}")
    assert names == ["mine/dataset.folder--..-a-b", "mine/dataset.folder--c"] and len(Path(long).name) < 200


# Sweeps.


class Returned(Callback):
    """Keeps what the jobs return, as a sweeper that looks for good options does."""

    values: ClassVar[list[object]] = []

    def on_job_end(self, config: object, job_return: JobReturn, **others: object) -> None:
        self.values.append(job_return.return_value)


def test_a_sweeper_gets_what_each_job_returns(call: Call) -> None:
    recorder = f"+hydra.callbacks.returned._target_={Returned.__module__}.Returned"
    call("-m", "seed=2,3", recorder, body=lambda plain: plain["seed"] / 2)
    assert Returned.values == [1.0, 1.5]


def test_a_job_that_fails_does_not_end_the_others(call: Call, capfd):
    ran: list[str] = []

    def body(plain: dict[str, Any]) -> None:
        if plain["attention"]["name"] == "dot":
            raise UserError("dot does not suit: choose general")
        ran.append(plain["attention"]["name"])

    with pytest.raises(SystemExit) as end:
        call("-m", "attention=dot,general,none", body=body)
    errors = capfd.readouterr().err
    assert (end.value.code, ran) == (STATUS, ["general", "none"])
    assert errors.startswith("error: dot does not suit: choose general\n") and "Traceback" not in errors


@pytest.mark.parametrize(
    ("interrupt", "status"), [(Preempted(signal.SIGTERM, "it is saved"), 75), *exhaustive((KeyboardInterrupt(), 130))]
)
def test_an_interrupt_ends_a_sweep_with_its_status(call: Call, interrupt: BaseException, status: int):
    def body(plain: dict[str, Any]) -> None:
        if plain["seed"] == 2:
            raise interrupt

    with pytest.raises(SystemExit) as end:
        call("-m", "seed=2,3", body=body)
    assert end.value.code == status


# What may change when a run is resumed.


def test_a_resumed_run_may_be_told_to_go_on_for_longer():
    before = Config(seed=5)
    places = ["resume=RUN", "folder=x", "corpora=y"]
    after = resumed_config(before, [*places, "training.epochs=99", "search.beam_size=2", "device=cpu"])
    assert (after.training.epochs, after.search.beam_size, after.device) == (99, 2, "cpu")
    assert resumed_config(before, ["training.patience=null"]) == before
    assert after.model_copy(update={"training": before.training, "search": before.search, "device": "auto"}) == before


def test_a_command_that_goes_on_by_itself_may_change_what_resuming_may():
    given = Config(seed=5).model_dump(mode="json")
    changed = {"training": given["training"] | {"epochs": 99}, "search": {"name": "greedy"}, "device": "cpu"}
    config = parse(given | changed, Config)
    assert continued_config(config, Config(seed=5), Path("run")) == config
    sentence = r"^run was trained with optimizer.betas=\[0.9,0.98], and optimizer.betas=\[0.5,0.98] would be another"
    other = parse(given | {"optimizer": given["optimizer"] | {"betas": [0.5, 0.98]}}, Config)
    require_refusal(lambda: continued_config(other, Config(seed=5), Path("run")), sentence)


@pytest.mark.parametrize("override", ["attention=mocha", "optimizer.lr=0.1", "seed=2", "dataset.folder=x"])
def test_a_resumed_run_stays_the_run_that_it_is(override: str):
    key = override.partition("=")[0]
    sentence = rf"^{re.escape(key)} cannot change when a run is resumed, since it would be"
    require_refusal(lambda: resumed_config(Config(), [override]), sentence)


# Entry points.


@pytest.mark.usefixtures("shell")
def test_going_on_by_itself_needs_a_folder_that_is_the_same_every_time(monkeypatch: pytest.MonkeyPatch, refusal):
    monkeypatch.setattr("mt.cli.train.leave_at_once", lambda rank: None)
    sentence = "resume=auto goes on in the folder that it is given, and this one has the time in its name: add "
    assert refusal(command, ["resume=auto"]) == f"{sentence}folder=outputs/NAME\n"
