"""The result of every metric, and the checks that every corpus metric makes before it counts."""

from collections.abc import Sequence, Sized
from dataclasses import dataclass

from mt.errors import UserError


@dataclass(frozen=True)
class Score:
    """A corpus score, with all that a reader needs to compute it again (Post 2018, "A Call for Clarity")."""

    score: float
    signature: str


def require_pairs(hypotheses: Sized, references: Sized) -> None:
    """Checks that there are as many hypotheses as references, at least one: hypothesis i is scored against entry i.

    Raises:
        UserError: the counts differ, or there is nothing to score.
    """
    if len(hypotheses) != len(references):
        raise UserError(
            f"there are {len(hypotheses)} hypotheses but {len(references)} references: "
            "give one entry per sentence on both sides, in the same order"
        )
    if len(hypotheses) == 0:
        raise UserError("there is nothing to score: give at least one hypothesis and its reference")


def reference_count(references: Sequence[Sequence[str]]) -> str:
    """Returns the `nrefs` field of a signature, as sacreBLEU writes it: a number, or "var" where sentences differ.

    Raises:
        TypeError: an entry is a string instead of a list of strings (its characters would be scored).
        UserError: a sentence has no reference.
    """
    for number, group in enumerate(references, start=1):
        if isinstance(group, str):
            raise TypeError("references[i] is the list of all references of sentence i, not a string")
        if not group:
            raise UserError(f"sentence {number} has no reference: give each sentence at least one")
    counts = {len(group) for group in references}
    return str(counts.pop()) if len(counts) == 1 else "var"


def without_mode(name: str) -> str:
    """Returns the name of a score without the mode of decoding: `bleu` for `bleu_soft` and `bleu_hard`."""
    return name.removesuffix("_soft").removesuffix("_hard")
