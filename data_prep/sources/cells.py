"""Makes pairs of the cells of a table, for all kinds of tables."""

import re
from collections.abc import Collection, Sequence

from mt.data.corpus import Example
from mt.errors import UserError, nearest
from mt.text_io import without_mark

Columns = tuple[str, ...]
"""The names of the columns of source and target, and of further references, which a table may lack."""

NESTED = "translation"
"""The column that holds both sides in many tables of the hub, as {"de": ..., "en": ...}."""

_SURROGATE = re.compile("[\ud800-\udfff]")  # JSON can write it, UTF-8 cannot
_ADVICE = "set dataset.source and dataset.target"


def require_sides(columns: Columns, known: Collection[str], where: str, advice: str = _ADVICE) -> None:
    """Raises UserError where a side is not among the known columns."""
    for column in columns[:2]:
        if column not in known:
            raise UserError(f"{where} has no column {column}: {nearest(column, known)}; {advice}")


def require_once(columns: Columns, names: Sequence[str], where: str) -> None:
    """Raises UserError where a table has several columns of a name that is read."""
    for column in columns:
        if names.count(column) > 1:
            raise UserError(f"{where} has {names.count(column)} columns {column}: give each a name of its own")


def example(cells: Sequence[object], columns: Columns, where: str) -> Example:
    """Makes an example of a row of texts: source, target and further references. Target and references may be lists of
    texts.

    Args:
        cells: of these columns; an empty one is an empty text.
        where: what to call the row in an error.

    Raises:
        UserError: a cell holds something else.
    """
    # Sources are single texts; targets and references may be lists.
    texts: list[str] = []
    for number, (cell, column) in enumerate(zip(cells, columns, strict=True)):
        if isinstance(cell, list) and number:
            if not cell and number == 1:
                raise UserError(
                    f"{where}, column {column} holds an empty list: expected the target, or all its references"
                )
            if not all(isinstance(text, str) for text in cell):
                raise UserError(f"{where}, column {column} holds a list of other things than texts: give texts alone")
            texts += [_text(text, f"{where}, column {column}") for text in cell]
        else:
            texts.append(_text(cell, f"{where}, column {column}"))
    source, target, *more_references = texts
    return Example(source, target, "", tuple(more_references))


def _text(cell: object, where: str) -> str:
    if cell is None:
        return ""
    if not isinstance(cell, str):
        files = ", and write sounds and pictures to files, since 0.3.0 is the last release that reads them in cells"
        advice = _ADVICE + files * isinstance(cell, bytes | dict)
        raise UserError(f"{where} holds {type(cell).__name__}, not text: {advice}")
    if "\0" in cell:
        raise UserError(f"{where} holds a NUL character: remove it")
    if not cell.isascii() and _SURROGATE.search(cell):
        raise UserError(f"{where} holds half of a surrogate pair, which is no character: remove it")
    return without_mark(cell)
