"""The result of translating or aligning a text: the text with its alignment, its word links and its drawings.

First, `links_between_pieces` makes links of weights. `Translation` is the result, and `in_units` gives it links between
other units. `decoded` makes translations of the hypotheses of a search.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, partial
from html import escape
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from mt.common.backdrop import Backdrop, Sound
from mt.common.input_files import require_regular
from mt.common.links import Link, positions_of_words, project, weights_between_words
from mt.errors import UserError, counted, unwritten
from mt.search.hypothesis import Hypothesis, Windows, same_values
from mt.step import UNK

if TYPE_CHECKING:
    from mt.data.fields import Raw, Row
    from mt.data.tokenizer import LinkUnit, Tokenizer
    from mt.decoding.translator import Translator
    from mt.plots import Figure

# Links out of attention weights: the only place that makes them.

Extraction = Literal["argmax", "stops"] | float
"""How links are made of weights.

argmax: each target token is linked to the source token with the largest weight. stops: it is linked to the position
where a hard attention stopped. A number: a target word is linked to each source word with at least this share of its
weight."""


def links_between_pieces(windows: Windows, *, stops: bool = False, shift: int = 0) -> set[Link]:
    """Returns links (source position, target position) by attention weights, at most one for each target token.

    stops: links are to where a hard attention stopped, not to the largest weight (`Windows.peaks`).
    shift: how many steps later than it is written a token's weights are taken; at the end, those of the last step.
    """
    positions = windows.stops.tolist() if stops and windows.stops is not None else windows.peaks()
    last = len(positions) - 1
    chosen = (positions[min(step + shift, last)] for step in range(last + 1))
    return {(position, step) for step, position in enumerate(chosen) if position >= 0}


# A decoded text.


class Units(NamedTuple):
    """The words, or characters, that the tokens of both sides belong to; see `Tokenizer.unit_ids`."""

    source: tuple[int | None, ...] = ()
    """[S]: the unit of each source token, None for EOS."""
    target: tuple[int | None, ...] = ()
    """[T]: the unit of each target token."""
    further: Mapping[int, tuple[int, ...]] = {}
    """For target tokens that were replaced by several words, the words after the first."""


class Linking(NamedTuple):
    """How links are made of attention weights."""

    extract: Extraction = "argmax"
    shift: int = 0
    """How many steps later than a token is written its weights are taken."""
    agreed: frozenset[Link] | None = None
    """The links themselves, where two models of opposite directions have agreed on them."""


class Timing(NamedTuple):
    """When a translation was written: of searches that write while they read."""

    delays: tuple[int, ...]
    """[T]: source tokens read before each target token was written."""
    words_read: tuple[int, ...]
    """[T]: the same in source words, of which a whole one is read at a time, or in milliseconds of sound."""
    word_delays: tuple[int, ...]
    """For each word of the text the source words, or milliseconds, read when it was written. By re-translation: when
    it was final."""
    source_words: int
    """The length of the source in words, or milliseconds."""
    updates: tuple[str, ...] | None = None
    """The text that was shown after each part of the source; None unless it was drafted anew."""
    updated: tuple[int, ...] = ()
    """The source words, or milliseconds, that had been read when each of the `updates` was shown."""


class Drawing(NamedTuple):
    """What a drawing of the attention shows beside the weights."""

    chunk_size: int | None = None
    """How many positions, up to where it stopped, a hard attention attended to; None for one, or no fixed number."""
    backdrop: Callable[[], Backdrop | None] | None = None
    """Makes the picture or the sound that the weights are drawn on; None for a text."""


@dataclass(frozen=True, eq=False, repr=False)
class Translation:
    """A decoded text with its alignment. T target and S source tokens, each side's EOS among them."""

    text: str
    score: float
    """The number by which the search ranks: the log-probability over the length penalty."""
    tokens: tuple[str, ...]
    source_tokens: tuple[str, ...]
    windows: Windows
    """The attention of each target token."""
    ids: tuple[int, ...] = ()
    """[T]: the numbers of the target tokens."""
    log_probs: tuple[float, ...] = ()
    """[T]: the log-probabilities of the target tokens."""
    cut: bool = False
    """Whether the limit of length (`search.max_ratio`, `search.max_length`) ended it, so that it may lack a part."""
    find_units: Callable[[], Units] = Units
    """Finds `units` when they are asked for: many callers want the text alone."""
    linking: Linking = field(default_factory=Linking)
    timing: Timing | None = None
    """None unless the search wrote while it read."""
    replacements: Mapping[int, str] = field(default_factory=dict)
    """The texts that replace some target tokens, unknown words and placeholders, with the blanks around them."""
    drawing: Drawing = field(default_factory=Drawing)

    def __eq__(self, other: object) -> bool:
        """Compares what was decoded, not what alignments are drawn on."""
        if not isinstance(other, Translation):
            return NotImplemented
        names = [described.name for described in fields(self) if described.name not in ("find_units", "drawing")]
        # Units are compared by value: two functions that find the same units are not equal.
        names.append("units")
        return same_values([getattr(self, name) for name in names], [getattr(other, name) for name in names])

    def __hash__(self) -> int:
        return hash((self.text, self.score, self.ids))

    def __getstate__(self) -> dict[str, Any]:
        """Returns what is pickled: the units themselves, since the function that finds them holds a tokenizer."""
        return vars(self) | {"find_units": partial(Units, *self.units)}

    @cached_property
    def units(self) -> Units:
        """The words that tokens belong to."""
        return self.find_units()

    @cached_property
    def alignment(self) -> np.ndarray:
        """[T, S] float32: the attention weights."""
        return self.windows.dense(len(self.source_tokens))

    @property
    def stops(self) -> np.ndarray | None:
        """[T] int64: where a hard attention stopped, -1 where it selected nothing; None where it is soft."""
        return self.windows.stops

    @property
    def links(self) -> set[Link]:
        """The (source word, target word) pairs, counted from 0, as `linking` says.
        `mt.common.links.to_pharaoh` writes them as text."""
        # Links between tokens, unless two models have agreed on links of words.
        extract, shift, agreed = self.linking
        if agreed is not None:
            return {*agreed}
        if not isinstance(extract, str) and self.tokens:
            links = self._links_above(extract, shift)
        else:
            links = links_between_pieces(self.windows, stops=extract == "stops", shift=shift)
        # Words that stand together in the place of one token share its links.
        further = {
            (source, unit)
            for position, step in links
            if (source := self.units.source[position]) is not None
            for unit in self.units.further.get(step, ())
        }
        return project(links, self.units.source, self.units.target) | further

    @property
    def replaced_unknown(self) -> int:
        """How many of its unknown words were replaced; see `mt.decoding.unknown_words`."""
        return sum(self.ids[place] == UNK for place in self.replacements)

    def _links_above(self, share: float, shift: int) -> set[Link]:
        """Returns links between tokens: of each target word with all source words that have at least this share of its
        weight."""
        steps = np.minimum(np.arange(len(self.tokens)) + shift, len(self.tokens) - 1)
        weights = weights_between_words(self.alignment[steps], self.units.source, self.units.target)
        sources = positions_of_words(self.units.source)
        targets = positions_of_words(self.units.target)
        # Each link of words becomes links of all their tokens, which `links` joins to words again.
        pairs = np.argwhere(weights >= share).tolist()
        return {link for target, source in pairs for link in product(sources[source], targets[target])}

    def figure(
        self,
        title: str | None = None,
        boundaries: Sequence[float] = (),
        *,
        words: bool = False,
        gold: Collection[Link] | None = None,
        known: Collection[int] | None = None,
    ) -> Figure:
        """Draws the alignment as a heatmap, or over a picture as a panel for each token. After online decoding it shows
        the path of reads and writes, and under a sound the spectrogram. Both sides need at least one token.

        title: by default the text. boundaries: seconds to mark in a sound, where words are known to end. words: a row
        or panel for each word in place of each token, see `weights_between_words`, without stops, reads and writes,
        which belong to tokens. gold: (source word, target word) links that are known to be right, to compare `links`
        with. known: the target words whose gold links are known; None: all.
        """
        from mt.plots import heatmap  # Not above: most who translate draw nothing, and matplotlib takes a second.

        backdrop = self.drawing.backdrop() if self.drawing.backdrop else None
        if isinstance(backdrop, Sound):
            backdrop = replace(backdrop, boundaries=boundaries)
        # A column for each source token and a row for each target token, or for each word.
        columns = positions_of_words(self.units.source) if words else [[i] for i in range(len(self.source_tokens))]
        rows = positions_of_words(self.units.target) if words else [[i] for i in range(len(self.tokens))]
        marks: dict[str, Any] = {"title": self.text if title is None else title, "backdrop": backdrop}
        if gold is not None:
            found = {link for link in self.links if known is None or link[1] in known}
            marks |= {"gold": self._cells(gold, columns, rows), "found": self._cells(found, columns, rows)}
        # Stops, reads and writes belong to tokens.
        if words:
            weights = weights_between_words(self.alignment, self.units.source, self.units.target)
            sources = [_joined(self.source_tokens, pieces) for pieces in columns]
            return heatmap(weights, sources, [_joined(self.tokens, pieces) for pieces in rows], **marks)
        if self.stops is not None:
            marks |= {"stops": self.stops.tolist(), "chunk_size": self.drawing.chunk_size}
        if self.timing is not None:
            marks["delays"] = list(self.timing.delays)
        return heatmap(self.alignment, self.source_tokens, self.tokens, **marks)

    def _cells(
        self, gold: Collection[Link], columns: Sequence[Sequence[int]], rows: Sequence[Sequence[int]]
    ) -> list[tuple[int, int]]:
        """Returns the cells of a heatmap whose words are linked. columns, rows: the indices of the tokens of each."""
        return [
            (i, j)
            for i, source in enumerate(columns)
            for j, target in enumerate(rows)
            if (self.units.source[source[0]], self.units.target[target[0]]) in gold
        ]

    def plot(self, path: str | Path, *, words: bool = False, gold: Collection[Link] | None = None) -> None:
        """Writes `figure` to a file whose name ends in .png, .pdf or .svg. Raises UserError where there is nothing to
        draw, or the file cannot be written."""
        from mt.plots import save

        if not self.alignment.any():
            raise UserError(
                "there is no alignment to draw: the text is blank, or the model attended to nothing (attention=none)"
            )
        if not isinstance(path, str | Path) or not Path(path).name:
            raise UserError(f"{path!r} names no file: give a path that ends in .png, .pdf or .svg")
        try:
            if os.path.lexists(path):
                require_regular(Path(path))  # a device is no file to replace
            save(self.figure(words=words, gold=gold), Path(path))
        except OSError as error:
            raise UserError(unwritten(path, error, "give a file in an existing folder")) from None

    def _repr_html_(self) -> str:
        """Returns the page of this translation in a frame for notebooks: a word that is pointed at shows its links. The
        scripts and styles of the page stay within the frame."""
        from mt.decoding.record import plain_record  # Not above: it knows this class.
        from mt.explorer import page

        text = page("Alignment", [{"name": "", "records": [plain_record(self)]}])
        height = 530 + 30 * len(self.tokens)  # pixels: the surroundings of the drawing, and its rows
        return (
            f'<iframe title="alignment" sandbox="allow-scripts allow-downloads" srcdoc="{escape(text)}" '
            f'width="100%" height="{height}" frameborder="0"></iframe>'
        )

    def __repr__(self) -> str:
        tokens, source = (counted(len(side), "token") for side in (self.tokens, self.source_tokens))
        return f"Translation({self.text!r}, score {self.score:.2f}, {tokens} from {source})"


