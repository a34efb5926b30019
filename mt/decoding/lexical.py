"""Encodes requests: what is asked of a translation becomes constraints on tokens, for a search. Needs no torch."""

import functools
import re
from collections.abc import Callable, Iterable, Sequence
from weakref import WeakKeyDictionary

import numpy as np

from mt.common.options import as_written
from mt.constraints.phrases import Form, Phrases
from mt.constraints.processor import ConstraintProcessor, TokenConstraints, nothing_found
from mt.constraints.spelling import NO_TOKENS, Avoided, Prefix, Spelling
from mt.constraints.terms import NO_TERM, SourceTerm, Target, Terms
from mt.data.fields import Raw
from mt.data.glossary import Entry, Glossary
from mt.data.tokenizer import BOS, EOS, PAD, UNK, Tokenizer, Unit, units
from mt.data.words import letters, term_words
from mt.decoding.network import DecodedBatch, Part
from mt.decoding.request import Request
from mt.decoding.term_choice import write_terms
from mt.decoding.translator import Translator
from mt.errors import UserError, shown
from mt.search.config import BeamConfig, GreedyConfig, SampleConfig, SearchConfig
from mt.search.hypothesis import Hypothesis
from mt.search.processor import Processor
from mt.text_io import composed, is_blank

_BYTE = re.compile("<0x[0-9A-F]{2}>")
"""A piece that is a byte of a character."""
_OPEN = 30
"""The last characters of a prefix that may be written by any tokens. All before them is written as the tokenizer cuts
it."""


def spelling_of(tokenizer: Tokenizer) -> Spelling:
    """Returns the texts of the tokens of a tokenizer."""
    pieces = tokenizer.pieces(range(len(tokenizer)))
    # A byte alone is no text, so it is written like an unknown piece.
    # SentencePiece writes an unknown piece as this sign between blanks.
    surfaces = [" ⁇ " if _BYTE.fullmatch(piece) else piece.replace("▁", " ") for piece in pieces]
    surfaces[UNK] = " ⁇ "
    for token in (PAD, BOS, EOS):
        surfaces[token] = ""
    return Spelling(surfaces, letters("".join(surfaces)))


def require_steerable(config: SearchConfig, asked: TokenConstraints, text: Raw | None = None) -> None:
    """Raises UserError where a search cannot do what is asked of a sentence. text: the source, where it is known: a
    blank one is not searched at all."""
    if asked.phrases is not None and not isinstance(config, GreedyConfig | BeamConfig):
        raise UserError(
            f"{asked.name} asks for phrases, for which {as_written('search', config.name)} has no room: choose "
            f"{as_written('search', 'beam')}, or ask for a prefix or phrases to avoid alone"
        )
    size = config.no_repeat_ngram_size
    if asked.phrases is not None and size and asked.phrases.repeats(size):
        raise UserError(
            f"{asked.name} asks for tokens in a row twice, which "
            f"{as_written('search.no_repeat_ngram_size', size)} forbids: leave out the one or the other"
        )
    if asked.phrases is not None and isinstance(text, str) and is_blank(text):
        raise UserError(
            f"{asked.name} is blank, so that its translation is empty, and asks for words: leave out what it asks for"
        )


class ConstrainedPart(Part):
    """The constraints on all rows: they add a processor to the search, and write terms into its hypotheses."""

    def __init__(self, asked: Sequence[TokenConstraints | None]) -> None:
        self._asked = asked

    def processors(self, indices: np.ndarray, limits: Sequence[int]) -> list[Processor]:
        asked = [self._asked[i] for i in indices]
        return [ConstraintProcessor(asked, limits)] if any(asked) else []

    def revised(self, batch: DecodedBatch) -> Sequence[Sequence[Hypothesis]]:
        asked = [self._asked[i] for i in batch.indices]
        for of_sentence, hypotheses in zip(asked, batch.hypotheses, strict=True):
            if of_sentence is not None and not hypotheses:
                raise nothing_found(of_sentence.name)
        if any(one is not None and one.terms is not None for one in asked):
            return write_terms(batch, asked)
        return batch.hypotheses


