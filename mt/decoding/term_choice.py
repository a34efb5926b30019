"""Chooses which words of a hypothesis its terms replace, and what agrees with them. Needs no torch.

The attention says what may be the model's own translation of a term: the words that read it. Among these are often
articles, since they need the gender of their noun, and prepositions. So the model is asked, too: its own translation
becomes improbable where the source has something unknown in the place of the term (prediction difference: Li et al.
2019, "On the Word Alignment from Neural Machine Translation"). With that source the model also chooses among several
targets. Words before it, such as an article, get the endings after which the term is most probable.
"""

import math
from collections.abc import Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np

from mt.constraints.processor import TokenConstraints
from mt.constraints.terms import NO_TERM, Terms
from mt.data.words import term_words
from mt.decoding.network import DecodedBatch, Network
from mt.decoding.terms import MOST, Edit, edited, rewritten, streamed, words_of
from mt.search.config import SearchConfig
from mt.search.hypothesis import Hypothesis
from mt.search.stepper import Replayed, replayed
from mt.step import EOS, UNK

LEAST = 0.05
LOST = 0.6
MOST_LOST = 6.0
"""The score of a word as the model's own translation of a term is log(attention on the term + LEAST) + LOST * loss,
where the loss is by how much its log-probability falls without the term, at most MOST_LOST. By gold links, 94 % of the
phrasebook's nouns are found in this way, and 92 % by the attention alone."""
SHORT = 3
UNLIKELY = 2.0
"""A word of at most SHORT letters has a score that is lower by UNLIKELY: it is more often an article."""
CLOSE = 1.0
"""All words whose scores are within CLOSE of the best are tried."""
LEFT_OUT = -1.9
"""A word with a lower score is no translation of the term; a tenth of the attention gives about as much."""
UNREAD = 0.1
BESIDE = 0.3
"""Where no step has UNREAD of its attention on a term, the attention on its neighbours counts instead, times BESIDE."""
WORDS_BEFORE = 2
ALTERNATIVES = 8
LEAST_PROBABLE = -9.0
"""How many words before a term may change their endings, how many endings of each are tried, and the log-probability
that an ending must have."""
DEPENDS = 3.0
"""A word that loses more log-probability without the term says more than its gender, and keeps its ending."""
KNOWN = -6.0
"""The model knows a target if each token after its first has at least this log-probability. Only then does it know
which endings agree with it."""
PRIOR = 0.35
"""The weight of the log-probability of the words before: they were chosen to agree with the word that is replaced."""
MARGIN = 0.3
"""By how much another ending must be better than the model's own."""
AT_ONCE = 32
"""How many terms are written at once."""


class _Span(NamedTuple):
    """Tokens of a hypothesis that may be its own translation of a term."""

    begin: int
    end: int
    place: int
    """The token with the most attention on the term."""
    value: float
    """The score of the span; see `LEAST`."""


