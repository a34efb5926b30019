"""Statistics of outputs: repetition, length, and for sentence compression how words are deleted.

They are no metrics of quality: each is to be compared with its value for the references.
"""

from collections.abc import Sequence
from unicodedata import category

import numpy as np

from mt.metrics.advice import is_unspaced, nearly_all
from mt.metrics.sentence import ngrams


def text_statistics(
    hypotheses: Sequence[str], references: Sequence[str], sources: Sequence[str] | None
) -> dict[str, float]:
    """Returns `length_ratio`, the words of all hypotheses for each word of the references, and `repeated_trigrams`, the
    percentage of hypotheses in which three words in a row occur twice.

    If nearly all references are their sources with words deleted, there are three more, which ignore case and
    punctuation. `deletions` is the percentage of hypotheses that are their sources with words deleted, and `prefixes`
    of those that are the beginning of their source. `spans` is the mean number of runs of source words that such
    hypotheses are joined from. All but `length_ratio` are also given as `<name>_of_references`. sources: None if they
    are not text."""
    statistics = {"length_ratio": length_ratio(hypotheses, references)}
    sources = None if sources is None else [*map(_bare, sources)]
    # Whether the data are of sentence compression.
    pairs = [] if sources is None else [*zip(sources, map(_bare, references), strict=True)]
    deletes = pairs and nearly_all(pairs, lambda pair: spans(*pair) > 0)
    for ending, texts in (("", hypotheses), ("_of_references", references)):
        counted = {"repeated_trigrams": repeated_trigrams(texts)}
        if sources is not None and deletes:
            counted |= _deletion_statistics(sources, [*map(_bare, texts)])
        statistics |= {f"{name}{ending}": value for name, value in counted.items()}
    return statistics


def repeated_trigrams(texts: Sequence[str]) -> float:
    """Returns the percentage of the texts in which three words in a row stand twice.

    >>> repeated_trigrams(["a man in a man in a hat", "a man in a hat in a man"])
    50.0
    """
    repeats = []
    for words in map(text_words, texts):
        trigrams = ngrams(tuple(words), 3)
        repeats.append(len(set(trigrams)) < len(trigrams))
    return _percentage(repeats)


def length_ratio(hypotheses: Sequence[str], references: Sequence[str]) -> float:
    """Returns the number of words in all hypotheses over that in all references. In scripts without blanks between
    words, characters are counted on both sides.

    >>> length_ratio(["a man in a hat", "a cat"], ["a man", "one cat"])
    1.75
    """
    # The script of the reference decides, for both sides.
    sizes = np.zeros(2)
    for pair in zip(hypotheses, references, strict=True):
        unspaced = is_unspaced(pair[1])
        sizes += [len("".join(text.split()) if unspaced else text.split()) for text in pair]
    return float(sizes[0] / max(sizes[1], 1))


def spans(source: str, text: str) -> int:
    """Returns the smallest number of runs of source words that joined in order give the text; 0 if that is not possible
    or the text is empty.

    >>> spans("the old man saw the sea", "the man saw"), spans("the old man", "man the")
    (2, 0)
    """
    source_words = text_words(source)
    # The least number of runs that give the words so far, if the last of them is at each position of the source.
    ending = np.full(len(source_words), np.inf)
    for number, word in enumerate(text_words(text)):
        # The last run goes on from the position before, or a new one begins behind any earlier position.
        before = np.append(np.inf, ending)[: len(source_words)]
        joined = np.minimum(before, np.minimum.accumulate(before) + 1) if number else 1.0
        ending = np.where([other == word for other in source_words], joined, np.inf)
        if np.isinf(ending).all():  # most translations stop here, at their first word
            return 0
    least = ending.min(initial=np.inf)
    return int(least) if least < np.inf else 0


def text_words(text: str) -> list[str]:
    """Returns the words of a text; its characters where the script has no blanks between words."""
    return [character for character in text if not character.isspace()] if is_unspaced(text) else text.split()


def _bare(text: str) -> str:
    return "".join(" " if category(character)[0] in "PS" else character for character in text.casefold())


def _deletion_statistics(sources: Sequence[str], texts: Sequence[str]) -> dict[str, float]:
    # Runs are averaged over the texts that are made of source words alone.
    counts = [spans(*pair) for pair in zip(sources, texts, strict=True)]
    joined = [count for count in counts if count]
    pairs = [(text_words(source), text_words(text)) for source, text in zip(sources, texts, strict=True)]
    return {
        "deletions": _percentage([count > 0 for count in counts]),
        "prefixes": _percentage([bool(text) and source[: len(text)] == text for source, text in pairs]),
        "spans": sum(joined) / max(len(joined), 1),
    }


def _percentage(flags: Sequence[bool]) -> float:
    return 100 * sum(flags) / max(len(flags), 1)