class ConstraintEncoder:
    """Encodes requests as constraints on tokens, for one tokenizer of targets."""

    def __init__(self, tokenizer: Tokenizer, source: Tokenizer | None = None) -> None:
        """source: the tokenizer of sources; None where they are no texts."""
        self._tokenizer = tokenizer
        self._source = source
        self.spelling = spelling_of(tokenizer)
        self._blank = " " if tokenizer.of_words or tokenizer.marks_beginnings else ""
        """The blank with which a word begins, where tokens write one."""
        # Many lines ask for the same phrases, and avoid the same ones.
        self._cut: Callable[[str], list[int]] = functools.lru_cache(1 << 14)(lambda text: tokenizer.encode([text])[0])
        self._avoided: Callable[[tuple[str, ...]], Avoided | None] = functools.lru_cache(256)(self._avoiding)
        self.source_term: Callable[[Entry], SourceTerm] = functools.cache(self._of_entry)
        """Returns the targets of an entry of a glossary. Raises UserError where the vocabulary cannot write one."""
        self._written_glossary: Glossary | None = None
        """The last glossary of which all targets were checked; most often all texts have the same glossary."""

    def encoded(self, request: Request, text: str = "", *, timed: bool = False) -> TokenConstraints | None:
        """Returns a request as constraints on tokens; None where it asks for nothing.

        text: the source, in which terms of the glossary are looked for. timed: whether delays count when each of its
        words is known to belong to a term or to none. Raises UserError for what is impossible: the vocabulary cannot
        write it, or it is wanted and forbidden at once.
        """
        # Terms of the glossary that stand in this text.
        name, asked, glossary, tokens, stream = request
        terms = None
        if glossary is not None and glossary.entries:
            found = self.source_terms(glossary)
            found.read_whole(composed(text), timed=timed)
            terms = found if found.certain else None
        if not (asked.constraints or asked.avoid or asked.prefix or tokens or terms):
            return None
        # Some form of each phrase must be allowed by the phrases to avoid.
        avoided = self._avoided(tuple(self._written(phrase, name, "avoid") for phrase in asked.avoid))
        phrases: list[list[Form]] = []
        for phrase in asked.constraints:
            surface_forms = (phrase,) if isinstance(phrase, str) else phrase.any_of
            forms = [form for surface_form in surface_forms for form in self._forms(surface_form, name)]
            allowed = [form for form in forms if avoided is None or avoided.allows(form.tokens)]
            if not allowed:
                raise _at_once(name, surface_forms[0])
            phrases.append(allowed)
        # So must the prefix, and a target of each term.
        prefix = self._prefix(asked.prefix, name) if asked.prefix else None
        if prefix is not None and avoided is not None and not avoided.allows_prefix(prefix):
            raise _at_once(name, asked.prefix)
        _refuse_avoided(name, () if terms is None else terms.terms, avoided)
        # A prefix of tokens, from the explorer, replaces one of characters.
        if tokens:
            count = len(self._tokenizer)
            if unknown := [token for token in tokens if not 0 <= token < count]:
                raise UserError(f"the prefix has the token {unknown[0]}, and there are {count}: give numbers of tokens")
            prefix = self._begun(tokens, asked.prefix, ended=stream == "word")
        return TokenConstraints(
            name,
            self.spelling,
            Phrases(phrases, self.spelling) if phrases else None,
            avoided,
            prefix,
            terms,
            waits=stream is not None,
        )

    def streamed(
        self, request: Request, unit: Unit, search: SearchConfig
    ) -> "tuple[TokenConstraints | None, SourceTerms | None]":
        """Returns the constraints on a stream, and the search for terms in its source. Raises UserError as `encoded`,
        for a glossary where the stream reads characters, and for what the search cannot do. A term that is to be
        avoided is refused, whether it will come or not."""
        # Words that are asked for are known now, and terms only when the source arrives.
        tokens = self.encoded(request._replace(glossary=None))
        source = None
        if request.glossary is not None:
            if unit == "char":
                raise UserError(
                    "a glossary is of words, and this stream reads characters: leave it out, or stream words"
                )
            source = self.source_terms(request.glossary)
            tokens = TokenConstraints(request.name, self.spelling) if tokens is None else tokens
            _refuse_avoided(request.name, map(self.source_term, request.glossary.entries), tokens.avoided)
            tokens = tokens._replace(terms=source)
        if tokens is not None:
            require_steerable(search, tokens)
        return tokens, source

    def source_terms(self, glossary: Glossary) -> "SourceTerms":
        """Begins the search for terms in a source. Raises UserError where the source is no text, or the vocabulary
        cannot write some target of the glossary."""
        if self._source is None:
            raise UserError(
                "a glossary is of terms that the attention reads in a text, and this model reads none: leave the "
                "glossary out"
            )
        # All targets are checked, so that an impossible one is refused whether its term occurs or not.
        if glossary is not self._written_glossary:
            for entry in glossary.entries:
                self.source_term(entry)
            self._written_glossary = glossary
        return SourceTerms(glossary, self._source, self)

    def _of_entry(self, entry: Entry) -> SourceTerm:
        """Returns the targets of an entry of a glossary, see `source_term`."""
        targets = []
        for text in entry.targets:
            # A target has three forms: within a text, at its beginning, and after a character that is no blank.
            tokens = tuple(self._ids(self._written(text, entry.name, "targets"), entry.name))
            # Below, the small letter stays where the vocabulary lacks the capital one.
            capital = self._tokenizer.encode([text[:1].upper() + text[1:]])[0][:-1]
            bare = next((form.tokens for form in self._forms(text, entry.name) if form.bare), None)
            words = tuple(term_words(self._tokenizer.decode(tokens)))
            targets.append(Target(words, tokens, tokens if UNK in capital else tuple(capital), bare))
        return SourceTerm(tuple(targets))

    def _avoiding(self, phrases: tuple[str, ...]) -> Avoided | None:
        """Returns the automaton of phrases to avoid, without those that the vocabulary cannot write."""
        possible = [self._tokenizer.decode(ids) for ids in self._tokenizer.encode(phrases) if UNK not in ids]
        return Avoided(possible, self.spelling) if possible else None

    def _written(self, phrase: str, name: str, key: str) -> str:
        """Returns a phrase in composed characters. Raises UserError for a blank one."""
        if is_blank(phrase):
            raise UserError(f"{name} has a blank phrase in {key}: write some words, or leave it out")
        return composed(phrase)

    def _forms(self, phrase: str, name: str) -> list[Form]:
        """Returns the tokens of a phrase where it begins a word, and where it follows a character that is no letter."""
        first, *others = self._ids(self._written(phrase, name, "constraints"), name)
        forms = [Form((first, *others))]
        # The bare form begins with the same text without its blank, or leaves out a token that is only a blank.
        surface = self.spelling.surfaces[first]
        bare = self.spelling.exactly(surface.lstrip())[:1]
        if surface.startswith(" ") and (bare or surface == " "):
            forms.append(Form((*bare, *others), bare=True))
        return forms

    def _ids(self, text: str, name: str) -> list[int]:
        """Returns the ids of a text, without EOS."""
        ids = self._cut(text)[:-1]
        if UNK in ids or (text and not ids):
            unknown = [character for character in text if UNK in self._tokenizer.encode_word(character)]
            raise UserError(
                f'{name} asks for "{shown(text)}", and the vocabulary of the model cannot write '
                f"{shown((unknown or [text])[0])}: write it otherwise, or leave it out"
            )
        return ids

    def _begun(self, tokens: Sequence[int], text: str, *, ended: bool) -> Prefix:
        """Returns the automaton of a prefix of tokens, and of what a longer text has behind them."""
        # The tokens are forced, and what the text has beyond them may be cut in any way.
        written = self._tokenizer.decode(tokens)
        text = composed(text) + (self._blank if text[-1:].isspace() else "")
        rest = text[len(written) :] if text.startswith(written) else ""
        return Prefix(tokens, rest, self.spelling, self._continuing if ended and not rest else NO_TOKENS)

    @functools.cached_property
    def _continuing(self) -> np.ndarray:
        """The tokens that go on with the word before them."""
        if not self._blank:
            return NO_TOKENS
        begins = (self._tokenizer.begins_word(token, None) for token in range(len(self._tokenizer)))
        return np.array([token for token, begin in enumerate(begins) if not (begin or token == EOS)], np.int64)

    def _prefix(self, text: str, name: str) -> Prefix:
        """Returns the automaton of a prefix: first the tokens of its whole words, then its last word in any tokens."""
        tokenizer = self._tokenizer
        *words, last = composed(text).split(" ")
        # `composed` takes the blank at the end away, so that the text itself is asked for it.
        if not last or text[-1].isspace():
            return Prefix(self._ids(composed(text), name), self._blank if last else "", self.spelling)
        # The whole words are cut as the model is used to; only the last word may go on.
        ids = self._ids(" ".join(words), name)
        ids_of_last = tokenizer.encode_word(last)
        rest = self._blank + (last if UNK in ids_of_last else tokenizer.decode(ids_of_last))
        for token in ids_of_last:
            # Of a long word, such as a sentence without blanks, only the last characters are in any tokens.
            if len(rest) <= _OPEN or UNK in ids_of_last:
                break
            ids.append(token)
            rest = rest[len(self.spelling.surfaces[token]) :]
        prefix = Prefix(ids, rest, self.spelling)
        options = prefix.options(len(ids))
        possible = options is None or len(options) > 0
        return prefix if possible else Prefix(self._ids(composed(text), name), "", self.spelling)


