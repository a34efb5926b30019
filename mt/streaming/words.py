"""Where words begin and end in a stream: what is read is cut into tokens, and tokens that are written are joined."""

from mt.data.tokenizer import EOS, UNK, Tokenizer, Unit


class SourceWords:
    """Cuts words, or the characters of a model of characters, as `Tokenizer.encode` cuts the text that they make, and
    so that nothing that follows could change the cut."""

    def __init__(self, tokenizer: Tokenizer, unit: Unit) -> None:
        self._tokenizer, self._unit = tokenizer, unit
        self._last: int | None = None  # the id before, inside of a word of which characters have come

    def split(self, text: str) -> list[str]:
        """The words of a text, or its characters, among them blanks, which end words."""
        return text.split() if self._unit == "word" else [*text]

    def encode(self, word: str) -> list[int]:
        """The ids of one that `split` gave; none of a blank, nor of an unknown character after another."""
        if self._unit == "word":
            return self._tokenizer.encode_word(word)
        if word.isspace():
            self._last = None
            return []
        first = self._last is None
        ids = self._tokenizer.encode_word(word) if first else self._tokenizer.encode_character(word)
        if ids == [UNK] == [self._last]:  # unknown characters in a row are one token
            return []
        self._last = ids[-1] if ids else self._last
        return ids


class TargetWords:
    """Joins tokens to words, or to characters, and gives out each as soon as no later token can change it.

    With a blank between words, and nothing between characters, they are what `Tokenizer.decode` makes of all tokens.
    """

    def __init__(self, tokenizer: Tokenizer, unit: Unit) -> None:
        self._tokenizer, self._unit = tokenizer, unit
        self._ids: list[int] = []  # of the last word, which may go on
        self._blank = self._begun = False  # whether a blank is due before the next character, and whether there is any

    def add(self, token: int) -> list[str]:
        """The words that are complete with this token: those in front of one that begins a word, and of EOS all."""
        if token == EOS:
            return self.end()
        begins = self._tokenizer.begins_word(token, self._ids[-1] if self._ids else None)
        if self._unit == "char":
            return self._character(token, begins)
        words = self.end() if begins else []
        self._ids.append(token)
        return words

    def end(self) -> list[str]:
        """The words that are complete if nothing follows."""
        ids, self._ids = self._ids, []
        return self._tokenizer.decode(ids).split() if self._unit == "word" else []

    def _character(self, token: int, begins: bool) -> list[str]:
        """A character with the blank before it."""
        self._ids, self._blank = [token], self._blank or (begins and self._begun)
        text = self._tokenizer.decode([token])
        if not text:
            return []
        blank, self._blank, self._begun = " " if self._blank else "", False, True
        return [blank + text]
