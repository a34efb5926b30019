"""Checks of Arrow data that somebody else may have written, so that reading them does no harm.

Arrow checks that a file is complete, and that its metadata are well-formed. It trusts offsets into texts and lists, the
texts themselves, and the size of unpacked data: `read_table` checks these. `require_sound` checks the columns on which
training and decoding rely.
"""

import struct
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mt.data.arrow import numbers
from mt.data.fields import TEXT, Field
from mt.data.split import source_row_of

_LINKS = r"^([\s\p{Z}]*[0-9]{1,9}[-p][0-9]{1,9})*[\s\p{Z}]*$"
"""Word links in Pharaoh format, or the milliseconds of words."""
_HEADER = 2
"""The number of the field in the table Message of Arrow's Message.fbs."""
_COMPRESSION = 3
"""The number of the field in the table RecordBatch."""


def read_table(path: Path) -> pa.Table:
    """Reads a stream of Arrow data from the memory map. Raises ValueError where an offset points out of the data, or
    where the data are compressed, and the errors of pyarrow."""
    # Message by message: pyarrow's own reader would unpack compressed data of any size.
    messages = pa.ipc.MessageReader.open_stream(pa.memory_map(str(path)))
    schema = pa.ipc.read_schema(messages.read_next_message())
    batches = []
    for message in messages:
        if message.type != "record batch":
            raise ValueError(f"{path.name} holds a {message.type}")
        if _is_compressed(message.metadata):
            raise ValueError(f"{path.name} is compressed")
        batches.append(pa.ipc.read_record_batch(message, schema))
    table = pa.Table.from_batches(batches, schema)
    table.validate(full=True)
    return table


def open_table(shards: Iterable[Path]) -> pa.Table:
    """Opens the shards of a split as one table. Raises as `read_table`, and ArrowInvalid for a split without shards."""
    return pa.concat_tables([read_table(path) for path in shards])


def _is_compressed(metadata: pa.Buffer) -> bool:
    """Returns whether the bodies of a record batch are compressed. metadata: a Message in flatbuffers' format, which
    pyarrow has verified."""
    data = memoryview(metadata)

    def field(table: int, number: int) -> int:
        """Returns where a field of a table stands; 0 where it is absent."""
        # A table points back to its vtable, which has the offsets of its fields, up to the last one that is written.
        vtable = table - struct.unpack_from("<i", data, table)[0]
        place = 4 + 2 * number
        if place >= struct.unpack_from("<H", data, vtable)[0]:
            return 0
        offset = struct.unpack_from("<H", data, vtable + place)[0]
        return table + offset if offset else 0

    def followed(place: int) -> int:
        return place + int(struct.unpack_from("<I", data, place)[0])

    return bool(field(followed(field(followed(0), _HEADER)), _COMPRESSION))


def require_sound(table: pa.Table, source: Field, sizes: tuple[int, int, int | None]) -> None:
    """Raises ValueError where the columns and rows of a split do not fit its corpus.

    source: the field of the sources. sizes: of the vocabularies of source, target and transcript.
    """
    # The columns and their types.
    texts = {"source": pa.string(), "target": pa.string(), "links": pa.string(), "references": pa.list_(pa.string())}
    ids = {"target_ids": sizes[1], "transcript_ids": sizes[2], "piece_links": None}
    kinds = {"source_ids": source.arrow_type, **texts, **dict.fromkeys(ids, TEXT.arrow_type)}
    _require_types(table, kinds)
    if len(table) == 0:
        return
    # Empty cells. A source may be empty where the row before has the same one.
    for name in table.column_names:
        column = table[name]
        if column.null_count and name != "source_ids":
            raise ValueError(f"{name} has empty cells")
        if pa.types.is_list(column.type) and any(chunk.flatten().null_count for chunk in column.chunks):
            raise ValueError(f"{name} has empty cells in its lists")
    if not table["source_ids"][0].is_valid:
        raise ValueError("source_ids has an empty cell in its first row")
    # Rows of sources, and ids of pieces.
    if source.written:
        _require_ids("source_ids", table["source_ids"], sizes[0])
    else:
        source.require_sizes(pc.list_value_length(table["source_ids"]))
    for name, size in ids.items():
        if name in table.column_names and size is not None:
            _require_ids(name, table[name], size)
    # Links of pieces, and of words.
    if "piece_links" in table.column_names:
        _require_links(table, source)
    if not pc.all(pc.match_substring_regex(table["links"], _LINKS)).as_py():
        raise ValueError("links has a text that is no links")
    if pc.min(pc.list_value_length(table["references"])).as_py() < 1:
        raise ValueError("references has an empty list")


def _require_types(table: pa.Table, kinds: Mapping[str, pa.DataType]) -> None:
    optional = {"transcript_ids", "piece_links"}
    for name, kind in kinds.items():
        count = table.column_names.count(name)
        if count == 0 and name in optional:
            continue
        if count != 1 or table.schema.field(name).type != kind:
            raise ValueError(f"{name} is no column of type {kind}")
    if unknown := [name for name in table.column_names if name not in kinds]:
        raise ValueError(f"the column {unknown[0]} is unknown")


def _require_ids(name: str, column: pa.ChunkedArray, size: int) -> None:
    # An id beyond the vocabulary would read beyond a table of vectors.
    for chunk in column.chunks:
        if not len(chunk):
            continue
        least, most = (pc.min_max(chunk.flatten())[bound].as_py() for bound in ("min", "max"))
        if pc.min(pc.list_value_length(chunk)).as_py() == 0:
            raise ValueError(f"{name} has an empty list")
        if least is not None and (least < 0 or most >= size):
            raise ValueError(f"{name} has a number that no piece has ({least if least < 0 else most})")


def _require_links(table: pa.Table, source: Field) -> None:
    """Raises ValueError where a link does not join a position of the source to one of the target."""
    # Two numbers make a link, and both must be positions of their sides.
    counts = TEXT.lengths(table["piece_links"])
    # A row that shares its source with an earlier row has the length that is stored there.
    lengths = source.lengths(table["source_ids"])
    source_rows = source_row_of(table["source_ids"])
    if source_rows is not None:
        lengths = lengths[source_rows]
    if (counts % 2).any():
        raise ValueError("piece_links has half a link")
    ends = np.stack([lengths, TEXT.lengths(table["target_ids"])], axis=1)
    links = np.concatenate([numbers(chunk.flatten()) for chunk in table["piece_links"].chunks]).reshape(-1, 2)
    # [K, 2]: the ends of each link, against the lengths of both sides of its pair.
    if ((links < 0) | (links >= np.repeat(ends, counts // 2, axis=0))).any():
        raise ValueError("piece_links has a link to no piece")