_ENCODERS: WeakKeyDictionary[Translator, ConstraintEncoder] = WeakKeyDictionary()


def encoder_of(translator: Translator) -> ConstraintEncoder:
    """Returns the encoder of requests to a model, which is made once."""
    if translator not in _ENCODERS:
        source, target, *_ = translator.tokenizers
        _ENCODERS[translator] = ConstraintEncoder(target, source if translator.field.written else None)
    return _ENCODERS[translator]


def parts_of(
    translator: Translator,
    search: SearchConfig,
    requests: Sequence[Request] | None,
    texts: Sequence[Raw] | None,
    indices: Sequence[int],
    others: Sequence[Part],
) -> list[Part]:
    """Returns the parts of the decoding of some sources, in their order.

    requests, texts: of all sources. indices: of those that are decoded. others: further parts, which come behind the
    constraints, and before minimum Bayes risk, which ranks what was found. Raises UserError for what is impossible,
    for what this search cannot do, and for phrases that must appear in that of a blank text.
    """
    parts = list(others)
    if requests is not None and texts is not None:
        # Requests are encoded before anything is searched, so that an impossible one is refused at once.
        encoder = encoder_of(translator)
        pairs = zip(requests, texts, strict=True)
        found = [encoder.encoded(request, str(text), timed=search.extends) for request, text in pairs]
        for asked, text in zip(found, texts, strict=True):
            if asked is not None:
                require_steerable(search, asked, text)
        parts.insert(0, ConstrainedPart([found[i] for i in indices]))
    if isinstance(search, SampleConfig | BeamConfig) and search.utility is not None:
        from mt.decoding.minimum_bayes_risk import MinimumBayesRisk  # Not above: it needs metrics.

        parts.append(MinimumBayesRisk(search, translator))
    return parts


