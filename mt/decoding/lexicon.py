"""A pronunciation lexicon: phones for each word of a list, from a dictionary, or from a model that reads letters.

First come the three files of a user: words, a dictionary, and a map from the model's phones to those of a voice. Then
`pronounce` asks the model, and `entry_lines` writes the entries of a word. Needs no torch.
"""

import itertools
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple
from unicodedata import normalize

import regex

from mt.common.terminal import Bar
from mt.data.tokenizer import EOS, UNK, Tokenizer
from mt.data.tokenizer.processor import SPACE
from mt.data.words import VARIANT
from mt.decoding.translator import Translator
from mt.errors import UserError, shown
from mt.text_io import composed, input_lines, is_blank

_AT_ONCE = 5_000  # words, so that memory does not grow with the list
_NUMBER = re.compile(r"\d*\.\d+(e-\d+)?|\de-\d+", re.ASCII)
_BLANK_BEFORE_NUMBER = re.compile(r" +(?=(?:0?\.\d+|1\.0+)$)", re.ASCII)
"""Where Kaldi's own lexiconp.txt parts a word from its probability, up to 1; a tab comes behind that."""
_SCORED = re.compile(rf"(\S+ +|[^\t]+\t)({_NUMBER.pattern})\s", re.ASCII)
_ONE = re.compile(r"^(\S+ +1(?=\s)|[^\t]+\t1(?=\t))", re.ASCII)
"""A word and its probability as Kaldi's `dict_dir_add_pronprobs.sh` writes a 1; in X-SAMPA it is a phone."""
_JOINED = re.compile(r'^/.*/$|^".*"$|\S,')
"""Pronunciations between slashes, as of ipa-dict, between quotation marks, as of a spreadsheet, or with commas between,
as of CharsiuG2P. A phone may begin with a comma, as a mark of stress, or be one."""
_ALIKE = re.compile(r" #[1-9]\d*$", re.ASCII)
"""Kaldi's mark of words that sound alike. `#0` is a phone of Chinese voices of sherpa-onnx."""
_ACCENTS = re.compile("[\u0300-\u036f]")  # of alphabets; what other scripts combine are letters
_LEAST = 0.0001
"""The smallest probability that is written, since Kaldi takes none of 0."""

Phones = tuple[str, ...]
PhoneMap = Mapping[str, Phones]
"""The phones of a voice for each phone of the model."""


class Pronunciation(NamedTuple):
    phones: Phones
    probability: float
    """Its share of the probability of all pronunciations of the word that were found."""


# The files.


def read_words(path: Path) -> dict[str, int]:
    """Returns the words of a list, one a line, each with the number of its first line. Blank lines are skipped.

    path: `-` is standard input. Raises UserError where a line has a tab, or there is no word.
    """
    words: dict[str, int] = {}
    for number, line in _lines(path):
        if "\t" in line:
            raise UserError(f"{path}, line {number} has a tab ({shown(line, 60)}): write one word a line")
        words.setdefault(" ".join(line.split()), number)
    if not words:
        raise UserError(f"{path} has no word: write one word a line")
    return words


def read_dictionary(path: Path, phone_map: PhoneMap | None = None) -> dict[str, list[Pronunciation]]:
    """Returns the pronunciations of a dictionary. A line has a word, a tab or a blank, and phones between blanks; or
    the form of `entry_lines`, of CMUdict or of MFA, with four numbers. Several lines of a word are several
    pronunciations, as probable as their first number says, or equally.

    phone_map: that of the lexicon, whose voice the phones are of. Raises UserError where a line has no phones, or a
    phone that the map changes.
    """
    entries: dict[str, dict[Phones, float]] = {}
    of_voice = {phone for phones in (phone_map or {}).values() for phone in phones}
    lines = [*_lines(path)]
    # A phone 1 does not begin each word.
    scored = all(_SCORED.match(line) or _ONE.match(line) for _, line in lines)
    for number, line in lines:
        if line.startswith(";;;"):  # CMUdict's comments
            continue
        # A word may hold blanks only where a tab or :: parts it from its phones.
        mark = next((mark for mark in ("\t", " :: ") if mark in line), " ")
        line = _ONE.sub(r"\g<0>.0", line) if scored else line
        word, _, rest = line.strip().partition(mark)
        word, *first = _BLANK_BEFORE_NUMBER.split(word)
        rest = _ALIKE.sub("", rest)
        if mark == " ":  # as in CMUdict with its notes; after a tab # may be a phone
            rest = rest.partition(" # ")[0]
        phones = (*first, *rest.split())
        numbers = [*itertools.takewhile(_NUMBER.fullmatch, phones)]
        phones = phones[len(numbers) :]
        weight = float(numbers[0]) if numbers else 1.0
        if not phones or not word or not 0 < weight <= 1 or _JOINED.search(" ".join(phones)):
            raise UserError(
                f"{path}, line {number} is no entry of a lexicon ({shown(line, 60)}): write a word, a tab or a blank, "
                "a probability from 0 to 1 or none, and its phones between blanks, without slashes, commas or "
                "quotation marks around them (docs/tutorials/pronunciation.md has commands)"
            )
        for phone in phones:
            # A phone that the voice has as well may be meant as the voice's.
            if phone_map and phone in phone_map and phone not in of_voice:
                raise UserError(
                    f"{path}, line {number} has {shown(phone)}, a phone of the model, which --map changes to "
                    f"{' '.join(phone_map[phone]) or 'nothing'}: write the dictionary in the phones of the voice"
                )
        entries.setdefault(composed(VARIANT.sub("", word)), {})[phones] = weight
    return {word: _normalised(weights) for word, weights in entries.items()}


