"""What is typed as it stands, without the quotes of Hydra's grammar; options once; flags that cannot be obeyed."""

import os
import shlex
from collections.abc import Callable
from typing import Any

import pytest

from tests.marks import chosen

from .conftest import Call

ODD = ["my data", "two  blanks ", "Übung", "日本", "a=b", "[a]", "a[1]", "(a)", "{a}", "50%", "it's", "#1", "a;b&c!"]
ODD += ["2026", "1e3", "a\\", "é\\"]


@pytest.fixture
def composed(call: Call) -> Callable[..., list[dict[str, Any]]]:
    """What a command line composes for each of its jobs."""
    return lambda *arguments, name="config": [plain for plain, _ in call(*arguments, name=name)]


@pytest.mark.parametrize("name", chosen(ODD, "my data", "a=b", "[a]", "it's", "2026", "é\\"))
def test_a_path_is_what_is_typed(composed, name: str):
    (job,) = composed(f"folder=/tmp/{name}", f"init_from={name}", f"dataset.folder={name}", "dataset=files")
    assert (job["folder"], job["init_from"], job["dataset"]["folder"]) == (f"/tmp/{name}", name, name)
    (job,) = composed(f"corpora={name}", f"dataset.tokenizer.model_file={name}", name="data_prep")
    assert (job["corpora"], job["dataset"]["tokenizer"]["model_file"]) == (name, name)


def test_home_is_that_of_the_user(composed):
    (job,) = composed("dataset=files", "dataset.folder=~/my data", "folder=~/Übung")
    home = os.path.expanduser("~")
    assert (job["dataset"]["folder"], job["folder"]) == (f"{home}/my data", f"{home}/Übung")


def test_each_of_several_is_what_is_typed(composed):
    (job,) = composed("dataset=files", "dataset.folder=x", "dataset.references=[Übung,b c,d=e]")
    assert job["dataset"]["references"] == ["Übung", "b c", "d=e"]
    jobs = composed("-m", "dataset=files", "dataset.folder=Übung,b=c")
    assert [job["dataset"]["folder"] for job in jobs] == ["Übung", "b=c"]


@pytest.mark.parametrize("path", ["a,b", 'say "x"', "'q"])
def test_where_a_text_could_be_more_the_sentence_says_what_to_type(composed, capfd, path: str):
    with pytest.raises(SystemExit):
        composed("dataset=files", f"dataset.folder={path}")
    (typed,) = shlex.split(capfd.readouterr().err.partition(", type ")[2].partition("; a list")[0])
    (job,) = composed("dataset=files", typed)
    assert job["dataset"]["folder"] == path


@pytest.mark.parametrize(
    "arguments",
    [
        ("seed=1", "seed=2"),
        ("seed=1", "seed=1"),
        ("seed=1", "+seed=2"),
        ("++seed=1", "seed=2"),
        ("attention=dot", "attention=mocha"),
        ("~preset", "preset=phrasebook"),
        ("-m", "seed=1,2", "seed=3"),
        ("attention/energy=dot", "attention=mocha", "attention/energy=concat"),
    ],
    ids=" ".join,
)
def test_an_option_is_given_once(composed, capfd, arguments: tuple[str, ...]):
    with pytest.raises(SystemExit) as end:
        composed(*arguments)
    error = capfd.readouterr().err
    assert end.value.code == 2 and " is given more than once (" in error and error.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--x"], "unknown option --x: choices: --cfg, "),
        (["--seed=2"], "unknown option --seed: "),
        (["--cfg"], "--cfg has no value: write --cfg job|hydra|all "),
        (["--resolve"], "--resolve is about what --cfg shows: add --cfg job, "),
        (["-p", "training"], "--package is about what --cfg shows: add --cfg job, "),
        (["--cfg", "job", "-m"], "--cfg and --multirun do not go together: "),
        (["-m", "hydra/sweeper=x", "seed=1"], "hydra/sweeper=x cannot be obeyed, as -m makes the jobs itself: "),
        (["--info"], "--info is gone: --cfg job shows what a command would run"),
        (["--config-name", "x"], "--config-name is gone: a YAML file of options stands by itself"),
        (["--shell-completion"], "unknown option --shell-completion: choices: --cfg, "),
        (["--cfg", "job", "-p", "nope"], "--package nope is no part of the configuration: give a group or an option, "),
        (["--config-dir", "/nope"], "--config-dir /nope is no folder: give one of configuration files"),
        (["@x=1"], "@x=1 names no option before the =: write group=choice or key=value"),
        (["=1"], "=1 names no option before the =: write group=choice or key=value"),
        (["größe=1"], "größe=1 cannot be read: write group=choice or key=value, "),
        (["search.k=2"], "unknown option search.k here: it is an option of search=wait_k; add that, "),
        (["encoder.chunk_size=2"], "unknown option encoder.chunk_size here: it is an option of encoder=lc_bilstm; "),
        (
            ["optimizer=sgd", "optimizer.betas=[0.9,0.9]"],
            "unknown option optimizer.betas here: it is an option of optimizer=adam or optimizer=adamw; ",
        ),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_cannot_be_obeyed(composed, capfd, arguments: list[str], sentence: str):
    with pytest.raises(SystemExit) as end:
        composed(*arguments)
    out, error = capfd.readouterr()
    assert (end.value.code, out, error.count("\n")) == (2, "", 1)
    assert error.startswith(f"error: {sentence}")
