"""A mistake on the command line of a script: one sentence, status 2, and nothing is done."""

import pytest

NAMES = ("align", "average", "compare", "evaluate", "export", "score", "stream", "translate")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("arguments", [(), ("",), ("--nothing",), ("--out",), ("x", "--x=", "y")], ids=str)
def test_a_mistake_is_told_in_one_sentence(call, name: str, arguments: tuple[str, ...]):
    outcome = call(name, *arguments)
    assert (outcome.out, outcome.status, outcome.err.count("\n")) == ("", 2, 1)
    assert outcome.err.startswith("error: ") and outcome.err.endswith("; see --help\n")
