"""Where words begin and end in a stream: what is read is cut into tokens, and tokens that are written are joined."""

from mt.data.tokenizer import EOS, Tokenizer, Unit


class TargetWords:
    """Joins tokens to words, or to characters, and gives out each as soon as no later token can change it.

    With a blank between words, and nothing between characters, they are what `Tokenizer.decode` makes of all tokens.
    """

    def __init__(self, tokenizer: Tokenizer, unit: Unit) -> None:
        self._tokenizer = tokenizer
        self._unit = unit
        self._ids: list[int] = []  # of the last word, which may go on
        self._blank = self._begun = False  # whether a blank is due before the next character, and whether there is any

    def add(self, token: int) -> list[str]:
        """Returns the words that are complete with this token: those before one that begins a word; with EOS all."""
        if token == EOS:
            return self.end()
        begins = self._tokenizer.begins_word(token, self._ids[-1] if self._ids else None)
        if self._unit == "char":
            return self._character(token, begins)
        words = self.end() if begins else []
        self._ids.append(token)
        return words

    def end(self) -> list[str]:
        """Returns the words that are complete if nothing follows."""
        ids, self._ids = self._ids, []
        return self._tokenizer.decode(ids).split() if self._unit == "word" else []

    def _character(self, token: int, begins: bool) -> list[str]:
        """Returns a character with the blank before it."""
        self._ids, self._blank = [token], self._blank or (begins and self._begun)
        text = self._tokenizer.decode([token])
        if not text:
            return []
        blank, self._blank, self._begun = " " if self._blank else "", False, True
        return [blank + text]