def _joined(tokens: Sequence[str], indices: Sequence[int]) -> str:
    """Returns a word out of its pieces, without the marks where words begin."""
    pieces = "".join(tokens[index] for index in indices)
    return pieces.replace("▁", "") or pieces


# Links between other units: words of models that read or write characters, or characters of others.


def in_units(translator: Translator, translation: Translation, source: Raw, unit: LinkUnit) -> Translation:
    """Returns a translation with links between words or characters, whichever the links of the model join."""
    if translator.link_units == (unit, unit) or not translation.tokens:
        return translation
    target = translator.tokenizers.target
    length = len(translation.source_tokens)
    of_source = partial(translator.field.units, length, translator.tokenizers.source, unit, source)
    written = written_fields(target, translation.ids, unit, translation.replacements, of_source)
    # Links that two models have agreed on are of the units before.
    linking = translation.linking._replace(agreed=None)
    return replace(translation, linking=linking, find_units=written["find_units"])


# Translations out of hypotheses.


def decoded(
    translator: Translator, row: Row, hypotheses: Iterable[Hypothesis], source: Raw | None
) -> list[Translation]:
    """Returns the translations that hypotheses of one source stand for, with placeholders in place of symbols.

    row: the encoded source. source: what the row was made of, where that is known.
    """
    tokenizers = translator.tokenizers
    target = tokenizers.target
    source_unit, unit = translator.link_units
    # The labels and units of the source.
    (encoded_length,) = translator.network.encoded_lengths([translator.field.length(row)])
    read = translator.field.describe(row, encoded_length, tokenizers.source, source_unit, source)
    translations = []
    for hypothesis in hypotheses:
        tokens = hypothesis.tokens
        placeholders = target.restored(tokens, str(source)) if target.placeholders and source is not None else {}
        written = written_fields(target, tokens, unit, placeholders, read.units)
        # When it was written, where it was decoded online.
        if hypothesis.delays is not None:
            from mt.decoding.delays import timing  # Not above: it imports `Timing` from here.

            written["timing"] = timing(target, read, hypothesis, translator.network)
        translation = Translation(
            **written,
            score=hypothesis.score,
            tokens=tuple(target.pieces(tokens)),
            source_tokens=tuple(read.labels),
            windows=hypothesis.windows,
            ids=tuple(tokens),
            log_probs=hypothesis.log_probs,
            cut=hypothesis.cut,
            drawing=Drawing(translator.network.chunk_size, read.backdrop),
        )
        translations.append(translation)
    return translations


def written_fields(
    target: Tokenizer,
    ids: Sequence[int],
    unit: LinkUnit,
    replacements: Mapping[int, str],
    of_source: Callable[[], Sequence[int | None]],
) -> dict[str, Any]:
    """Returns the fields of a translation that are about its text.

    replacements: texts in place of the tokens at some positions. of_source: finds the units of the source.
    """

    def find_units() -> Units:
        of_target = target.decoded_unit_ids(ids, unit, replacements)
        further = target.further_unit_ids(ids, unit, replacements)
        return Units(tuple(of_source()), tuple(of_target), further)

    return {"text": target.decode(ids, replacements), "find_units": find_units, "replacements": replacements}
