"""What is asked of the translation of one text: phrases, how it begins, and terms.

Callers say it in four keywords, `Asked`. `requests_of` makes a `Request` for each text of them, and only requests are
passed on. `mt.decoding.lexical` makes of a request what a search takes."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypedDict, Unpack

from pydantic import Field

from mt.common.options import Options, parse
from mt.data.glossary import Glossary, glossaries_of
from mt.data.tokenizer import Unit
from mt.errors import UserError, counted


class AnyOf(Options):
    """Surface forms of one term."""

    any_of: tuple[str, ...] = Field(min_length=1)


class LexicalConstraints(Options):
    """What is asked of the words of the translation of one text."""

    constraints: tuple[str | AnyOf, ...] = ()
    """Phrases that must appear; of several surface forms one. The same phrase twice must appear twice."""
    avoid: tuple[str, ...] = ()
    """Phrases that must not appear."""
    prefix: str = ""
    """How the translation begins; without a blank at its end it may end inside a word."""


class Request(NamedTuple):
    """What is asked of the translation of one text."""

    name: str
    """What to call the text in errors, such as its line in a file."""
    lexical: LexicalConstraints = LexicalConstraints()
    glossary: Glossary | None = None
    """Terms, each written where the attention reads its source."""
    tokens: tuple[int, ...] = ()
    """The ids that the translation begins with. A prefix of characters that is longer goes on behind them."""
    stream: Unit | None = None
    """The unit in which it is written while its source arrives: no word goes on behind these ids then, and where more
    is asked than has room so far, it waits. None: its source is there."""


class Asked(TypedDict, total=False):
    """The keywords by which callers ask something of translations. For a single text, each is a value. For several
    texts it is a list with an entry for each, and None asks for nothing."""

    constraints: Sequence[Any] | None
    """Phrases that must appear, each a str or {"any_of": [...]} of several forms, in a beam or greedily."""
    avoid: Sequence[Any] | None
    """Phrases that must not appear."""
    prefix: str | Sequence[str | None] | None
    """How the translation begins."""
    glossary: Any
    """A file, or a mapping of terms to targets, or such a mapping for each text; see `mt.data.glossary`."""


def names_of(texts: Sequence[object]) -> list[str]:
    """Returns names of texts for errors, counted from 1."""
    return [f"text {number}" for number, _ in enumerate(texts, start=1)]


def requests_of(names: Sequence[str], *, alone: bool, **asked: Unpack[Asked]) -> list[Request] | None:
    """Returns what is asked of the translations of some texts, see `Asked`; None where nothing is.

    names: what to call the texts. alone: whether there is a single text. Raises UserError for values of another form.
    """
    # A single text has its own value of each keyword, and several texts a list of values.
    # A glossary is of all texts, or of each: only `glossaries_of` can tell.
    glossary = asked.pop("glossary", None)
    given: dict[str, Any] = {key: [value] if alone else value for key, value in asked.items() if value is not None}
    for key, value in given.items():
        # A str or a mapping would pass for a sequence, of its characters or keys.
        if isinstance(value, str | Mapping) or not isinstance(value, Sequence) or len(value) != len(names):
            raise UserError(
                f"{key} is asked of {counted(len(names), 'text')}: give a list with an entry for each (None: nothing)"
            )
    if not given and glossary is None:
        return None
    lexical = []
    for i, name in enumerate(names):
        plain = {key: value[i] for key, value in given.items() if value[i] is not None}
        lexical.append(parse(plain, LexicalConstraints, name))
    glossaries = [None] * len(names) if glossary is None else glossaries_of(glossary, len(names), alone=alone)
    return [Request(*each) for each in zip(names, lexical, glossaries, strict=True)]
