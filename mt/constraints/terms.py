"""The terms of a glossary in one source, and how each may be translated. Needs no torch.

A search knows of them only how much room they need, and until when a stream waits for them. `mt.decoding.terms` writes
them into hypotheses.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from mt.common.terms import form_places
from mt.constraints.spelling import NO_TOKENS, Spelling

NO_TERM = -1


class Target(NamedTuple):
    """A translation of a term."""

    words: tuple[str, ...]
    """The words of the translation, see `mt.data.words.term_words`. Those without capitals are met in any case."""
    tokens: tuple[int, ...]
    capital: tuple[int, ...]
    """The tokens with a capital letter, for the beginning of a text."""
    bare: tuple[int, ...] | None = None
    """The tokens without the blank before them; None where the vocabulary cannot write that."""

    def places(self, text: Sequence[str]) -> Iterator[int]:
        """Yields where it begins among the words of a text; see `form_places`."""
        return form_places(self.words, text)


class SourceTerm(NamedTuple):
    """A term of a source, once for each time that it occurs."""

    targets: tuple[Target, ...]
    """Each will do."""
    words: int = 1
    """How many words it has."""


class Terms:
    """The terms of one source. Those of a source that is still arriving are added while it does."""

    def __init__(self, spelling: Spelling) -> None:
        self.spelling = spelling
        self.terms: list[SourceTerm] = []
        self.owners = NO_TOKENS
        """[S] int64: the number of the term to which each position of the source belongs, else NO_TERM. Only the
        positions of which that is certain are there."""
        self.certain: list[int] = []
        """[S]: how many tokens of the source had come when that became certain."""

    @property
    def fewest(self) -> int:
        """The fewest tokens that write all terms."""
        return sum(min(len(target.tokens) for target in term.targets) for term in self.terms)

    def written(self, target: Target, before: str) -> tuple[int, ...]:
        """Returns the tokens that write a target after a text."""
        # The form depends on what stands before: nothing, a blank, or a character that is no letter.
        if not before.strip():
            return target.capital
        spaced = self.spelling.surfaces[target.tokens[0]].startswith(" ")
        return target.bare if target.bare and spaced and not before.endswith(" ") else target.tokens
