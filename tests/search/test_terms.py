"""Terms that are written where the attention reads them, with a model whose tokens and attention are scripted."""

from collections.abc import Sequence

import numpy as np
import pytest

from mt.search.beam import search
from mt.search.constraints import Forbidden, Wanted
from mt.search.draws import Draws
from mt.search.phrases import Form
from mt.search.spelling import Spelling
from mt.search.steering import Steering, TokenConstraints
from mt.search.stepper import Step
from mt.search.terms import NO_TERM, SourceTerm, Terms
from mt.step import EOS, Attended

SURFACES = ["", " ⁇ ", "", "", " A", " b", " c", "d", ".", " Term", " two", " words", "-", "e"]
SPELLING = Spelling(SURFACES, {*"AbcdeTermtwowords"})
A, B, C, D, DOT, TERM, TWO, WORDS, HYPHEN, E = range(4, 14)
LENGTH = 5
"""Positions of the source, of which position 1 is a term, unless a test says otherwise."""


class Scripted:
    """Writes and reads by a script, whatever is written; at its end EOS."""

    def __init__(self, tokens: Sequence[int], reads: Sequence[int], *, hard: bool = False, share: float = 0.9) -> None:
        self._tokens = tokens
        self._reads = reads
        self._hard = hard
        self._share = share
        self._length = 0

    def step(
        self,
        tokens: list[int],
        parents: list[int],
        count: int | Draws,
        forbidden: Forbidden | None,
        wanted: Wanted | None = None,
    ) -> Step:
        rows = len(tokens)
        place = self._length
        self._length += 1
        values = np.tile(-4 - np.arange(len(SURFACES)) / 10, (rows, 1)).astype(np.float32)
        values[:, :3] = -np.inf
        values[:, self._tokens[place] if place < len(self._tokens) else EOS] = -0.1
        own = None if wanted is None else values[wanted.rows, wanted.tokens]
        if forbidden is not None:
            values[forbidden.pairs(len(SURFACES))] = -np.inf
        best = (-values).argsort(1, kind="stable")[:, : int(count)]  # type: ignore[arg-type]
        read = self._reads[place] if place < len(self._reads) else LENGTH - 1
        weights = np.full((rows, LENGTH), (1 - self._share) / (LENGTH - 1), np.float32)
        weights[:, read] = self._share
        stops = np.full(rows, read) if self._hard else None
        return Step(np.take_along_axis(values, best, 1), best, Attended(weights, stops), own)


def written(
    model: Scripted,
    *targets: Sequence[Sequence[int]],
    owners: Sequence[int] = (NO_TERM, 0, NO_TERM, NO_TERM, NO_TERM),
    whole: bool = True,
    wait_k: int | None = None,
    beam_size: int = 1,
    limit: int = 12,
) -> str:
    """Returns the text of the best hypothesis. targets: the translations of each term."""
    terms = Terms(SPELLING)
    terms.owners = np.array(owners)
    terms.certain = [LENGTH] * LENGTH
    terms.complete = True
    for forms in targets or ([[TERM]],):
        texts = tuple("".join(SURFACES[token] for token in form).strip() for form in forms)
        same = tuple(Form(tuple(form)) for form in forms)
        terms.terms.append(SourceTerm(same, same, texts))
    steering = Steering([TokenConstraints("text 1", SPELLING, terms=terms)], [limit], whole=whole, wait_k=wait_k)
    ((best, *_),) = search(model, [limit], beam_size=beam_size, steering=steering)
    return "".join(SURFACES[token] for token in best.tokens)


def test_a_term_stands_where_most_of_the_weight_lies_on_it():
    assert written(Scripted([A, B, C], [0, 1, 2])) == " A Term c"
    assert written(Scripted([A, B, C], [0, 1, 2], share=0.51)) == " A Term c"
    assert written(Scripted([A, B, C, DOT], [0, 1, 2, 3], share=0.4)) == " A b c Term"


