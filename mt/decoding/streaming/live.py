"""Translation of what arrives on standard input, or of a sound, to standard output while it arrives."""

import contextlib
import sys
from collections.abc import Iterable, Iterator
from itertools import chain

import numpy as np

from mt.common.terminal import output
from mt.data.fields import AudioField
from mt.data.tokenizer import Unit
from mt.decoding.staircase import Show
from mt.decoding.streaming.arrivals import arrivals
from mt.decoding.streaming.session import Event
from mt.decoding.streaming.terminal import standard_input
from mt.decoding.translator import Translator
from mt.errors import UserError
from mt.search.config import SearchConfig
from mt.search.limits import CUT_REMEDY, cut_note
from mt.text_io import STANDARD_INPUT


def translate_live(translator: Translator, search: SearchConfig, audio: str | None, *, show: bool) -> None:
    """Writes the translation of each source as far as it is certain, and how many hypotheses were cut to standard
    error.

    audio: the sound to read; `-`: raw samples from standard input; None: words from standard input. show: whether what
    is read and written is drawn as a staircase. Raises UserError where the model, or what arrives, is not for this.
    """
    session = translator.stream(search)  # refuses before anything is read
    written = Show(sys.stdout) if show else Lines(translator.unit)
    cut = 0
    with arriving(translator, audio) as parts:
        for part in parts:
            count = len(session.events)
            if part is None:
                session.finish()
            else:
                session.read(part)
            written.add(session.events[count:])
            if part is None:
                written.end()
                cut += session.cut
                session = translator.stream(search)
    if cut:
        print(f"note: {cut_note(cut, translator.search_for(search).limit, CUT_REMEDY)}", file=sys.stderr)


@contextlib.contextmanager
def arriving(translator: Translator, audio: str | None) -> Iterator[Iterable[str | np.ndarray | None]]:
    """Yields what arrives: parts of sources, and None at the end of each. Raises UserError where the run reads
    something else."""
    field = translator.field
    kind = translator.config.dataset.field.name
    if isinstance(field, AudioField):
        if audio is None:
            raise UserError(
                f"this run reads {kind}: name the sound by --audio FILE, or send raw samples and add --audio -"
            )
        if audio == "-":
            with standard_input(None) as chunks:
                yield chain(field.pcm(chunks, STANDARD_INPUT), [None])
        else:
            yield chain(field.pieces(audio), [None])
        return
    if audio is not None:
        raise UserError(
            f"--audio is of runs that read sound, and this one reads {kind}: leave it out, and send words to standard "
            "input"
        )
    with standard_input(translator.unit) as chunks:
        yield arrivals(chunks, STANDARD_INPUT, translator.unit)


class Lines:
    """Writes the words of translations to standard output, a line for each source."""

    def __init__(self, unit: Unit) -> None:
        self._blank = " " if unit == "word" else ""
        self._between = ""

    def add(self, events: Iterable[Event]) -> None:
        """Writes the words that are written among the events."""
        for kind, word in events:
            if kind == "write":
                sys.stdout.write(output(self._between + word))
                self._between = self._blank
        sys.stdout.flush()

    def end(self) -> None:
        """Ends the line of one source."""
        self._between = ""
        sys.stdout.write("\n")
        sys.stdout.flush()
