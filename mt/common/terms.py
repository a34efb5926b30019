"""Where the form of a term stands in a text: one rule for what writes terms and for what counts them."""

from collections.abc import Iterator, Sequence


def form_places(form: Sequence[str], text: Sequence[str]) -> Iterator[int]:
    """Yields where a form of a term begins among the words of a text (`mt.data.words.term_words`).

    One without a capital letter is met whatever the case. The first word of a text may have a capital letter.

    >>> [*form_places(["red", "car"], ["Red", "car", ",", "a", "red", "Car"])]
    [0, 4]
    """
    wanted = [*form]
    # A form that has capitals is a name or an abbreviation, whose case counts.
    folds = not any(word != word.lower() for word in wanted)
    # As `capitalize` would make small letters of all others.
    capital = [wanted[0][:1].upper() + wanted[0][1:], *wanted[1:]]
    for begin in range(len(text) - len(wanted) + 1):
        found = [*text[begin : begin + len(wanted)]]
        if wanted == [word.lower() if folds else word for word in found] or (begin == 0 and found == capital):
            yield begin