def test_a_hard_attention_reads_a_term_where_it_stops_on_it_or_behind_it():
    assert written(Scripted([A, B, C, C], [0, 1, 2, 3], hard=True)) == " A b Term c"
    assert written(Scripted([A, TERM, C], [0, 1, 2], hard=True)) == " A Term c"
    # Two words at most stand before it.
    assert written(Scripted([A, B, C, B, C], [0, 1, 1, 1, 1], hard=True)) == " A b c Term c"
    assert written(Scripted([A, B, C], [0, 2, 3], hard=True)) == " A Term c"
    assert written(Scripted([A, B, C, B, C], [1, 1, 1, 2], hard=True)) == " A b Term b c"
    assert written(Scripted([A, B, C], [0, -1, -1], hard=True)) == " A Term c"


def test_a_word_is_ended_before_a_term_and_a_term_ends_its_word():
    assert written(Scripted([A, D, B], [0, 1, 1])) == " Ad Term"
    assert written(Scripted([A, B, D, C], [0, 1, 2, 2])) == " A Term"
    assert written(Scripted([A, B, DOT, C], [0, 1, 2, 2])) == " A Term. c"
    assert "-" not in written(Scripted([A, B, HYPHEN, D], [0, 1, 2, 2]))


def test_what_the_model_writes_by_itself_is_not_doubled():
    assert written(Scripted([TERM, B, C], [0, 1, 2])) == " Term b c"
    assert written(Scripted([A, TERM, DOT], [0, 0, 3])) == " A Term."
    # A longer word is another.
    assert written(Scripted([TERM, D, B, C], [0, 0, 1, 2])) == " Termd Term c"


def test_a_term_is_met_once_for_each_time_that_it_occurs():
    owners = [0, 1, NO_TERM, 2, NO_TERM]
    targets = [[[TERM]], [[TERM]], [[TWO, WORDS]]]
    assert written(Scripted([A, B, C, D, C], [0, 1, 2, 3, 3, 3]), *targets, owners=owners) == " Term Term cd two words"
    assert written(Scripted([A, A, A, C], [0, 0, 2, 2]), *targets, owners=owners) == " Term A A c Term two words"
    assert written(Scripted([A] * 3 + [C], [0, 0, 2, 2]), *targets, owners=owners, whole=False) == " Term A A c"


def test_of_several_translations_the_most_probable_one_is_written_whole():
    forms = [[TERM], [TWO, WORDS], [C]]
    assert written(Scripted([A, TWO, B, B], [0, 1, 2, 2]), forms) == " A two words b"
    assert written(Scripted([A, C, B], [0, 1, 2]), forms) == " A c b"


def test_a_source_that_is_not_known_to_its_end_ends_where_the_model_says():
    assert written(Scripted([A, B, DOT], [0, 0, 0, 0], hard=True), whole=False) == " A b."
    assert written(Scripted([A, B, DOT], [0, 0, 0, 0], hard=True)) == " A b. Term"
    # With wait-k, the end is known once as many steps were taken, and so is what a term is.
    assert written(Scripted([A, B, C], [0, 0, 0]), whole=False, wait_k=1) == " A b c"
    assert written(Scripted([A, B, C], [0, 0, 0]), whole=False, wait_k=2) == " A b c Term"
    assert written(Scripted([A, B, C], [1, 1, 2]), whole=False, wait_k=4) == " A Term c"


@pytest.mark.parametrize("beam_size", [1, 2, 5])
def test_a_beam_keeps_hypotheses_that_met_their_terms(beam_size: int):
    owners = [NO_TERM, 0, 0, 1, NO_TERM]
    text = written(
        Scripted([A, B, C, A, B], [0, 1, 2, 3, 4, 4]), [[TWO, WORDS]], [[TERM]], owners=owners, beam_size=beam_size
    )
    assert " two words" in text and text.count(" Term") == 1


def test_a_prefix_comes_before_terms():
    from mt.search.spelling import Avoided, Prefix

    terms = Terms(SPELLING)
    terms.owners = np.array([0, NO_TERM, NO_TERM, NO_TERM, NO_TERM])
    form = (Form((TERM,)),)
    terms.terms.append(SourceTerm(form, form, ("Term",)))
    asked = TokenConstraints("text 1", SPELLING, None, Avoided(["c"], SPELLING), Prefix([A, B], "", SPELLING), terms)
    ((best,),) = search(Scripted([C, C, A, C], [0, 0, 0, 2]), [9], steering=Steering([asked], [9]))
    text = "".join(SURFACES[token] for token in best.tokens)
    assert text.startswith(" A b Term") and " c" not in text
