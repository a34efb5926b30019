"""The prepared corpus: its files, and its reader. Rows and raw text lie side by side, memory-mapped.

`Example` is a raw pair. `Corpus.open` checks `meta.json` and the files, and gives the splits.
"""

import contextlib
import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, Self

import numpy as np
import pyarrow as pa
import pydantic

from mt.common.earlier import as_now
from mt.common.input_files import parse_json, read_text
from mt.common.options import Count, Digest, Options, parse
from mt.data.arrow import ALL, Share, require_contents, require_sizes
from mt.data.checks import open_table, require_sound
from mt.data.fields import Field, FieldConfig, TextConfig, build_field
from mt.data.split import Portion, Split
from mt.data.tokenizer import Tokenizers
from mt.errors import UserError, message_of

if TYPE_CHECKING:  # preparation would wait for torch
    from torch import Tensor

FORMAT = 8
"""The version of the format. It rises when the columns, `meta.json`, or the treatment of text in preparation change."""

SPLITS = ("train", "dev", "test")

COLUMNS = pa.schema([(name, pa.string()) for name in ("source", "target", "links", "transcript")])
"""The columns of examples before they are encoded; see `Example`. Dev and test also have a column `references`."""
_REMEDY = "delete it and make it again with `mt prepare dataset=...`"


class Example(NamedTuple):
    """A raw pair."""

    source: str
    """A text, or what names a sound or a picture."""
    target: str
    links: str = ""
    """Where the parts of the target are in the source; "" where unknown. Of two texts gold word links `i-j` (Pharaoh,
    0-based, source-target). Of sound the milliseconds at which each unit of the target begins and ends, `120-722
    830-1254`. A unit is a word between blanks, or a character."""
    more_references: tuple[str, ...] = ()
    """The references besides the target, in dev and test."""
    transcript: str = ""
    """The words of a sound, where the target is something else; "" where unknown."""


