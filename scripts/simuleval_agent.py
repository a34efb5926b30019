"""Our models in SimulEval's evaluator, which feeds an agent one source word at a time and notes when it writes.

simuleval --agent-class scripts.simuleval_agent.Agent --run RUN --source test.en --target test.de --output DIR

SimulEval imports this file. Nothing else here needs SimulEval, and it is in no environment of ours, since it pins old
packages. docs/latency.md says how to install it.
"""

import argparse
import sys
from typing import Any

import yaml

from mt.decoding.load import load
from mt.decoding.translator import Translator
from mt.errors import UserError, reported
from mt.search.config import SEARCHES as ALL_SEARCHES, SearchConfig, revised_search

SEARCHES = [name for name, search in ALL_SEARCHES.items() if search.timed and name != "retranslate"]
"""The searches that write while they read, and take nothing back."""


def add_args(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the agent on SimulEval's command line, or in a `main.yaml`."""
    parser.add_argument("--run", required=True, help="the folder that training printed")
    parser.add_argument("--checkpoint", default="best", help="best, last, average or ema where the run made one")
    parser.add_argument("--search", choices=SEARCHES, help="else as the run streams by default")
    parser.add_argument("--wait-k", type=int, metavar="K", help="source tokens to read before the first is written")
    parser.add_argument("--search-options", nargs="+", default=[], metavar="NAME=VALUE", help="such as f=2 step=1")


def chosen(options: argparse.Namespace, usual: SearchConfig) -> SearchConfig:
    """Returns the search of an agent. usual: by which the run streams. Raises UserError where options do not go
    together."""
    name = options.search or ("wait_k" if options.wait_k is not None else usual.name)
    if options.wait_k is not None and name != "wait_k":
        raise UserError("--wait-k K is an option of --search wait_k: leave out the one, or choose the other")
    if name not in SEARCHES:
        raise UserError(f"search={name} changes what it has shown: choose --search {' or '.join(SEARCHES)}")
    changes = dict(option.partition("=")[::2] for option in options.search_options)
    k = {} if options.wait_k is None else {"k": options.wait_k}
    try:
        values = {key: yaml.safe_load(value) for key, value in changes.items()}
    except yaml.YAMLError:
        raise UserError("--search-options are NAME=VALUE, such as f=2 step=1: give numbers as values") from None
    return revised_search(usual, {"name": name} | k | values)


class Interpreter:
    """Translates one source after another while it comes."""

    def __init__(self, translator: Translator, search: SearchConfig) -> None:
        """Raises UserError where the model cannot write before it has read everything."""
        self._translator = translator
        self._search = search
        self.reset()

    def reset(self) -> None:
        """Begins another source."""
        self._session = self._translator.stream(self._search, unit="word")
        self._read = 0

    def write(self, source: list[str], finished: bool) -> str:
        """Returns the words that are certain with the words that have come since the call before, which may be none.

        source: all words so far. finished: whether these are all.
        """
        words: list[str] = []
        for word in source[self._read :]:
            words += self._session.read(word)
        self._read = len(source)
        return " ".join([*words, *(self._session.finish() if finished else [])])


def _agent() -> type:
    from simuleval.agents import TextToTextAgent
    from simuleval.agents.actions import ReadAction, WriteAction
    from simuleval.utils import entrypoint

    class Agent(TextToTextAgent):  # type: ignore[misc]
        """Reads a word, and writes what is certain then: several words in one action, since each action reads one."""

        def __init__(self, args: argparse.Namespace) -> None:
            with reported():
                translator = load(args.run, checkpoint=args.checkpoint, device=args.device)
                self._interpreter = Interpreter(translator, chosen(args, translator.streaming_search()))
            super().__init__(args)

        add_args = staticmethod(add_args)

        def reset(self) -> None:
            super().reset()
            self._interpreter.reset()

        def policy(self) -> Any:
            finished = self.states.source_finished
            words = self._interpreter.write(self.states.source, finished)
            return WriteAction(words, finished=finished) if words or finished else ReadAction()

    return entrypoint(Agent)


if "simuleval" in sys.modules:
    Agent = _agent()