class _Draft:
    """A hypothesis into which terms are written."""

    def __init__(self, hypothesis: Hypothesis, asked: TokenConstraints, terms: Terms) -> None:
        self.hypothesis = hypothesis
        self.asked = asked
        self.terms = terms
        self.words = words_of(hypothesis.tokens, asked.spelling)
        self.edits: dict[int, list[Edit]] = {}
        """The edits of each term that the model has not written by itself."""
        self._shares = _shares(terms, hypothesis.windows.dense())  # [T, terms]
        protected = self._protected()
        # Terms that the model has written by itself are met; a word of the text belongs to at most one of them.
        own = term_words("".join(asked.spelling.surfaces[token] for token in hypothesis.tokens))
        met: set[int] = set()
        self.missing: list[int] = []
        """The terms that the model has not written by itself."""
        for number, term in enumerate(terms.terms):
            places = (range(at, at + len(target.words)) for target in term.targets for at in target.places(own))
            # Words that do not read the term translate something else.
            place = next((place for place in places if met.isdisjoint(place) and self._reads_term(place, number)), None)
            if place is None:
                self.missing.append(number)
            else:
                met.update(place)
        self.free = [
            number
            for number, word in enumerate(self.words)
            if protected.isdisjoint(range(word.begin, word.end)) and met.isdisjoint(word.numbers)
        ]
        """The words that may be replaced: they are not part of prefix or phrases, and meet no term."""

    def _reads_term(self, place: range, term: int) -> bool:
        """Returns whether the words at a place of the text attend to a term, or no word does."""
        shares = self._shares[:, term]
        most = shares.max(initial=0)
        words = [word for word in self.words if not set(place).isdisjoint(word.numbers)]
        tokens = [token for word in words for token in range(word.begin, word.end)]
        return most < UNREAD or bool(shares[tokens].max(initial=0) > MOST * most)

    def _protected(self) -> set[int]:
        """Returns the tokens of the prefix and of phrases, which must stay."""
        tokens = self.hypothesis.tokens
        taken: set[int] = set()
        # The prefix goes as far as its last word.
        prefix = self.asked.prefix
        state = 0
        for place, token in enumerate(tokens):
            if prefix is None or not prefix.holds(state):
                break
            taken.add(place)
            state = prefix.after(state, token)
        # A phrase may stand in several places, in any of its forms.
        for form in () if self.asked.phrases is None else chain(*self.asked.phrases.forms):
            size = len(form.tokens)
            for begin in range(len(tokens) - size + 1):
                if tuple(tokens[begin : begin + size]) == form.tokens:
                    taken.update(range(begin, begin + size))
        return taken

    def _spans(self, term: int, scores: Replayed) -> "list[_Span]":
        """Returns the places where the model's own translation of a term may be. scores: the probabilities of the
        hypothesis for the source with an unknown token in place of the term."""
        shares = self._shares
        # Each word that may be it has a score of attention and loss.
        lost = np.array(self.hypothesis.log_probs) - scores.log_probs
        most = shares[:, term].max()
        values: dict[int, float] = {}
        for number in self.free:
            begin, end, text, _ = self.words[number]
            share = shares[begin:end].max(0)
            others = max((share[other] for other in self.missing if other != term), default=0)
            # A word that attends more to another missing term translates that one. If some words attend to this term, a
            # word that does not is hardly its translation.
            reads = most <= MOST or share[term] > MOST * most
            if any(map(str.isalnum, text)) and (share[term] >= others or not share[term]) and reads:
                values[number] = math.log(share[term] + LEAST) + LOST * float(lost[begin:end].sum().clip(0, MOST_LOST))
        if max(values.values(), default=-math.inf) < LEFT_OUT:
            # The model has left the term out: it is inserted at the end, before a punctuation mark.
            marks = [word.begin for word in self.words[-1:] if not any(map(str.isalnum, word.text))]
            end = marks[0] if marks and len(self.words) - 1 in self.free else self._end
            return [_Span(end, end, min(end, len(self.hypothesis.tokens) - 1), 0.0)]
        # The best word and those that come close are tried.
        likeliest = max(values.values())
        close = {number: value for number, value in values.items() if value >= likeliest - CLOSE}
        # The next word may be it, too. A short word is more often an article or a preposition before the term.
        for number in [*close]:
            behind = number + 1
            short = len(self.words[number].text) <= SHORT
            reads = behind in values and self._reads(behind, term)
            if reads or (short and behind in values and close[number] == likeliest):
                close[behind] = max(likeliest - (0 if short else CLOSE), close.get(behind, -math.inf))
            if short and reads and len(self.words[behind].text) > SHORT:
                del close[number]
            elif short:
                close[number] -= UNLIKELY
        return [span for number, value in close.items() for span in self._around(number, value, term)]

    def _reads(self, number: int, term: int) -> bool:
        """Returns whether a word may be replaced and has about as much attention on a term as any."""
        begin, end, *_ = self.words[number]
        shares = self._shares[:, term]
        return number in self.free and bool(shares[begin:end].max() > MOST * shares.max())

    def _around(self, number: int, value: float, term: int) -> list[_Span]:
        """Returns the span of a word, and the longer spans that begin with words before it, for terms of several words.
        value: the score of the word."""
        begin, end, *_ = self.words[number]
        place = begin + int(self._shares[begin:end, term].argmax())
        spans = [_Span(begin, end, place, value)]
        source = self.terms.terms[term]
        # A span has at most as many words as the term, or as the longest of its forms.
        most = max(source.words, *(len(target.words) for target in source.targets))
        for first in range(number - 1, max(number - most, -1), -1):
            if not self._reads(first, term):
                break
            spans.append(_Span(self.words[first].begin, end, place, value))
        return spans

    @property
    def _end(self) -> int:
        """How many tokens there are before EOS."""
        return len(self.hypothesis.tokens) - (self.hypothesis.tokens[-1] == EOS)

    def variants(self, term: int, scores: Replayed) -> list[tuple[list[Edit], float]]:
        """Returns the ways to write a term with their scores: each target in each span, with each choice of endings of
        the words before. If all write what is to be avoided, it is the first of them."""
        found = [
            (edits, value)
            for begin, end, place, value in self._spans(term, scores)
            for tokens in self._targets(term, begin, end)
            for edits in self._endings(Edit(begin, end, tokens, place), scores)
        ]
        avoided = self.asked.avoided
        return [one for one in found if avoided is None or avoided.allows(self.text(one[0]))] or found[:1]

    def _targets(self, term: int, begin: int, end: int) -> list[tuple[int, ...]]:
        """Returns the tokens of each target of a term where it stands in a place."""
        tokens = self.hypothesis.tokens
        surfaces = self.asked.spelling.surfaces
        before = "".join(surfaces[token] for token in tokens[:begin])
        blank = " " if begin == self._end or begin == end or surfaces[tokens[begin]].startswith(" ") else ""
        return [self.terms.written(target, before and before + blank) for target in self.terms.terms[term].targets]

    def text(self, edits: Sequence[Edit]) -> list[int]:
        """Returns the tokens of the hypothesis after some edits."""
        tokens = self.hypothesis.tokens
        return [entry.token for entry in edited(tokens, [0.0] * len(tokens), edits)]

    def _endings(self, edit: Edit, scores: Replayed) -> list[list[Edit]]:
        """Returns the edit alone, and together with edits that change the endings of the words before.

        A word of several tokens may end in another token. A word of one token may become another word with the same
        first letter.
        """
        surfaces = self.asked.spelling.surfaces
        variants = [[edit]]
        end = edit.begin
        for number in [number for number in self.free if self.words[number].end <= edit.begin][
            : -WORDS_BEFORE - 1 : -1
        ]:
            first, last, text, _ = self.words[number]
            if last != end or not text.isalpha():
                break
            end = first
            # A word that depends on more than the gender of the term is no article.
            if sum(self.hypothesis.log_probs[first:last]) - scores.log_probs[first:last].sum() > DEPENDS:
                break
            # Other last tokens are of the same kind: letters, with or without a blank before, capital or not.
            own = surfaces[self.hypothesis.tokens[last - 1]]
            stem = own.lower()[: 1 + own.startswith(" ")] if last - first == 1 else ""
            others = [
                token
                for token, log_prob in scores.best[last - 1]
                if log_prob > LEAST_PROBABLE
                and surfaces[token].strip().isalpha()
                and surfaces[token].startswith(" ") == own.startswith(" ")
                and surfaces[token].lower().startswith(stem)
                and surfaces[token].strip()[0].isupper() == own.strip()[0].isupper()
                and token != self.hypothesis.tokens[last - 1]
            ]
            variants += [[*variant, Edit(last - 1, last, (one,), last - 1)] for variant in variants for one in others]
        return variants

    def written(self, limit: int) -> Hypothesis:
        """Returns the hypothesis with its terms. If it becomes longer than the limit, words at its end that nobody has
        asked for are left out."""
        hypothesis = self.hypothesis
        terms = [edits[0] for edits in self.edits.values()]
        # A word before several terms gets one ending, and none where a term replaces it.
        replaced = {*chain(*(range(edit.begin, edit.end) for edit in terms))}
        endings = {
            edit.begin: edit for edits in self.edits.values() for edit in edits[1:] if edit.begin not in replaced
        }
        entries = edited(hypothesis.tokens, hypothesis.log_probs, [*terms, *endings.values()])
        # Terms stay, and words that may not be replaced.
        fixed = (word for number, word in enumerate(self.words) if number not in self.free)
        stays = {*chain(*(range(word.begin, word.end) for word in fixed)), *(edit.place for edit in terms)}
        for index in range(len(entries) - 1, -1, -1):
            if len(entries) > limit and entries[index].token != EOS and entries[index].place not in stays:
                del entries[index]
        return rewritten(hypothesis, entries)


