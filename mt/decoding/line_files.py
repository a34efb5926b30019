"""Files beside the translations of lines: word links, and drawings of the attention."""

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TextIO

from mt.common.backdrop import PlotFormat
from mt.decoding.translation import Translation
from mt.decoding.translator import Translator
from mt.decoding.word_links import in_words
from mt.errors import UserError, unwritten
from mt.metrics.alignment import to_pharaoh


class LineFiles:
    """Writes a line of word links for each translation into one file, and a drawing of the best translation of each
    line into a folder."""

    def __init__(
        self,
        alignments: Path | None = None,
        plots: Path | None = None,
        plot_format: PlotFormat | None = None,
        *,
        plot_words: bool = False,
    ) -> None:
        """
        Args:
            alignments: the file of word links; None: there is none.
            plots: the folder of drawings; None: nothing is drawn.
            plot_format: None: png.
            plot_words: whether drawings are of words, in place of pieces.
        """
        self._alignments = alignments
        self._plots = plots
        self._plot_format = plot_format or "png"
        self._plot_words = plot_words
        self._links: TextIO | None = None

    @contextlib.contextmanager
    def opened(self, source: Path | None) -> Iterator[None]:
        """Opens the file of word links, for as long as the context lasts. source: the file that is translated. Raises
        UserError where both are one file, or this one cannot be written."""
        path = self._alignments
        if path is None:
            yield
            return
        with _naming(f"--alignments {path}"):
            if source and path.exists() and source.exists() and path.samefile(source):
                raise UserError(
                    f"--alignments {path} is the file to translate, and would overwrite it: give another file"
                )
            self._links = path.open("w", encoding="utf-8")
        try:
            yield
        finally:
            # All was flushed, or could not be, which was reported then.
            with contextlib.suppress(OSError):
                self._links.close()

    def write(
        self,
        translator: Translator,
        texts: Sequence[str],
        translations: Sequence[Sequence[Translation]],
        first_index: int,
    ) -> None:
        """Writes what belongs to some lines. translations: of each line, best first. first_index: the number of the
        first line, counted from 0. Raises UserError where something cannot be written."""
        if self._plots:
            best = [in_words(translator, one[0], text) for one, text in zip(translations, texts, strict=True)]
            self._draw(best, first_index, self._plots)
        if self._links:
            with _naming(f"--alignments {self._alignments}"):
                self._links.writelines(f"{to_pharaoh(one.links)}\n" for of_line in translations for one in of_line)
                self._links.flush()

    def _draw(self, translations: Sequence[Translation], first_index: int, folder: Path) -> None:
        """Draws the translations that attended to something; those of blank lines did not."""
        with _naming(f"--plots {folder}"):
            folder.mkdir(parents=True, exist_ok=True)
        for index, one in enumerate(translations, start=first_index):
            if one.alignment.any():
                one.plot(folder / f"{index:04d}.{self._plot_format}", words=self._plot_words)


@contextlib.contextmanager
def _naming(output: str) -> Iterator[None]:
    """Turns an OSError into a UserError on this output."""
    try:
        yield
    except OSError as error:
        raise UserError(unwritten(output, error, "give another")) from error
