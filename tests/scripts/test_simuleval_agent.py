"""The agent without SimulEval; tests/test_simuleval.py has it in SimulEval's evaluator."""

import argparse
import sys
from pathlib import Path

import pytest

from mt.decoding.load import load
from mt.errors import UserError
from mt.search.config import BeamConfig, OnlineConfig, revised_search
from mt.search.policies import AlignAttConfig, RetranslateConfig
from scripts import simuleval_agent
from scripts.simuleval_agent import Interpreter, add_args, chosen
from tests.refusals.sentences import require_refusal

WAIT_2 = revised_search(OnlineConfig(max_extra=7), {"name": "wait_k", "k": 2})

ALIGN = AlignAttConfig(f=1, step=3, max_extra=7)


def parsed(*arguments: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    add_args(parser)
    return parser.parse_args(["--run", "RUN", *arguments])


def test_it_needs_no_simuleval() -> None:
    assert "simuleval" not in sys.modules and not hasattr(simuleval_agent, "Agent")


def test_the_search_is_the_runs_where_that_is_online() -> None:
    for arguments, configured, expected in (
        (["--search", "alignatt", "--search-options", "f=1", "step=3"], WAIT_2, ALIGN),
        ([], WAIT_2, WAIT_2),
        (["--search", "online"], WAIT_2, OnlineConfig(max_extra=7)),
        (["--search", "wait_k", "--wait-k", "2"], BeamConfig(max_extra=7), WAIT_2),
        (["--wait-k", "2"], OnlineConfig(max_extra=7), WAIT_2),
    ):
        assert chosen(parsed(*arguments), configured) == expected
    with pytest.raises(UserError, match=r"^--wait-k K is an option of --search wait_k: leave out the one, or choose"):
        chosen(parsed("--search", "online", "--wait-k", "3"), OnlineConfig())
    require_refusal(lambda: chosen(parsed("--search-options", "f=[1"), ALIGN), r"^--search-options are NAME=VALUE")
    with pytest.raises(UserError, match=r"^search=retranslate changes what it has shown: choose --search online or"):
        chosen(parsed(), RetranslateConfig())
    require_refusal(lambda: chosen(parsed("--wait-k", "0"), OnlineConfig()), r"^search\.k=0 is not possible")


def test_it_writes_what_is_certain_with_each_word_that_has_come(trained_hard: Path) -> None:
    translator = load(trained_hard, device="cpu")
    interpreter = Interpreter(translator, OnlineConfig())
    source = ["the", "big", "cats", "see", "houses"]
    for _ in range(2):
        interpreter.reset()
        delays: list[int] = []
        words: list[str] = []
        for count in range(1, len(source) + 1):
            written = interpreter.write(source[:count], finished=count == len(source)).split()
            words += written
            delays += [count] * len(written)
        expected = translator.translate(" ".join(source), OnlineConfig())
        assert (" ".join(words), tuple(delays)) == (expected.text, expected.timing.word_delays)
    interpreter.reset()
    assert interpreter.write([], finished=True) == ""