def write_terms(batch: DecodedBatch, asked: Sequence[TokenConstraints | None]) -> list[list[Hypothesis]]:
    """Returns the hypotheses of a batch with their terms. After a search that writes while it reads, they are written
    as a stream writes them."""
    network, search, _, rows, found = batch
    results = [[*hypotheses] for hypotheses in found]
    with_terms = [(i, one, one.terms) for i, one in enumerate(asked) if one is not None and one.terms is not None]
    if search.extends:
        for number, _, terms in with_terms:
            results[number] = [streamed(hypothesis, terms, search) for hypothesis in found[number]]
        return results
    # Each hypothesis with terms becomes a draft.
    drafts = {i: [_Draft(hypothesis, one, terms) for hypothesis in found[i]] for i, one, terms in with_terms}
    # The terms that are missing in drafts are chosen, some at a time, and then all are written.
    choices = [
        (rows[number], draft, term)
        for number, of_source in drafts.items()
        for draft in of_source
        for term in draft.missing
    ]
    for begin in range(0, len(choices), AT_ONCE):
        _choose(network, search, choices[begin : begin + AT_ONCE])
    for number, of_source in drafts.items():
        results[number] = [draft.written(search.longest(len(rows[number]))) for draft in of_source]
    return results


def _choose(network: Network, search: SearchConfig, choices: Sequence[tuple[np.ndarray, _Draft, int]]) -> None:
    """Chooses the edits of some missing terms, and notes them in the drafts. choices: source, draft and term each."""
    # What the model says of each hypothesis without the term shows which words translate it.
    masked = [np.where(_owners(draft.terms, len(row)) == term, UNK, row) for row, draft, term in choices]
    own = _by_sources(network, search, masked, [[draft.hypothesis.tokens] for _, draft, _ in choices])
    # All ways to write the terms, and their probabilities.
    variants = [draft.variants(term, scores) for (_, draft, term), (scores,) in zip(choices, own, strict=True)]
    texts = [[draft.text(edits) for edits, _ in each] for each, (_, draft, _) in zip(variants, choices, strict=True)]
    scores = _by_sources(network, search, masked, texts)
    for (_, draft, term), each, of_source in zip(choices, variants, scores, strict=True):
        # For each span and target the best endings, and of these the best with the token that follows.
        best: dict[Edit, tuple[float, float, list[Edit]]] = {}
        for (edits, value), one in zip(each, of_source, strict=True):
            agreement, behind = _agreement(edits, one)
            if agreement > best.get(edits[0], (-math.inf,))[0]:
                best[edits[0]] = agreement, value + agreement + behind, edits
        draft.edits[term] = max(best.values(), key=lambda found: found[1])[2]


