"""Archives of two texts, as OPUS keeps them in Moses' form."""

import contextlib
import io
import itertools
import zipfile
import zlib
from collections.abc import Iterable, Iterator

from data_prep.sources.base import Records
from data_prep.sources.cells import require_once, require_sides
from data_prep.sources.folders import is_litter
from data_prep.sources.languages import choose
from data_prep.sources.tables import TableFile
from mt.data.corpus import Example
from mt.errors import UserError
from mt.text_io import chosen_lines, count_lines

_BUFFER = 1 << 20


class MosesArchive(TableFile):
    """A zip file that holds one file with the ending of each side, `Books.de-en.de` and `Books.de-en.en`, and maybe
    others: line N of one belongs to line N of the other."""

    def size(self) -> int:
        with self._members() as files:
            counts = [count_lines(file) for file in files]
        if counts[0] != counts[1]:
            raise UserError(
                f"{self._path}: its {self._columns[0]} has {counts[0]:,} lines and its {self._columns[1]} "
                f"{counts[1]:,}: line N of one must belong to line N of the other"
            )
        if counts[0] == 0:
            raise UserError(f"{self._path} holds empty texts: expected one sentence a line")
        return counts[0]

    def records(self) -> Records:
        return ((f"{self._path}, row {number}", pair) for number, pair in enumerate(self.read(), start=1))

    def columns(self) -> list[str]:
        with self._opened() as archive:
            return [*map(_ending, _texts(archive))]

    def read(self, rows: Iterable[range] | None = None) -> Iterator[Example]:
        copies = (None, None) if rows is None else itertools.tee(rows)
        names = (f"{self._path}, {side}" for side in self._columns)
        with self._members() as files:
            try:
                yield from map(Example, *map(chosen_lines, files, names, copies))
            except (zipfile.BadZipFile, zlib.error, EOFError) as error:
                raise UserError(f"{self._path} is damaged ({error}): copy it again") from error

    @contextlib.contextmanager
    def _members(self) -> Iterator[list[io.BufferedReader]]:
        """Opens the texts of the two sides."""
        endings = self.columns()
        if not endings:
            source, target = self._columns[:2]
            raise UserError(f"{self._path} holds no text: expected two files, that end in .{source} and .{target}")
        sides = tuple(choose(side, endings, str(self._path)) or side for side in self._columns[:2])
        require_sides(sides, endings, str(self._path))
        require_once(sides, endings, str(self._path))
        with self._opened() as archive, contextlib.ExitStack() as stack:
            texts = _texts(archive)
            names = [texts[endings.index(side)] for side in sides]
            try:
                members = [stack.enter_context(archive.open(name)) for name in names]
            except (RuntimeError, NotImplementedError) as error:  # a password, an unusual compression
                raise UserError(f"{self._path} cannot be read ({error}): unpack it") from error
            yield [io.BufferedReader(member, _BUFFER) for member in members]  # type: ignore[arg-type]

    @contextlib.contextmanager
    def _opened(self) -> Iterator[zipfile.ZipFile]:
        try:
            with zipfile.ZipFile(self._path) as archive:
                yield archive
        except (zipfile.BadZipFile, zlib.error, EOFError) as error:
            raise UserError(f"{self._path} is no sound zip file ({error}): copy it again") from error


def _texts(archive: zipfile.ZipFile) -> list[str]:
    """Names what may be a text: no folders, and nothing that a system left there."""
    names = (one.filename for one in archive.infolist() if not one.is_dir())
    return [name for name in names if not is_litter(name)]


def _ending(name: str) -> str:
    return name.rpartition(".")[2]
