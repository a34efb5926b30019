"""Writes the prepared corpus that `mt.data.corpus` reads.

A `Reader` makes rows of sources. `write_shard` encodes a table of texts as one file of a split. `finish` turns the
folders of three splits into a corpus.
"""

import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from mt.data.arrow import file_digests, numbers
from mt.data.checks import open_table
from mt.data.corpus import COLUMNS, FORMAT, SPLITS, Example
from mt.data.fields import TEXT, Field, Raw, SourceError
from mt.data.links import links_of_pieces
from mt.data.tokenizer import UNK, LinkUnit, Tokenizers
from mt.storage import replaced_path

_REFERENCES = pa.field("references", pa.list_(pa.string()))
_CHUNK = 5_000  # examples encoded at a time


class Reader(NamedTuple):
    """Turns the sources of examples into rows. It can be sent to other processes."""

    field: Field = TEXT
    open: Callable[[str], Raw] = str
    """Returns the input of the field for the source of an `Example`: the text itself, or a path, samples, pixels."""
    link_unit: LinkUnit | None = None
    """See `DatasetConfig.link_unit`; None: links stay between words."""

    def require_readable(self, source: str) -> None:
        """Raises SourceError, with the attribute `source`, where a sound or a picture cannot be read."""
        try:
            self.field.require_readable(self.open(source))
        except SourceError as error:
            error.source = source
            raise


TEXT_READER = Reader()


Unknown = tuple[int, int]
"""How many texts have an unknown piece, of how many."""


def write_shard(
    path: Path,
    text: pa.Table,
    tokenizers: Tokenizers,
    reader: Reader = TEXT_READER,
) -> dict[str, Unknown]:
    """Encodes the examples of a table of `COLUMNS`, and writes them as one file of a split.

    The references are the column `references` where the table has one, else the target alone. Returns the numbers of
    texts with unknown pieces, by side: `source`, where the sources are texts, and `target`, with all references. Raises
    SourceError if a source cannot be read.
    """
    # Examples are encoded in chunks, so that memory does not grow with the shard.
    schema = _schema(reader, transcribed=tokenizers.transcript is not None)
    size = min(_CHUNK, reader.field.shard_size or _CHUNK)
    unknown: dict[str, Unknown] = dict.fromkeys(("source", "target") if reader.field.written else ("target",), (0, 0))
    with replaced_path(path) as draft, pa.OSFile(str(draft), "wb") as file, pa.ipc.new_stream(file, schema) as writer:
        for chunk in text.to_batches(max_chunksize=size):
            batch = _encoded(chunk, tokenizers, reader, schema)
            writer.write_batch(batch)
            # In dev and test, all references are counted as targets.
            for side, (some, of) in unknown.items():
                ids = batch[f"{side}_ids"]
                if side == "target" and "references" in chunk.schema.names:
                    ids = tokenizers.target.encode_column(batch["references"].flatten().to_pylist())
                unknown[side] = (some + _count_unknown(ids), of + len(ids))
    return unknown


def _count_unknown(ids: pa.ListArray) -> int:
    """Counts the texts with an unknown piece."""
    # Offsets tell which text each unknown piece belongs to.
    places = np.flatnonzero(numbers(ids.values) == UNK)
    return len(np.unique(np.searchsorted(numbers(ids.offsets), places, side="right")))


def finish(
    draft: Path,
    folder: Path,
    tokenizers: Tokenizers,
    meta: Mapping[str, Any],
    digests: Mapping[Path, str] = MappingProxyType({}),
) -> None:
    """Turns a folder with the files of three splits into the corpus `folder`. Renaming comes last, so that the corpus
    is complete or does not exist.

    digests: SHA-256 sums of files that need not be computed again.
    """
    # The corpus has its tokenizers, and records its files in meta.json.
    tokenizers.save(draft)
    shards = {name: sorted((draft / name).iterdir()) for name in SPLITS}
    counts = {name: len(open_table(paths)) for name, paths in shards.items()}
    paths = [path for name in sorted(SPLITS) for path in shards[name]]
    files = file_digests(draft, paths, digests)
    known = {"format": FORMAT, "counts": counts, "tokenizers": tokenizers.digest(), "files": files}
    text = json.dumps(known | dict(meta), indent=2, ensure_ascii=False)
    (draft / "meta.json").write_text(text + "\n", encoding="utf-8")
    os.rename(draft, folder)


def text_table(examples: Sequence[Example]) -> pa.Table:
    """Returns the examples as a table of `COLUMNS` with the column `references`."""
    records = [example._asdict() | {"references": [example.target, *example.more_references]} for example in examples]
    return pa.Table.from_pylist(records, COLUMNS.append(_REFERENCES))


def _schema(reader: Reader, *, transcribed: bool) -> pa.Schema:
    columns = [
        ("source_ids", reader.field.arrow_type),  # of text: EOS included
        ("target_ids", TEXT.arrow_type),  # EOS included, no BOS
        *([("transcript_ids", TEXT.arrow_type)] if transcribed else []),  # likewise
        *([("piece_links", TEXT.arrow_type)] if reader.link_unit else []),  # see `links_of_pieces`
        ("source", pa.string()),  # raw
        ("target", pa.string()),  # raw
        _REFERENCES,  # every reference of the example, `target` first
        ("links", pa.string()),  # gold word links or times, "" where unknown
    ]
    return pa.schema(columns)


def _encoded(text: pa.RecordBatch, tokenizers: Tokenizers, reader: Reader, schema: pa.Schema) -> pa.RecordBatch:
    # Sources are encoded by their field, targets and transcripts always as text.
    columns = {name: text[name] for name in text.schema.names}
    source, target = (columns[name].to_pylist() for name in ("source", "target"))
    columns["source_ids"] = reader.field.column(source, tokenizers.source, reader.open)
    columns["target_ids"] = TEXT.column(target, tokenizers.target)
    if tokenizers.transcript is not None:
        columns["transcript_ids"] = TEXT.column(columns["transcript"].to_pylist(), tokenizers.transcript)
    if reader.link_unit is not None:
        links = columns["links"].to_pylist()
        columns["piece_links"] = links_of_pieces(links, source, target, tokenizers, reader.link_unit)
    if "references" not in columns:  # each target alone
        columns["references"] = pa.ListArray.from_arrays(np.arange(len(text) + 1, dtype=np.int32), text["target"])
    return pa.RecordBatch.from_pydict({name: columns[name] for name in schema.names}, schema)
