"""Sources that are too long for a model, refused before any is read."""

from collections.abc import Iterable, Sequence

import torch

from mt.data.fields import Field, Row
from mt.data.words import count_words
from mt.errors import UserError
from mt.models.seq2seq import Seq2Seq


def refuse_long(texts: Iterable[str], limit: int, place: str, first: int) -> None:
    """Raises UserError where a text has more words than `limit`. place, first: what to call the texts, and the first's
    number."""
    for number, text in enumerate(texts, start=first):
        # A text of few characters cannot have many words; most need no counting.
        if len(text) > limit and (words := count_words(text)) > limit:
            raise UserError(
                f"{place} {number} has {words} words, and at most {limit} are read at once: split it into "
                "sentences, one a line"
            )


def refuse_many_places(model: Seq2Seq, field: Field, rows: Sequence[Row], indices: Sequence[int]) -> None:
    """Raises UserError where the model is not defined for so long a source. indices: from 0, for the sentence."""
    limit = model.max_source_length
    if limit is None or not rows:
        return
    lengths = model.places(torch.tensor([field.length(row) for row in rows])).tolist()
    for length, index in zip(lengths, indices, strict=True):
        if length > limit and field.written:
            raise UserError(
                f"text {index + 1} has {length} tokens, and this model reads at most {limit}: split it into "
                "sentences, one a line"
            )
        if length > limit:
            raise UserError(
                f"source {index + 1} has {length} positions, and this model reads at most {limit}: cut it into parts"
            )
