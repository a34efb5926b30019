"""Writes the prepared corpus that `mt.data.corpus` reads.

A `Reader` makes rows of sources. `write_shard` encodes a table of texts as one file, and `copy_without` leaves out rows
of one. `finish_split` makes files a split, and `finish` makes three splits a corpus.
"""

import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from mt.data.arrow import file_digests
from mt.data.checks import open_table
from mt.data.corpus import FORMAT, SPLITS, TEXT, Example
from mt.data.fields import TEXT as TEXT_FIELD, Field, Raw, SourceError
from mt.data.links import links_of_pieces
from mt.data.split import STATE, source_row_of
from mt.data.tokenizer import LinkUnit, Tokenizer, Tokenizers, Unwritten, unwritten
from mt.storage import replaced_path

_REFERENCES = pa.field("references", pa.list_(pa.string()))
_CHUNK = 5_000  # examples encoded at a time


class Reader(NamedTuple):
    """How the sources of examples become rows. It can be sent to other processes."""

    field: Field = TEXT_FIELD
    open: Callable[[str], Raw] = str
    """Returns what the field reads for the source of an `Example`: the text itself, or a path, samples, pixels."""
    link_unit: LinkUnit | None = None
    """See `DatasetConfig.link_unit`; None: links stay between words."""

    def column(self, sources: Sequence[str], tokenizer: Tokenizer | None) -> pa.ListArray:
        """Returns the rows of the sources; see `Field.column`. tokenizer: of the sources, where they are text."""
        return self.field.column(sources, tokenizer, self.open)

    def require_readable(self, source: str) -> None:
        """Raises SourceError, with its `source`, where a source that is no text cannot be read."""
        try:
            self.field.require_readable(self.open(source))
        except SourceError as error:
            error.source = source
            raise


TEXT_READER = Reader()


def write_shard(
    path: Path,
    text: pa.Table,
    tokenizers: Tokenizers,
    reader: Reader = TEXT_READER,
) -> dict[str, Unwritten]:
    """Encodes the examples of a table of `TEXT` and writes them as one file of a split. Returns what of their `source`s
    (where these are texts) and `target`s, all references among them, the tokenizers cannot write.

    Their references are the column `references` where the table has one, else the target alone. Raises SourceError if a
    source cannot be read.
    """
    # In chunks, so that memory does not grow with the shard.
    schema = _schema(reader, transcribed=tokenizers.transcript is not None)
    size = min(_CHUNK, reader.field.shard_size or _CHUNK)
    lost: dict[str, list[Unwritten]] = {"source": [], "target": []} if reader.field.written else {"target": []}
    with replaced_path(path) as draft, pa.OSFile(str(draft), "wb") as file, pa.ipc.new_stream(file, schema) as writer:
        for chunk in text.to_batches(max_chunksize=size):
            batch = _encoded(chunk, tokenizers, reader, schema)
            writer.write_batch(batch)
            # What does not come back: of the sources, and of all that a target is scored against.
            if reader.field.written:
                ids = batch["source_ids"]
                lost["source"].append(unwritten(tokenizers.source, batch["source"], ids))
            texts = batch["target"]
            ids = batch["target_ids"]
            if "references" in chunk.schema.names:
                texts = batch["references"].flatten()
                ids = tokenizers.target.encode_column(texts.to_pylist())
            lost["target"].append(unwritten(tokenizers.target, texts, ids))
    return {side: Unwritten.joined(parts) for side, parts in lost.items()}


def copy_without(path: Path, copy: Path, rows: np.ndarray) -> None:
    """Writes a shard again without these rows. What a row that goes shares with those after it, the next one holds."""
    with pa.memory_map(str(path)) as source:
        table = pa.ipc.open_stream(source).read_all()
        stays = np.delete(np.arange(len(table)), rows)
        left = table.take(pa.array(stays))
        # A source that several rows share stands in the first of those that stay.
        source_rows = source_row_of(table["source_ids"])
        if source_rows is not None:
            held = source_rows[stays]
            repeated = np.diff(held, prepend=-1) == 0
            holder_rows = pa.array(held, mask=repeated)
            number = table.schema.get_field_index("source_ids")
            left = left.set_column(number, table.schema.field(number), table["source_ids"].take(holder_rows))
        left = left.combine_chunks()
    with (
        replaced_path(copy) as draft,
        pa.OSFile(str(draft), "wb") as file,
        pa.ipc.new_stream(file, left.schema) as stream,
    ):
        stream.write_table(left, max_chunksize=_CHUNK)


