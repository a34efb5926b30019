"""A marked-up source that is still arriving: each tag is written with the word that its words are linked to.

session = MarkedSession(translator)
print(session.read("<b>The train</b> leaves "), end="")
print(session.finish())"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mt.decoding.streaming.session import Session
from mt.markup import html
from mt.markup.segments import Event

if TYPE_CHECKING:
    from mt.decoding.translator import Translator
    from mt.search.config import SearchConfig


@dataclass
class _Tag:
    """A tag of the sentence that is being read."""

    event: Event
    path: tuple[int, ...]
    """The numbers of the pairs around it."""
    begin: int
    """The source words before it."""
    end: int | None = None
    """Of a pair, the source words before its end, once that has come."""
    closing: str = ""
    written: bool = False


class MarkedSession:
    """Translates HTML while it arrives. What was written never changes. A pair is opened with the first word that is
    linked into it, and closed with the first that is not. A tag without a linked word is written once a later word is.

    Block elements end a sentence. Placeholders are words like others here.
    """

    def __init__(self, translator: "Translator", search: "SearchConfig | None" = None) -> None:
        """Raises UserError where the model must know the whole source before it writes."""
        self._translator = translator
        self._search = search
        self._parser = html.Parser()
        self._kept: list[str] = []  # of an element that is left as it is, what has come
        self._kept_name = ""
        self._depth = 0
        self._begin()

    def _begin(self) -> None:
        """Begins a sentence."""
        self._session: Session = self._translator.stream(self._search, "word")
        self._tags: list[_Tag] = []
        self._stack: list[int] = []
        self._paths: list[tuple[int, ...]] = []  # the pairs around each source word
        self._word = ""
        self._path: tuple[int, ...] = ()
        self._open: list[int] = []  # the pairs that are open in the translation
        self._count = 0  # words written
        self._due = 0  # tags that were all written
        self._out: list[str] = []

    def read(self, text: str) -> str:
        """Reads what has come, of any length, and returns what is certain with it."""
        self._parser.feed(text)
        events = [*self._parser.events]
        self._parser.events.clear()
        return "".join(map(self._take, events))

    def finish(self) -> str:
        """Ends the source and returns the rest."""
        rest = self._parser.rawdata
        self._parser = html.Parser()
        events = [*html.events(rest)] if rest else []
        written = "".join(map(self._take, events)) + self._end() + "".join(self._kept)
        self._kept.clear()
        return written

    def _take(self, event: Event) -> str:
        """Reads an event, and returns what is certain with it."""
        # An element that is left as it is counts as one word, once its end has come.
        if self._kept:
            self._kept.append(event.raw)
            self._depth += (event.name == self._kept_name) * {"start": 1, "end": -1}.get(event.kind, 0)
            if self._depth:
                return ""
            event = Event("empty", "".join(self._kept), "word")
            self._kept.clear()
        elif event.kind == "start" and event.role != "inline" and event.role != "block":
            self._kept = [event.raw]
            self._kept_name = event.name
            self._depth = 1
            return self._end() if event.role == "kept block" else ""
        # A block ends the sentence; text and tags belong to it.
        if event.role == "block":
            written = self._end() + event.raw
            self._begin()
            return written
        if event.kind == "text":
            self._text(event.raw)
        else:
            self._tag(event)
        return self._written()

    def _text(self, raw: str) -> None:
        for character, _ in html.spelled(raw):
            if character.isspace():
                self._end_word()
            else:
                self._word += character
                self._path = max(self._path, tuple(self._stack), key=len)

    def _end_word(self) -> None:
        """Lets the model read the word that has come."""
        if self._word:
            self._paths.append(self._path)
            word, self._word, self._path = self._word, "", ()
            self._session.read([word])
            self._write_words()

    def _tag(self, event: Event) -> None:
        words = len(self._paths) + bool(self._word)
        if event.kind == "end" and self._stack and self._tags[self._stack[-1]].event.name == event.name:
            tag = self._tags[self._stack.pop()]
            tag.end = words
            tag.closing = event.raw
            return
        self._tags.append(_Tag(event, tuple(self._stack), words))
        if event.kind == "start":
            self._stack.append(len(self._tags) - 1)

    def _write_words(self) -> None:
        """Writes the words that the session has written since, each with the tags that it is linked into."""
        while self._count < len(self._session.words):
            source = self._session.word_sources[self._count]
            word = self._session.words[self._count]
            path = self._paths[source] if 0 <= source < len(self._paths) else tuple(self._open)
            # A pair that was closed opens again only where its element may be split.
            path = tuple(n for n in path if n in self._open or not self._tags[n].written or self._tags[n].event.splits)
            while tuple(self._open) != path[: len(self._open)]:
                self._close()
            self._out.append(" " if self._count else "")
            self._pass(source)
            for number in path[len(self._open) :]:
                self._open.append(number)
                self._tags[number].written = True
                self._out.append(self._tags[number].event.raw)
            self._out += html.escaped(word, {})
            self._count += 1

    def _close(self) -> None:
        tag = self._tags[self._open.pop()]
        self._out.append(tag.closing or f"</{tag.event.name}>")
        tag.closing = tag.closing or f"</{tag.event.name}>"

    def _pass(self, source: int) -> None:
        """Writes the tags before a source word that were not written, and have no word of their own any more."""
        while self._due < len(self._tags) and self._tags[self._due].written:
            self._due += 1
        for tag in self._tags[self._due :]:
            if tag.begin > source:
                break
            over = tag.begin <= source if tag.event.kind != "start" else tag.end is not None and tag.end <= source
            if over and not tag.written:
                tag.written = True
                self._out.append(tag.event.raw + tag.closing + " " * (tag.event.name == "word"))

    def _end(self) -> str:
        """Ends the sentence."""
        self._end_word()
        self._session.finish()
        self._write_words()
        while self._open:
            tag = self._tags[self._open.pop()]
            self._out.append(tag.closing)
        self._pass(len(self._paths))
        self._out += [tag.event.raw for tag in self._tags if not tag.written]  # what is not closed
        written = self._written()
        self._begin()
        return written

    def _written(self) -> str:
        written = "".join(self._out)
        self._out.clear()
        return written
