"""The text that SimulStreaming recognises, translated while it is spoken: JSON lines in, JSON lines out.

    nc localhost 43001 < sound | python -m examples.simulstreaming_pipe RUN --search alignatt > translated.jsonl

A line in is {"text", "emission_time", "end", "is_final"}; other keys are passed over. A text that does not begin with a
blank continues the last word, so this word is a tail until another one begins: drafts read it, and nothing that depends
on it is written. A line out has "text", which stays, and "unconfirmed_text", which the next line replaces. Its "status"
is COMPLETE, so that a further translator can read these lines; lines that are INCOMPLETE, as SimulStreaming's own
translator writes, come again and are passed over. A sentence ends at its . ! or ?, and with "is_final".
"""

import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

import mt
from examples.streaming import CLOSING, fault_of, opened, parser_of
from mt.cli.arguments import reported_in_flags


class Line(BaseModel):
    """A line in."""

    model_config = ConfigDict(strict=True)

    text: str = ""
    status: str = "COMPLETE"
    emission_time: float
    end: float | None = None
    is_final: bool


class Interpreter:
    """Translates one sentence after another."""

    def __init__(self, begin: Callable[[], mt.Session]) -> None:
        """begin: begins a sentence."""
        self._begin = begin
        self._session = begin()
        self._last = ""

    @property
    def open(self) -> bool:
        """Whether a sentence has begun."""
        return bool(self._last or self._session.source_read)

    def read(self, text: str, *, final: bool) -> tuple[str, str]:
        """Reads more text. Returns what is written now, each word with a blank before it, and the draft. Characters are
        read as they come, and have their blanks already."""
        whole = list(text)
        words = self._session.streaming.unit == "word"
        if words:
            *whole, self._last = [*(self._last + text).split(" "), *([""] if final else [])]
        written: list[str] = []
        for word in filter(None, whole):
            written += self._session.read(word)
            written += self._ended() if word.endswith(CLOSING) else []
        if self._last:
            written += self._session.read("", tail=self._last)
        written += self._ended() if final else []
        confirmed, draft = (
            "".join(f" {it}" if words else it for it in part) for part in (written, self._session.draft)
        )
        return confirmed, draft.strip()

    def _ended(self) -> list[str]:
        words = self._session.finish()
        self._session = self._begin()
        return words


def translated(lines: Iterable[str | bytes], interpreter: Interpreter) -> Iterator[dict[str, Any]]:
    """Yields a line out for each line in, and at the end one for what is left. A line goes out when its own time and
    that of the one before have come, and it has been translated. Raises UserError for a line that is none of
    SimulStreaming."""
    line, time_out = None, 0.0
    for number, plain in enumerate(chain(lines, [None]), start=1):
        began = time.monotonic()
        if plain is not None and not plain.strip():
            continue
        if plain is not None:
            came = _line(plain, number)
            if came.status == "INCOMPLETE":
                continue
            line = came
        elif line is None or not interpreter.open:
            return
        else:
            line = line.model_copy(update={"text": "", "is_final": True})
        confirmed, unconfirmed = interpreter.read(line.text, final=line.is_final)
        time_out = max(time_out, line.emission_time) + time.monotonic() - began
        answer = {"emission_time": time_out, "end": line.end, "status": "COMPLETE", "text": confirmed}
        yield answer | {"unconfirmed_text": unconfirmed, "is_final": line.is_final}


def _line(plain: str | bytes, number: int) -> Line:
    try:
        return Line.model_validate_json(plain)
    except ValidationError as error:
        raise mt.UserError(
            f"standard input, line {number} is no line of SimulStreaming ({fault_of(error)}): send JSON lines with "
            "text, emission_time, end and is_final"
        ) from None


def main() -> None:
    options = parser_of(__doc__).parse_args()
    with reported_in_flags():
        interpreter = Interpreter(opened(options).begin)
        for answer in translated(sys.stdin.buffer, interpreter):
            print(json.dumps(answer, ensure_ascii=False), flush=True)


if __name__ == "__main__":
    main()
