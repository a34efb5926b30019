"""A marked-up source that is still arriving: each tag is written with the word that its words are linked to.

session = MarkedSession(translator)
print(session.read("<b>The train</b> leaves "), end="")
print(session.finish())"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mt.data.placeholders import PLACEHOLDER
from mt.decoding.streaming.session import Session
from mt.markup import html
from mt.markup.segments import Event
from mt.markup.writing import CLOSING

if TYPE_CHECKING:
    from mt.decoding.translator import Translator
    from mt.search.config import SearchConfig

_LONGEST = 400
"""Characters of a placeholder in braces; what is longer is text."""


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

    Block elements end a sentence. Placeholders are kept whole, and put like empty tags.
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
        self._word: list[tuple[str, str]] = []  # the characters that have come of a word, each as it is written
        self._path: tuple[int, ...] = ()
        self._open: list[int] = []  # the pairs that are open in the translation
        self._count = 0  # words written
        self._due = 0  # tags that were all written
        self._out: list[str] = []
        self._parted = True  # whether no blank is due before the next word

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
        for character, spelling in html.spelled(raw):
            if character.isspace() and not self._in_braces():
                self._end_word()
            else:
                self._word.append((character, spelling))
                self._path = max(self._path, tuple(self._stack), key=len)

    def _in_braces(self) -> bool:
        """Returns whether what has come of a word may be the beginning of a placeholder with blanks in it."""
        characters = [character for character, _ in self._word[: _LONGEST + 1]]
        return characters.count("{") > characters.count("}") and len(characters) <= _LONGEST

    def _end_word(self) -> None:
        """Lets the model read the word that has come. Placeholders in it are put as elements that are kept."""
        characters, self._word = self._word, []
        text = "".join(character for character, _ in characters)
        end = 0
        for match in PLACEHOLDER.finditer(text):
            self._read_words(text[end : match.start()])
            raw = "".join(spelling for _, spelling in characters[match.start() : match.end()])
            self._tag(Event("empty", raw, "word"))
            end = match.end()
        self._read_words(text[end:])
        self._path = ()

    def _read_words(self, text: str) -> None:
        for word in text.split():
            self._paths.append(self._path)
            self._session.read([word])
            self._write_words()

    def _tag(self, event: Event) -> None:
        if len(self._word) <= _LONGEST and PLACEHOLDER.search("".join(character for character, _ in self._word)):
            self._end_word()  # A placeholder stands within the pairs that are open where it ends.
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
                self._close(source)
            self._part()
            self._pass(source)
            for number in path[len(self._open) :]:
                self._part()
                self._open.append(number)
                self._tags[number].written = True
                self._out.append(self._tags[number].event.raw)
                self._pass(source)
            if word[0] not in CLOSING:
                self._part()
            self._out += html.escaped(word, {})
            self._parted = False
            self._count += 1

    def _part(self) -> None:
        """Writes a blank behind a word, or what is read as one."""
        self._out.append("" if self._parted else " ")
        self._parted = True

    def _close(self, source: int) -> None:
        """Closes the inner pair, after the tags in it that stand before a source word."""
        self._pass(source, self._open[-1])
        tag = self._tags[self._open.pop()]
        tag.closing = tag.closing or f"</{tag.event.name}>"
        self._out.append(tag.closing)

    def _pass(self, source: int, pair: int | None = None) -> None:
        """Writes the tags before a source word that were not written, and have no word of their own any more.

        pair: those within it alone. A tag waits for the pairs around it.
        """
        while self._due < len(self._tags) and self._tags[self._due].written:
            self._due += 1
        within: list[int] = []
        for number, tag in enumerate(self._tags[self._due :], self._due):
            if tag.begin > source:
                break
            over = tag.event.kind != "start" or (tag.end is not None and tag.end <= source)
            if tag.written or not over or not all(self._tags[around].written for around in tag.path):
                continue
            if pair is not None and pair not in tag.path:
                continue
            while within and within[-1] not in tag.path:
                self._out.append(self._tags[within.pop()].closing)
            # A blank parts what is read as a word, and stands before the pair that begins with it.
            if any(
                near.event.name == "word" and (near is tag or number in near.path)
                for near in self._tags[number : number + 2]
            ):
                self._part()
            self._out.append(tag.event.raw)
            self._parted = self._parted and tag.event.name != "word"
            tag.written = True
            within += [number] * (tag.event.kind == "start")
        self._out += [self._tags[number].closing for number in reversed(within)]

    def _end(self) -> str:
        """Ends the sentence."""
        self._end_word()
        self._session.finish()
        self._write_words()
        while self._open:
            self._pass(len(self._paths), self._open[-1])
            self._out.append(self._tags[self._open.pop()].closing)
        self._pass(len(self._paths))
        self._out += [tag.event.raw for tag in self._tags if not tag.written]  # what is not closed
        written = self._written()
        self._begin()
        return written

    def _written(self) -> str:
        written = "".join(self._out)
        self._out.clear()
        return written
