"""Refusals of sources that are too long: texts by their words, encoded rows by the positions that a model reads."""

from collections.abc import Iterable, Sequence

from mt.data.fields import Field, Row
from mt.data.words import count_words
from mt.decoding.network import Network
from mt.errors import UserError


def refuse_long_texts(texts: Iterable[str], limit: int, name: str, first_number: int) -> None:
    """Raises UserError where a text has more than `limit` words. name, first_number: what to call the texts, and the
    number of the first."""
    for number, text in enumerate(texts, start=first_number):
        # A text of few characters cannot have many words; most need no counting.
        if len(text) > limit and (words := count_words(text)) > limit:
            raise UserError(
                f"{name} {number} has {words} words, and at most {limit} are read at once: split it into sentences, "
                "one a line"
            )


def refuse_long_rows(network: Network, field: Field, rows: Sequence[Row], indices: Sequence[int]) -> None:
    """Raises UserError where the model is not defined for so long a source. indices: of the sources among all, from 0,
    for the sentence."""
    limit = network.max_source_length
    if limit is None or not rows:
        return
    lengths = network.encoded_lengths([field.length(row) for row in rows])
    for length, index in zip(lengths, indices, strict=True):
        if length > limit and field.written:
            raise UserError(
                f"text {index + 1} has {length} tokens, and this model reads at most {limit}: split it into sentences, "
                "one a line"
            )
        if length > limit:
            raise UserError(f"source {index + 1} has {length} positions, and this model reads at most {limit}: cut it")
