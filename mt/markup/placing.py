"""Finds where tags go in a translation, by the links between words.

`Placing` finds a range of target words for each tag, and `ordered` puts words and tags in order. Ranges are nested as
the tags of the source are: each is sought within the range of the pair around it, and does not overlap its neighbours.
Time grows with the length of the sentence and the number of tags, not with their product."""

import re
from bisect import bisect_left, bisect_right, insort
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate

from mt.markup.segments import Tag, Token
from mt.markup.words import Span, Words

_DEEPEST = 64
"""At this depth the first pair takes all words of the pair around it."""
_LINK = re.compile(r"<a\b", re.IGNORECASE)
_FAR = 8.0
"""How many more words a range needs to be preferred at the other end of the sentence."""
_NEAR = 6
"""How many words on each side of an empty tag vote, by their links, on where it goes."""


# Ranges of target words.


class Placing:
    """Finds the ranges of target words of tags: of a pair before those of the tags in it."""

    def __init__(self, words: Words, tags: Sequence[Tag]) -> None:
        self.tags = tags
        self._words = words
        self._begins = [begin for begin, _ in words.source]
        self._ends = [end for _, end in words.source]
        self._targets: dict[int, list[int]] = defaultdict(list)
        for j, i in enumerate(words.origins):
            self._targets[i].append(j)
        self.children: dict[int, list[int]] = defaultdict(list)
        for number, tag in enumerate(tags):
            self.children[tag.parent].append(number)
        # The source words around which each tag stands, at least in part.
        self._covered = [(bisect_right(self._ends, tag.begin), bisect_left(self._begins, tag.end)) for tag in tags]
        self.ranges: list[list[Span]] = [[] for _ in tags]
        """The target words of each tag, mostly one range; an empty range is a gap."""

    def run(self) -> None:
        """Finds the ranges of all tags."""
        whole = (0, len(self._words.target))
        waiting: list[tuple[int, Span, int]] = [(-1, whole, 0)]
        while waiting:
            parent, (low, high), depth = waiting.pop()
            children = [*self.children[parent]]
            pairs = [number for number in children if self.tags[number].kind == "pair"]
            if depth < _DEEPEST:
                self._place_pairs(parent, pairs, low, high)
            else:
                for number in pairs:
                    self.ranges[number] = [(low, high) if number == pairs[0] else (high, high)]
            # Empty tags stand between the pairs.
            pairs = [number for number in pairs if self.ranges[number]]
            taken = sorted(span for number in pairs for span in self.ranges[number])
            for number in children:
                if self.tags[number].kind != "pair":
                    gap = _outside(min(max(self._gap(self.tags[number]), low), high), taken)
                    self.ranges[number] = [(gap, gap)]
            waiting += [(number, self.ranges[number][0], depth + 1) for number in pairs if self.children[number]]

    def _place_pairs(self, parent: int, pairs: Sequence[int], low: int, high: int) -> None:
        """Finds the ranges of the pairs within a pair, whose target words are from low to high."""
        around = (0, len(self._words.source)) if parent < 0 else self._covered[parent]
        # The pair that each target word belongs to; -1: to none of these pairs, -2: it has no link.
        owners = {}
        for number in pairs:
            owners.update(dict.fromkeys(range(*self._covered[number]), number))
        belongs = [-2 if i < 0 else owners.get(i, -1) for i in self._words.origins[low:high]]
        costs = [0, *accumulate(owner == -1 for owner in belongs)]
        # The words of each pair, in runs: a range does not reach over words of a neighbour.
        runs: dict[int, list[list[int]]] = defaultdict(list)
        last = -1
        for place, owner in enumerate(belongs):
            if owner >= 0:
                if owner != last:
                    runs[owner].append([])
                runs[owner][-1].append(place)
                last = owner
        # Each pair takes the heaviest of its ranges; the only pair, around all words of the source, takes all words.
        for number in pairs:
            if self._covered[number] == around and len(pairs) == 1:
                self.ranges[number] = [(low, high)]
                continue
            first, last = self._covered[number]
            expected = (first + last - 2 * around[0]) / max(around[1] - around[0], 1) / 2 * (high - low)
            best = _heaviest(runs[number], costs, expected)
            # Punctuation marks alone are not enough for a pair around words.
            said = best is not None and any(not self._words.is_mark(1, low + place) for place in range(*best))
            if best is not None and (said or all(self._words.is_mark(0, i) for i in range(first, last))):
                self.ranges[number] = [self._edged(number, (best[0] + low, best[1] + low), belongs, low)]
                if self.tags[number].splits and not self.children[number]:
                    self._split(number, [place + low for run in runs[number] for place in run])
        self._place_unlinked(parent, pairs, around, (low, high))

    def _place_unlinked(self, parent: int, pairs: Sequence[int], around: Span, span: Span) -> None:
        """Places the pairs that have no range yet, since no target word belongs to them.

        Such a pair goes around a free word that has a link to it, although more links to another: a compound, say.
        Without such a word its place is in proportion, among the words that its neighbours leave. If they leave none,
        it stands within the neighbour that has the compound.

        around: the source words of the pair that holds them. span: its target words.
        """
        numbers = [number for number in pairs if not self.ranges[number]]
        if not numbers:
            return
        # The words that neighbours have, and the words that they leave.
        low, high = span
        owners = {j: number for number in pairs for begin, end in self.ranges[number] for j in range(begin, end)}
        free = [j for j in range(low, high) if j not in owners and not self._words.is_mark(1, j)]
        taken = sorted(part for number in pairs for part in self.ranges[number])
        scale = (high - low) / max(around[1] - around[0], 1)
        for number in numbers:
            covered = self._covered[number]
            first, last = (min(max(low + round((place - around[0]) * scale), low), high) for place in covered)
            shared = [j for i in range(*covered) for j in self._words.shared.get(i, ())]
            # A pair around marks alone, and one without free words, gets an empty range.
            if all(self._words.is_mark(0, i) for i in range(*covered)) or not free:
                holder = next((owners[j] for j in shared if j in owners and self._may_hold(owners[j], number)), None)
                if holder is not None and not free:
                    self.children[parent].remove(number)
                    self.children[holder].append(number)
                    continue
                begin = _outside(first, taken)
                end = begin
            else:
                # The nearest free word with a link to it, or else the nearest free words.
                wanted = [place for place in (bisect_left(free, j) for j in shared) if free[place : place + 1]]
                wanted = [place for place in wanted if free[place] in shared]
                place = min(wanted, key=lambda place: abs(free[place] - first), default=None)
                if place is None:
                    # The free word at the expected place or behind it, or the one before, which may be nearer.
                    place = min(bisect_left(free, first), len(free) - 1)
                    if place and first - free[place - 1] < abs(free[place] - first):
                        place -= 1
                begin = free[place]
                end = begin + 1
                # As many words as it has in proportion, if the next ones are free, too.
                while not wanted and end < last and free[place + end - begin : place + end - begin + 1] == [end]:
                    end += 1
                del free[place : place + end - begin]
            self.ranges[number] = [(begin, end)]
            insort(taken, (begin, end))

    def _may_hold(self, number: int, other: int) -> bool:
        """Returns whether a pair may stand around another: HTML allows no link within a link."""
        return not all(_LINK.match(self.tags[n].opening) for n in (number, other))

    def _edged(self, number: int, span: Span, belongs: Sequence[int], low: int) -> Span:
        """Returns a range with punctuation marks at its ends where the pair has them in the source, and without them
        where it has none."""
        begin, end = span
        first, last = self._covered[number]
        target = self._words.target
        # At the end: marks go that the pair has not, and a mark comes that it has, if that is no other pair's.
        last_is_mark = self._words.is_mark(0, last - 1)
        while end - begin > 1 and not last_is_mark and self._words.is_mark(1, end - 1):
            end -= 1
        if last_is_mark and not self._words.is_mark(1, end - 1) and end < len(target) and self._words.is_mark(1, end):
            end += end - low < len(belongs) and belongs[end - low] < 0
        # At the beginning marks go alone.
        first_is_mark = self._words.is_mark(0, first)
        while end - begin > 1 and not first_is_mark and self._words.is_mark(1, begin):
            begin += 1
        return begin, end

    def _split(self, number: int, owned: Sequence[int]) -> None:
        """Adds ranges for source words of a tag of which no translation is in its range yet. owned: the target words
        that belong to the tag."""
        (begin, end) = self.ranges[number][0]
        origins = self._words.origins
        inside = {origins[j] for j in range(begin, end)}
        for j in owned:
            if not begin <= j < end and origins[j] not in inside and not self._words.is_mark(1, j):
                # A further range grows by the next word, the first one is as `_edged` left it.
                if self.ranges[number][-1][1] == j and self.ranges[number][-1] != (begin, end):
                    self.ranges[number][-1] = (self.ranges[number][-1][0], j + 1)
                else:
                    self.ranges[number].append((j, j + 1))

    # Gaps.

    def _gap(self, tag: Tag) -> int:
        """Returns the gap of an empty tag: beside the word that it touches in the source. Otherwise words before and
        after it vote by their links."""
        gap = bisect_left(self._begins, tag.begin)
        total = len(self._words.source)
        is_mark = self._words.is_mark
        before = gap > 0 and self._ends[gap - 1] == tag.begin and not tag.blanks[0] and not is_mark(0, gap - 1)
        after = gap < total and self._begins[gap] == tag.begin and not tag.blanks[1] and not is_mark(0, gap)
        if before and not after and self._targets[gap - 1]:
            return self._targets[gap - 1][-1] + 1
        if after and not before and self._targets[gap]:
            return self._targets[gap][0]
        # At the ends of the sentence it stays at the end.
        if gap in (0, total):
            return 0 if gap == 0 else len(self._words.target)
        # A word before the tag votes for a gap behind its translation, a word after the tag for a gap before it. Near
        # words count more.
        votes: list[tuple[int, float, bool]] = []
        for away in range(_NEAR):
            weight = 0.5**away
            votes += [(j + 1, weight, True) for j in self._targets.get(gap - 1 - away, ())]
            votes += [(j, weight, False) for j in self._targets.get(gap + away, ())]
        if not votes:
            return round(gap / total * len(self._words.target))
        # The gap with the most votes, going from left to right.
        votes.sort(key=lambda vote: (vote[0], not vote[2]))
        agreement = sum(weight for _, weight, before in votes if not before)
        best = (agreement - 1e-9, votes[0][0])
        for place, weight, before in votes:
            agreement += weight if before else 0
            if agreement > best[0] + 1e-9:
                best = (agreement, place)
            agreement -= 0 if before else weight
        return best[1]