def _agreement(edits: Sequence[Edit], scores: Replayed) -> tuple[float, float]:
    """Returns how well a term goes with the words before it, and the log-probability of the token that follows it. How
    well it goes is its log-probability plus a part of the log-probability of the words before."""
    term, *endings = edits
    end = term.begin + len(term.tokens)
    behind = float(scores.log_probs[end : end + 1].sum())
    if endings and scores.log_probs[term.begin + 1 : end].min(initial=0) < KNOWN:
        return -math.inf, behind
    own = scores.log_probs[term.begin : end].sum() - (MARGIN if endings else 0)
    return float(own + PRIOR * scores.log_probs[max(0, term.begin - 6) : term.begin].sum()), behind


def _shares(terms: Terms, weights: np.ndarray) -> np.ndarray:
    """Returns how much of each step's attention is on each term, [T, terms]. weights: [T, S].

    For a term that no step attends to it is a part of the attention on the positions beside it, since the states of an
    encoder know their neighbours.
    """
    owners = _owners(terms, weights.shape[1])
    # The terms of the positions behind and before each, [2, S].
    beside = np.stack((np.append(owners[1:], NO_TERM), np.insert(owners[:-1], 0, NO_TERM)))
    columns = []
    for term in range(len(terms.terms)):
        share = weights[:, owners == term].sum(1)
        if share.max(initial=0) < UNREAD:
            share = BESIDE * weights[:, (beside == term).any(0) & (owners == NO_TERM)].sum(1)
        columns.append(share)
    return np.stack(columns, 1)


def _owners(terms: Terms, length: int) -> np.ndarray:
    """Returns [length] int64: the number of the term that each position of a source belongs to, else NO_TERM."""
    return np.concatenate((terms.owners[:length], np.full(max(0, length - len(terms.owners)), NO_TERM)))


def _by_sources(
    network: Network, search: SearchConfig, sources: Sequence[np.ndarray], texts: Sequence[Sequence[Sequence[int]]]
) -> list[list[Replayed]]:
    """Returns the probabilities that the model, as this search reads it, gives to the texts of each source: of all
    sources at once where the network takes batches."""
    found: list[list[Replayed]] = []
    size = 1 if network.single else len(sources)
    for begin in range(0, len(sources), size):
        part = texts[begin : begin + size]
        wide = search.model_copy(update={"beam_size": max(map(len, part))})
        with network.encoded(sources[begin : begin + size], wide) as batch:
            found += replayed(batch.stepper, part, ALTERNATIVES)
    return found