def finish_split(
    folder: Path, shards: Sequence[str], reader: Reader = TEXT_READER, *, transcribed: bool = False
) -> None:
    """Makes the files named in `shards`, in this order, a dataset that `datasets.load_from_disk` opens.

    reader: what made their rows. transcribed: whether they hold transcripts, too.
    """
    features = {column.name: _feature(column.type) for column in _schema(reader, transcribed=transcribed)}
    info = {"description": "", "citation": "", "homepage": "", "license": "", "features": features}
    (folder / "dataset_info.json").write_text(json.dumps(info), encoding="utf-8")
    state: dict[str, Any] = {
        "_data_files": [{"filename": name} for name in shards],
        "_fingerprint": folder.name,
        "_format_columns": None,
        "_format_kwargs": {},
        "_format_type": None,
        "_output_all_columns": False,
        "_split": None,
    }
    (folder / STATE).write_text(json.dumps(state, indent=2), encoding="utf-8")


def _feature(kind: pa.DataType) -> dict[str, Any]:
    """Returns a type as `datasets` writes it."""
    if pa.types.is_list(kind):
        return {"feature": _feature(kind.value_type), "_type": "List"}
    return {"dtype": str(kind).replace("halffloat", "float16"), "_type": "Value"}


def finish(
    draft: Path,
    folder: Path,
    tokenizers: Tokenizers,
    meta: Mapping[str, Any],
    digests: Mapping[Path, str] = MappingProxyType({}),
) -> None:
    """Makes a folder of three finished splits the corpus `folder`: by its name alone, so it is whole or not there.

    digests: the SHA-256 of some of its files.
    """
    tokenizers.save(draft)
    counts = {name: len(open_table(draft / name)) for name in SPLITS}
    paths = sorted(path for name in SPLITS for path in (draft / name).iterdir())
    files = file_digests(draft, paths, digests)
    known = {"format": FORMAT, "counts": counts, "tokenizers": tokenizers.digest(), "files": files}
    text = json.dumps(known | dict(meta), indent=2, ensure_ascii=False)
    (draft / "meta.json").write_text(text + "\n", encoding="utf-8")
    os.rename(draft, folder)


def text_table(examples: Sequence[Example]) -> pa.Table:
    """Returns the examples as a table of `TEXT` with the column `references`."""
    records = [example._asdict() | {"references": [example.target, *example.more_references]} for example in examples]
    return pa.Table.from_pylist(records, TEXT.append(_REFERENCES))


def encoded_pairs(
    text: pa.Table | pa.RecordBatch, tokenizers: Tokenizers, reader: Reader = TEXT_READER
) -> dict[str, pa.ListArray]:
    """Returns the columns `source_ids` and `target_ids` of pairs of `TEXT`, `transcript_ids` where transcripts have a
    tokenizer, and `piece_links` where the reader knows what links join."""
    source, target = (text[name].to_pylist() for name in ("source", "target"))
    columns = {
        "source_ids": reader.column(source, tokenizers.source),
        "target_ids": TEXT_FIELD.column(target, tokenizers.target),
    }
    if tokenizers.transcript is not None:
        columns["transcript_ids"] = TEXT_FIELD.column(text["transcript"].to_pylist(), tokenizers.transcript)
    if reader.link_unit is not None:
        lines = text["links"].to_pylist()
        columns["piece_links"] = links_of_pieces(lines, source, target, tokenizers, reader.link_unit)
    return columns


def _schema(reader: Reader, *, transcribed: bool) -> pa.Schema:
    columns = [
        ("source_ids", reader.field.arrow_type),  # of text: EOS included
        ("target_ids", TEXT_FIELD.arrow_type),  # EOS included, no BOS
        *([("transcript_ids", TEXT_FIELD.arrow_type)] if transcribed else []),  # likewise
        *([("piece_links", TEXT_FIELD.arrow_type)] if reader.link_unit else []),  # see `links_of_pieces`
        ("source", pa.string()),  # raw
        ("target", pa.string()),  # raw
        _REFERENCES,  # every reference of the example, `target` first
        ("links", pa.string()),  # gold word links or times, "" where unknown
    ]
    return pa.schema(columns)


def _encoded(text: pa.RecordBatch, tokenizers: Tokenizers, reader: Reader, schema: pa.Schema) -> pa.RecordBatch:
    if "references" in text.schema.names:
        references = text["references"]
    else:  # each target alone
        references = pa.ListArray.from_arrays(np.arange(len(text) + 1, dtype=np.int32), text["target"])
    columns = {
        **encoded_pairs(text, tokenizers, reader),
        "source": text["source"],
        "target": text["target"],
        "references": references,
        "links": text["links"],
    }
    return pa.RecordBatch.from_arrays(list(columns.values()), schema=schema)