def _outside(gap: int, taken: Sequence[Span]) -> int:
    """Returns the gap, or the nearer end of the range that it is within."""
    around = bisect_left(taken, (gap, 0)) - 1
    if around >= 0 and taken[around][0] < gap < taken[around][1]:
        begin, end = taken[around]
        return begin if gap - begin < end - gap else end
    return gap


def _heaviest(runs: Iterable[Sequence[int]], costs: Sequence[int], expected: float) -> Span | None:
    """Returns the range with the most words of a pair; words of no pair, and distance from the expected place, count
    against it.

    runs: the words of the pair, without words of neighbours between. costs: how many words of no pair are before each
    place. expected: the expected middle of the range.
    """
    # The best sum of adjacent numbers (Kadane's algorithm) within each run.
    best: tuple[float, Span] | None = None
    for run in runs:
        begin = 0
        score = 0
        for number, place in enumerate(run):
            # Words of no pair between this word and the one before it.
            between = costs[place] - costs[run[number - 1]] if number > begin else 0
            # Fewer words than that are not worth them: a new range begins here.
            if score < between:
                begin = number
                score = 0
                between = 0
            score += 1 - between
            span = (run[begin], place + 1)
            nearness = score - _FAR * abs(sum(span) / 2 - expected) / len(costs)
            # Of equal ranges the last one, which ends at a later word.
            if best is None or nearness >= best[0]:
                best = (nearness, span)
    return best and best[1]


# Words and tags in order.


def ordered(placing: Placing, words: int) -> Iterator[Token]:
    """Yields the words and tags of a translation in order."""
    # A stack of what is left of each open range: its words, tags, and pairs, which are put on the stack.
    waiting = [_inside(placing, -1, (0, words))]
    while waiting:
        step = next(waiting[-1], None)
        if step is None:
            waiting.pop()
        elif isinstance(step, Token):
            yield step
        else:
            waiting.append(_inside(placing, *step))


def _inside(placing: Placing, number: int, span: Span) -> Iterator[Token | tuple[int, Span]]:
    """Yields the words and tags at one range of a pair; for a pair within it, the number and range of that pair."""
    # What is within a pair is written at its first range.
    children = placing.children[number] if number < 0 or placing.ranges[number][0] == span else []
    if number >= 0:
        yield Token("open", number)
    place = span[0]
    for inner, child in sorted((inner, number) for number in children for inner in placing.ranges[number]):
        yield from (Token("word", j) for j in range(place, inner[0]))
        place = inner[1]
        yield (child, inner) if placing.tags[child].kind == "pair" else Token("empty", child)
    yield from (Token("word", j) for j in range(place, span[1]))
    if number >= 0:
        yield Token("close", number)