def sources(split: Split, count: int = 1_000) -> Iterator[tuple["Tensor", "Tensor"]]:
    """Yields `count` sources of a training set, collated, always the same ones."""
    # Ten at a time, since a batch of sounds can be large.
    chosen = np.random.default_rng(0).permutation(len(split.lengths()[0]))[:count]
    # Sorted, so that the memory map is read from its beginning to its end.
    for indices in np.array_split(np.sort(chosen), -(-len(chosen) // 10)):
        yield split.source.collate(split.read(indices).sources)


class _Settings(Options, extra="ignore"):
    """The settings of a corpus that matter to reading it."""

    field: FieldConfig = TextConfig()


class _FileRecord(Options):
    size: Count
    sha256: Digest


# No path in meta.json leads out of the folder.
_SplitFile = Annotated[str, pydantic.Field(pattern=r"^(train|dev|test)/[A-Za-z0-9_][A-Za-z0-9_.-]*$", max_length=300)]
"""The path of a file within a corpus."""


class _Meta(Options, extra="ignore"):
    """The part of `meta.json` that is read; the rest is for people."""

    fingerprint: Annotated[str, pydantic.Field(pattern=r"^[0-9a-f]{1,64}$")]
    tokenizers: Digest
    counts: dict[Literal["train", "dev", "test"], Count]
    files: dict[_SplitFile, _FileRecord]
    settings: _Settings = _Settings()
    portions: tuple[Count, ...] = ()
    """Training pairs of each of several corpora."""

    def mixed(self, weights: Sequence[float]) -> list[Portion]:
        """Returns the portions with their weights.

        Raises ValueError where there are more or fewer weights than portions, or where the portions are not all pairs.
        Raises UserError where an epoch could be empty.
        """
        # Portions are successive pairs, so that their sizes tell where each corpus begins.
        if len(self.portions) != len(weights) or sum(self.portions) != self.counts.get("train"):
            raise ValueError("portions that are not those of its pairs")
        portions = [*map(Portion, self.portions, weights)]
        if sum(self.portions) and not any(portion.share >= 1 for portion in portions):
            shares = ", ".join(f"{size:,} pairs with a weight of {weight:g}" for size, weight in portions)
            raise UserError(
                f"the corpora of dataset.mix have less than a pair an epoch each ({shares}), and epochs would be "
                "empty: raise dataset.weight, or a weight of dataset.mix"
            )
        return portions


class Corpus:
    """A prepared corpus: `tokenizers`, `meta` (the argument of `finish`, and what it adds) and three splits."""

    def __init__(
        self,
        read: Callable[[str], Split],
        tokenizers: Tokenizers,
        meta: Mapping[str, Any],
    ) -> None:
        """
        Args:
            read: reads a split by its name, when it is first needed.
        """
        self._read = functools.cache(read)
        self.tokenizers = tokenizers
        self.meta = meta

    @classmethod
    def open(cls, folder: Path, weights: Sequence[float] = (), share: Share = ALL) -> Self:
        """Opens a finished corpus.

        The sizes of all files are compared with the recorded ones. The contents of a split are compared when it is
        first needed, which takes a second or two per GB. After that, only lengths of rows and the requested rows are
        read.

        Args:
            weights: of the corpora that are mixed in it.
            share: which of the files this process compares; see `require_contents`.

        Raises:
            UserError: the folder is no prepared corpus, is damaged, or was written in another format.
        """
        # Refuse what is no corpus, and other versions of the format.
        try:
            meta = parse_json(read_text(folder / "meta.json"))
            version = meta["format"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise UserError(f"{folder} is not a prepared corpus (meta.json is missing or broken): {_REMEDY}") from error
        if version != FORMAT:
            raise UserError(f"{folder} is a corpus of format {version}, this version reads format {FORMAT}: {_REMEDY}")
        as_now({"dataset": meta.get("settings")})
        # Compare the sizes of its files, and its tokenizers, with the recorded ones.
        try:
            about = parse(meta, _Meta)
        except UserError as error:
            raise UserError(f"{folder} is damaged (meta.json: {error}): {_REMEDY}") from None
        files = about.model_dump()["files"]
        with _undamaged(folder):
            require_sizes(folder, files)
            portions = about.mixed(weights) if weights else []
        tokenizers = Tokenizers.load(folder)
        if tokenizers.digest() != about.tokenizers:
            raise UserError(f"{folder} has another tokenizer than the one that cut its text: {_REMEDY}")
        # Splits are read when they are first needed.
        source = build_field(about.settings.field)
        read = functools.partial(_read_split, folder, about, source, tokenizers.sizes, portions, share)
        return cls(read, tokenizers, meta)

    def split(self, name: str) -> Split:
        """Returns the split `train`, `dev` or `test`. Raises UserError where its files have changed since they were
        written."""
        return self._read(name)

    @property
    def scored(self) -> str:
        """Names the split on which results are computed: test or, where there is none, dev."""
        return "test" if len(self.split("test")) else "dev"


def _read_split(
    folder: Path,
    about: _Meta,
    source: Field,
    sizes: tuple[int, int, int | None],
    portions: Sequence[Portion],
    share: Share,
    name: Literal["train", "dev", "test"],
) -> Split:
    with _undamaged(folder):
        # Checksums first: they tell a damaged file from one of another kind.
        require_contents(folder, about.model_dump()["files"], name, share)
        shards = [path for path in sorted(about.files) if path.startswith(f"{name}/") and path.endswith(".arrow")]
        table = open_table(folder / path for path in shards)
        require_sound(table, source, sizes)
        if len(table) != about.counts.get(name):
            raise ValueError(f"{name} has {len(table):,} pairs, and not those of meta.json")
        return Split(table, source, portions if name == "train" else ())


@contextlib.contextmanager
def _undamaged(folder: Path) -> Iterator[None]:
    """Raises UserError in place of any error that a damaged corpus causes."""
    try:
        yield
    except (OSError, ValueError, LookupError, TypeError, ArithmeticError, pa.ArrowException) as error:
        raise UserError(f"{folder} is damaged ({message_of(error)}): {_REMEDY}") from error