def read_map(path: Path, translator: Translator) -> PhoneMap:
    """Returns the phones of a voice for each phone of the model. A line has a phone of the model, and those of the
    voice, with blanks or tabs between; none for a phone that is left out.

    Raises UserError where a phone comes twice, a phone of the model is missing, or the model writes no whole phones.
    """
    target = translator.tokenizers.target
    if not target.of_words:
        raise UserError(
            "--map is of whole phones, and this run writes pieces of words: train with "
            "dataset.tokenizer.target.model_type=blanks, or leave it out"
        )
    phone_map: dict[str, Phones] = {}
    for number, line in _lines(path):
        phone, *of_voice = line.split()
        if composed(phone) in phone_map:
            raise UserError(f"{path}, line {number} maps {shown(phone)} again: give each phone one line")
        phone_map[composed(phone)] = tuple(of_voice)
    # A line without phones of the voice drops a phone on purpose; a phone without a line was forgotten.
    if missing := [phone for phone in model_phones(target) if phone not in phone_map]:
        raise UserError(
            f"{path} has no line for {shown(', '.join(missing), 200)}, which the model writes: add what the voice "
            "has, or the phone alone to leave it out"
        )
    return phone_map


def model_phones(target: Tokenizer) -> list[str]:
    """Returns the phones that a model writes; of one that writes pieces of words, these."""
    return [piece.removeprefix(SPACE) for piece in target.pieces(range(EOS + 1, len(target)))]


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yields the lines of a file or pipe that are not blank, with their numbers."""
    return ((number, line) for number, line in enumerate(input_lines(path), start=1) if not is_blank(line))


# What the model writes.


def readable(source: Tokenizer, words: Sequence[str]) -> list[str]:
    """Returns each word as a model can best read it: as it is spelt, in small letters, or without punctuation and
    invisible marks too, or without accents of letters that the model has never seen, whichever has the fewest of
    these."""
    small = [word.lower() for word in words]
    # Nobody sees marks of Cf: soft hyphens, joiners, and marks of direction.
    bare = [regex.sub(r"[\p{P}\p{Cf}]", "", word) or word for word in small]
    lost = dict(zip(small, unseen(source, small), strict=True))
    # The accent alone may be new, on a letter that the model knows without it.
    accents = {word: _ACCENTS.findall(normalize("NFD", "".join(letters))) for word, letters in lost.items()}
    plain = [normalize("NFD", word).translate(dict.fromkeys(map(ord, accents[word]))) for word in small]
    others = [*words, *bare, *plain]
    lost |= zip(others, unseen(source, others), strict=True)
    return [min(forms, key=lambda form: len(lost[form])) for forms in zip(words, small, bare, plain, strict=True)]


def unseen(source: Tokenizer, words: Sequence[str]) -> list[set[str]]:
    """Returns the letters of each word that a model has never seen."""
    return [
        {*composed("".join(itertools.compress(source.split(word), (i == UNK for i in row))))} if UNK in row else set()
        for word, row in zip(words, source.encode(words), strict=True)
    ]


def pronounce(
    translator: Translator,
    words: Sequence[str],
    n: int = 1,
    *,
    threshold: float = 0.0,
    phone_map: PhoneMap | None = None,
    progress: bool = False,
) -> Iterator[list[Pronunciation]]:
    """Yields at most `n` pronunciations of each word, most probable first; none where the model finds none without an
    unknown phone.

    threshold: the least probability, but the first stays. phone_map: those that it makes alike are one.
    """
    with Bar("pronounce", len(words), "words", shown=progress) as bar:
        for start in range(0, len(words), _AT_ONCE):
            chunk = words[start : start + _AT_ONCE]
            for found in translator.n_best(chunk, n):
                hypotheses = [one for one in found if UNK not in one.ids and one.text]
                best = max((sum(one.log_probs) for one in hypotheses), default=0.0)
                # Probabilities are relative to the best, since those of long words could underflow.
                weights: dict[Phones, float] = {}
                for one in hypotheses:
                    phones = tuple(one.text.split())
                    if phone_map:
                        phones = tuple(new for phone in phones for new in phone_map[phone])
                    if phones:
                        # The map may make pronunciations alike, whose probabilities are then summed.
                        weights[phones] = weights.get(phones, 0.0) + math.exp(sum(one.log_probs) - best)
                pronunciations = _normalised(weights)
                yield [one for i, one in enumerate(pronunciations) if i == 0 or one.probability >= threshold]
            bar.update(len(chunk))


def _normalised(weights: Mapping[Phones, float]) -> list[Pronunciation]:
    """Returns pronunciations, most probable first, whose probabilities sum to 1."""
    total = sum(weights.values())
    ordered = sorted(weights, key=weights.__getitem__, reverse=True)  # stable
    return [Pronunciation(phones, weights[phones] / total) for phones in ordered]


def entry_lines(word: str, pronunciations: Sequence[Pronunciation], *, probabilities: bool) -> list[str]:
    """Returns a line for each pronunciation: `word p1 p2`, as sherpa-onnx and Kaldi read it, with `::` before the
    phones of a word with blanks, which sherpa-onnx alone reads. probabilities: `word 0.9 p1 p2`, as Kaldi's
    lexiconp.txt."""
    mark = " ::" if " " in word else ""
    return [
        " ".join([f"{word}{mark}", *([f"{max(probability, _LEAST):.4f}"] if probabilities else []), *phones])
        for phones, probability in pronunciations
    ]
