"""What the examples that stream have in common: a run and its policy by options, and what they say of both."""

import argparse
from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
from pydantic import ValidationError

import mt
from mt.cli.arguments import add_run_options, add_search_options, chosen_search, load_translator
from mt.cli.parser import Parser
from mt.errors import shown
from mt.search.config import SearchConfig, revised_search
from mt.search.options import EXTRA, MAX_LENGTH

CLOSING = tuple(".!?。！？")
"""The characters that end a sentence."""


class Policy(NamedTuple):
    """A run, and how it streams."""

    translator: mt.Translator
    search: SearchConfig
    unit: Literal["word", "char"]

    def begin(self, prefix: str | None = None) -> mt.Session:
        """Begins a session.

        prefix: how its translation begins. It may be longer than that of a source that has just begun.
        """
        search = self.translator.search_for(self.search)
        if prefix and search.max_ratio is not None:
            extra = (EXTRA if search.max_extra is None else search.max_extra) + len(prefix)
            search = revised_search(search, {"max_extra": min(extra, MAX_LENGTH)})
        return self.translator.stream(search, unit=self.unit, prefix=prefix)


def parser_of(description: str | None) -> Parser:
    """Returns a parser of a run and its policy, with the options of `mt stream`."""
    parser = Parser(description)
    add_run_options(parser, engine=True)
    add_search_options(parser)
    parser.add_argument("--unit", choices=("word", "char"), help="char for languages that put no blanks between words")
    return parser


def opened(options: argparse.Namespace) -> Policy:
    """Loads a run of texts. Raises UserError where there is none, or where it cannot stream so."""
    translator = load_translator(options)
    if not translator.field.written:
        kind = translator.config.dataset.field.name
        raise mt.UserError(f"{options.run[0]} reads {kind}, and what comes here is text: name a run that reads text")
    search = chosen_search(options, translator.streaming_search())
    policy = Policy(translator, search, options.unit or translator.unit)
    # What does not go together is refused before anything comes. A first draft compiles for seconds, and clients wait
    # less for a word than for a server.
    policy.begin().read("a")
    return policy


def fault_of(error: ValidationError) -> str:
    """Describes the first fault of JSON that is not as expected, after the field that has it."""
    fault = error.errors()[0]
    return ": ".join([".".join(map(str, fault["loc"])), shown(fault["msg"])] if fault["loc"] else [shown(fault["msg"])])


def words_covered(session: mt.Session, words: Sequence[str]) -> int | None:
    """Returns how many words of a source reach to the furthest one that the written text attends to; None where it is
    not known. words: all that the session has read."""
    draft = getattr(session, "translation", None)  # of sessions that draft
    if draft is None or not session.tokens or not draft.alignment.any():
        return None
    ends = np.cumsum([len(row) - 1 for row in session.streaming.tokenizers.source.encode(list(words))])
    # The position of EOS, and words that may change, have no part in it.
    peaks = draft.alignment[: len(session.tokens), : ends[-1]].argmax(1)
    return int(np.searchsorted(ends, peaks.max(), side="right")) + 1
