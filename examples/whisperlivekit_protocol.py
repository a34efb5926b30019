"""What WhisperLiveKit and its translation server say to each other: `alignatt-mt-server`, protocol v1, as JSON.

A connection is a conversation. An init says which languages. Then come updates, each with all of an utterance. Words
that the recogniser has committed are read, and its tail is drafted over. `committed_text` only grows.
Presets, overrides, contexts and histories are passed over.
"""

from typing import Any, Literal

from pydantic import BaseModel, ValidationError

import mt
from examples.streaming import Policy, fault_of, words_covered
from mt.errors import shown

VERSION = 1
MOST_WORDS = 120
"""An utterance of more words is ended."""
LONGEST = 5000
"""An utterance of more characters, its tail included, is refused: it would hold up all others."""
Word = tuple[str, float | None, float | None]


class Message(BaseModel):
    """An init, or an update with the whole utterance."""

    type: Literal["init", "update"]
    protocol_version: int = 0
    source_lang: str = ""
    target_lang: str = ""
    accepted_target_prefix: str | None = None
    seq: int | None = None
    utterance_id: int = 0
    words: list[Word] = []
    tail: dict[str, list[Word]] | None = None
    is_final: bool = False


def error(code: str, message: str, **more: Any) -> dict[str, Any]:
    """Returns the message for what cannot be done."""
    return {"type": "error", "code": code, "message": message} | more


class Conversation:
    """Translates one utterance after another of a connection."""

    open = False
    """Whether an init has been accepted."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._number: int | None = None

    def answer(self, message: Message | ValidationError) -> dict[str, Any]:
        """Returns the answer to what has come."""
        if isinstance(message, ValidationError):
            return error("bad_protocol", f"this is no message of protocol {VERSION} ({fault_of(message)})")
        if self.open != (message.type == "update"):
            return error("bad_protocol", "the first message is an init, and all others are updates")
        try:
            return self._update(message) if self.open else self._init(message)
        except mt.UserError as fault:
            return error("processing_failed", str(fault), seq=message.seq)

    def _init(self, init: Message) -> dict[str, Any]:
        data = self._policy.translator.config.dataset
        asked, known = f"{init.source_lang}-{init.target_lang}".lower(), f"{data.source}-{data.target}".lower()
        if init.protocol_version != VERSION:
            return error("bad_protocol", f"protocol_version={init.protocol_version} is not known: expected {VERSION}")
        if asked != known:
            return error("unsupported_direction", f"this run translates {known}, not {shown(asked)}", supported=[known])
        self._begin((init.accepted_target_prefix or "").strip())
        self.open = True
        names = {"preset": self._policy.search.name, "model": data.name}
        return {"type": "init_ok", "protocol_version": VERSION, "direction": known} | names

    def _begin(self, prefix: str = "") -> None:
        """Begins an utterance. prefix: what a reader has seen of its translation; a blank ends its last word."""
        whole = f"{prefix} " if self._policy.unit == "word" else prefix
        self._session = self._policy.begin(prefix=whole if prefix else None)
        self._committed, self._words = prefix, list[str]()

    def _update(self, update: Message) -> dict[str, Any]:
        if self._number not in (None, update.utterance_id):
            self._begin()
        self._number = update.utterance_id
        # Words that were read stay, and the tail is of words that may change.
        tail = [text for text, *_ in (update.tail or {}).get("words", ())]
        length = sum(map(len, [*tail, *(text for text, *_ in update.words)]))
        if length > LONGEST:
            raise mt.UserError(f"the utterance has {length} characters, and at most {LONGEST} are read: end it before")
        words = [word for text, *_ in update.words for word in text.split()]
        if words[: len(self._words)] != self._words:
            raise mt.UserError("committed words changed: send all of the utterance, and in the tail what may change")
        self._words = words
        # A session drafts with each word, which would take too long where very many come at once.
        if len(words) > 2 * MOST_WORDS:
            return self._ended(update, self._policy.translator.translate(" ".join(words)).text)
        final = update.is_final or len(words) > MOST_WORDS
        parts = words if self._policy.unit == "word" else list("".join(f"{word} " for word in words))
        self._session.read(parts[self._session.source_read :], tail="" if final else " ".join(tail))
        if final:
            self._session.finish()
            return self._ended(update, self._session.text)
        # A prefix counts as committed before the session has come to it.
        session, before = self._session, self._committed
        text = session.text if session.text.startswith(before) else before
        return self._translation(update, text, final=False)

    def _ended(self, update: Message, text: str) -> dict[str, Any]:
        answer = self._translation(update, text, final=True, forced_final=not update.is_final)
        self._begin()
        self._number = None
        return answer

    def _translation(self, update: Message, text: str, **end: bool) -> dict[str, Any]:
        session, before = self._session, self._committed
        self._committed = text
        answer = {"type": "translation", "seq": update.seq, "utterance_id": update.utterance_id} | end
        answer |= {"committed_text": text, "committed_delta": text.removeprefix(before)}
        draft = session.joined([*session.words, *session.draft])[len(text) :].strip()
        covered = words_covered(session, self._words) if self._policy.unit == "word" else None
        return answer | {"buffer_text": draft, "covered_source_units": covered}
