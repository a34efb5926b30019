"""What is typed as it stands, without the quotes of Hydra's grammar; options once."""

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


def test_home_is_that_of_the_user_and_each_of_several_is_what_is_typed(composed):
    (job,) = composed("dataset=files", "dataset.folder=~/my data", "folder=~/Übung", "dataset.references=[Ü,b c,d=e]")
    home = os.path.expanduser("~")
    assert (job["dataset"]["folder"], job["folder"]) == (f"{home}/my data", f"{home}/Übung")
    assert job["dataset"]["references"] == ["Ü", "b c", "d=e"]
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
        ("seed=1", "+seed=2"),
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