class SourceTerms(Terms):
    """Finds the terms of a glossary in a source, of which it reads a part between two blanks at a time."""

    def __init__(self, glossary: Glossary, source: Tokenizer, target: ConstraintEncoder) -> None:
        super().__init__(target.spelling)
        self._glossary = glossary
        self._source = source
        self._target = target
        self._words: list[str] = []
        self._words_of_tokens: list[int] = []
        self._certain = 0
        """The first word that may still become part of a term."""

    def read_whole(self, text: str, *, timed: bool) -> None:
        """Reads a whole source, which is cut into tokens only where it has terms, or is timed."""
        if timed or self._glossary.terms(units(text, "term"))[0]:
            for part in text.split():
                self.read(part)
            self.end()

    def read(self, part: str) -> None:
        """Reads the characters between two blanks."""
        count = len(self._words)
        self._words += units(part, "term")
        # A token of no word, as a blank alone, counts with the first word of its part.
        self._words_of_tokens += [count + (word or 0) for word in self._source.unit_ids(part, "term")[:-1]]
        self._find(complete=False)

    def end(self) -> None:
        """Ends the source."""
        self._words_of_tokens.append(len(self._words))
        self._find(complete=True)

    def _find(self, *, complete: bool) -> None:
        """Finds terms among the words that have come. complete: whether the source has ended."""
        # The terms of words that are certain now, and the tokens of these words.
        terms, self._certain = self._glossary.terms(self._words, self._certain, complete=complete)
        first = len(self.certain)
        certain = [word for word in self._words_of_tokens[first:] if complete or word < self._certain]
        owners = {
            word: number
            for number, term in enumerate(terms, start=len(self.terms))
            for word in range(term.begin, term.end)
        }
        self.terms += [self._target.source_term(term.entry)._replace(words=term.end - term.begin) for term in terms]
        numbers = np.array([owners.get(word, NO_TERM) for word in certain], np.int64)
        self.owners = np.concatenate((self.owners, numbers))
        # How many source tokens had been read when it became certain to which term each of these belongs.
        self.certain += [len(self._words_of_tokens)] * len(certain)


def _refuse_avoided(name: str, terms: Iterable[SourceTerm], avoided: Avoided | None) -> None:
    """Raises UserError for a term of which each target is to be avoided."""
    for term in terms:
        if avoided is not None and not any(avoided.allows(target.tokens) for target in term.targets):
            raise _at_once(name, " ".join(term.targets[0].words))


def _at_once(name: str, phrase: str) -> UserError:
    return UserError(f'{name} asks for "{shown(phrase)}" and to avoid it at once: leave out the one or the other')
