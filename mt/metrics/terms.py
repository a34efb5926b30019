"""How many terms of the sources are translated as a glossary asks.

`term_exact` counts them as words (`mt.data.words.term_words`), as decoding writes them: `Gold` is no word of `Gold.012`
or of `Gold-Kette`. `term_inside` counts them also within longer words and whatever the case, as in German compounds.
`term_doubled` counts those that stand beside the model's own translation: the words to which the links of a translation
without the glossary join the term.

`term_context2` and `term_context3` compare the words around them with those around the same terms of the reference. It
is not the window overlap of WMT21's evaluator (mahfuzibnalam/terminology_evaluation), which divides by all texts,
those without terms included. Where no reference has a term there is none.
"""

import string
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from mt.common.terms import form_places
from mt.errors import UserError
from mt.metrics.base import Score, require_pairs

Words = Sequence[str]
Forms = Sequence[Words]
"""The translations of a term, any of which is right."""


class OwnWords(NamedTuple):
    """The translation of a model without a glossary."""

    text: Words
    of_terms: Sequence[Words]
    """For each term of the source, the words of the translation that are linked to the term."""


Places = Mapping[int, Words]
"""The forms of terms in a text, by the position of their first words."""


def score_terms(
    hypotheses: Sequence[Words],
    references: Sequence[Words],
    terms: Sequence[Sequence[Forms]],
    own: Sequence[OwnWords] | None = None,
) -> dict[str, Score]:
    """Computes the percentage of terms that are met. A place in a hypothesis can meet only one term.

    hypotheses, references: the words of N texts. terms: the terms of each source. own: the translations without the
    glossary, for the percentage of terms that are doubled. Raises UserError if the counts differ, or without terms.
    """
    require_pairs(hypotheses, references)
    count = sum(map(len, terms))
    if not count:
        raise UserError("no source has a term of the glossary: give the glossary of these texts")
    # Terms of the hypotheses, as words and within words.
    exact = sum(len(_places(text, of_text)) for text, of_text in zip(hypotheses, terms, strict=True))
    inside = sum(_inside(" ".join(text), of_text) for text, of_text in zip(hypotheses, terms, strict=True))
    signature = f"terms:{count}|case:entry|words:term|n:{len(hypotheses)}"
    scores = {"term_exact": Score(100 * exact / count, signature)}
    scores["term_inside"] = Score(100 * inside / count, signature.replace("case:entry", "case:lc"))
    if own is not None:
        doubled = sum(map(_doubled, hypotheses, terms, own))
        scores["term_doubled"] = Score(100 * doubled / count, signature)
    # Words around the terms of the references.
    met = [_places(reference, of_text) for reference, of_text in zip(references, terms, strict=True)]
    for window in (2, 3):
        # Sentences whose reference has none of its terms say nothing.
        overlaps = [
            _overlap(text, reference, places, window)
            for text, reference, places in zip(hypotheses, references, met, strict=True)
            if places
        ]
        if overlaps:
            share = 100 * sum(overlaps) / len(overlaps)
            signature = f"terms:reference|case:entry|words:term|n:{len(overlaps)}"
            scores[f"term_context{window}"] = Score(share, signature)
    return scores


def _places(text: Words, terms: Sequence[Forms]) -> Places:
    """Returns the places of the terms that a text meets; no two begin at the same word."""
    places: dict[int, Words] = {}
    for forms in terms:
        # Each term takes the first place that no term before it has taken.
        free = ({begin: form} for form in forms for begin in form_places(form, text) if begin not in places)
        places |= next(free, {})
    return places


def _doubled(text: Words, terms: Sequence[Forms], own: OwnWords) -> int:
    """Counts the terms that only the translation with the glossary meets, but that still has all the model's own words
    for the term, as often as the translation without the glossary has them."""
    met, own_met = ([*_places(words, terms).values()] for words in (text, own.text))
    written = Counter(text)
    free = Counter(own.text)
    count = 0
    for forms, linked in zip(terms, own.of_terms, strict=True):
        # Punctuation that is linked to the term is no translation of it.
        others = {word for word in linked if any(map(str.isalnum, word))}
        added = [form for form in forms if form in met and form not in own_met]
        count += any(
            bool(others) and all(written[word] - [*form].count(word) >= free[word] for word in others) for form in added
        )
    return count


def _inside(text: str, terms: Sequence[Forms]) -> int:
    """Counts the terms that occur in the characters of a text; no two begin at the same character."""
    text = text.lower()
    taken = set[int]()
    count = 0
    for forms in terms:
        written = [" ".join(form).lower() for form in forms]
        # Anywhere in the characters, since a compound may hold a term within a word.
        places = (i for form in written for i in range(len(text)) if text.startswith(form, i) and i not in taken)
        place = next(places, None)
        if place is not None:
            taken.add(place)
            count += 1
    return count


def _overlap(text: Words, reference: Words, places: Places, window: int) -> float:
    """Returns the share of the words around the reference's terms that are also around these terms in the text, as a
    mean over pairs of places. If a term occurs several times, the places that agree most are paired first."""
    shares = []
    for form in dict.fromkeys(map(tuple, places.values())):
        around = [_around(reference, begin, len(form), window) for begin in places if tuple(places[begin]) == form]
        written = [_around(text, begin, len(form), window) for begin in form_places(form, text)]
        pairs = [(_share(wanted, had), i, j) for i, wanted in enumerate(around) for j, had in enumerate(written)]
        matched: tuple[set[int], set[int]] = (set(), set())
        for share, i, j in sorted(pairs, key=lambda pair: -pair[0]):
            if i not in matched[0] and j not in matched[1]:
                matched[0].add(i)
                matched[1].add(j)
                shares.append(share)
    return sum(shares) / len(shares) if shares else 0.0


def _around(text: Words, begin: int, length: int, window: int) -> list[str]:
    """Returns up to `window` words before a term and as many after it, without punctuation."""
    ahead = [word for word in reversed(text[:begin]) if word not in string.punctuation]
    behind = [word for word in text[begin + length :] if word not in string.punctuation]
    return ahead[:window] + behind[:window]


def _share(reference: list[str], text: list[str]) -> float:
    count = sum(min(reference.count(word), text.count(word)) for word in {*reference})
    return count / len(reference) if reference else 0.0
