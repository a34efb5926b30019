"""Our models in SimulEval's evaluator, which feeds an agent one source word at a time and notes when it writes.

simuleval --agent-class scripts.simuleval_agent.Agent --run RUN --source test.en --target test.de --output DIR

SimulEval imports this file. Nothing else here needs SimulEval, and it is in no environment of ours, since it pins old
packages. docs/latency.md says how to install it.
"""

import argparse
import sys
from typing import Any

from mt.decoding.load import load
from mt.decoding.translator import Translator
from mt.errors import UserError, reported
from mt.search.config import SearchConfig, revised_search

SEARCHES = ("online", "wait_k")
"""The searches that write while they read."""


def add_args(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the agent on SimulEval's command line, or in a `main.yaml`."""
    parser.add_argument("--run", required=True, help="the folder that training printed")
    parser.add_argument("--checkpoint", default="best", help="best, last, average or ema where the run made one")
    parser.add_argument("--search", choices=SEARCHES, help="else as the run was configured, or online")
    parser.add_argument("--wait-k", type=int, metavar="K", help="source tokens to read before the first is written")


def chosen(options: argparse.Namespace, config: SearchConfig) -> SearchConfig:
    """Returns the search of an agent. Raises UserError where its options do not go together."""
    usual = config.name if config.name in SEARCHES else SEARCHES[0]
    name = options.search or ("wait_k" if options.wait_k is not None else usual)
    if options.wait_k is not None and name != "wait_k":
        raise UserError("--wait-k K is an option of --search wait_k: leave out the one, or choose the other")
    return revised_search(config, {"name": name} | ({} if options.wait_k is None else {"k": options.wait_k}))


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
                self._interpreter = Interpreter(translator, chosen(args, translator.config.search))
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
