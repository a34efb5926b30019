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
from mt.errors import UserError, unwritten
from mt.search.hypothesis import Hypothesis, Windows, same_values
from mt.search.online import OnlineHypothesis
from mt.step import UNK
from mt.text_io import normalize

if TYPE_CHECKING:
    from mt.data.fields import Raw, Row
    from mt.data.tokenizer import LinkUnit, Tokenizer
    from mt.decoding.translator import Translator
    from mt.plots import Figure

# Links out of attention weights: the only place that makes them.

Extraction = Literal["argmax", "stops"] | float
"""How links are made of weights.

argmax: of a target token, to the source token with the largest weight. stops: to where a hard attention stopped.
A number: of a target word, to each source word with at least this share of its weight."""


def links_between_pieces(windows: Windows, *, stops: bool = False, shift: int = 0) -> set[Link]:
    """Returns the links (source position, target position) that weights stand for, at most one for each target token.

    stops: links are to where a hard attention stopped, not to the largest weight (`Windows.peaks`).
    shift: how many steps later than it is written a token's weights are taken; at the end, those of the last step.

    Raises ValueError for the stops of a soft attention.
    """
    if stops and windows.stops is None:
        raise ValueError("a soft attention has no stops")
    positions = windows.stops.tolist() if stops and windows.stops is not None else windows.peaks()
    last = len(positions) - 1
    chosen = (positions[min(step + shift, last)] for step in range(last + 1))
    return {(position, step) for step, position in enumerate(chosen) if position >= 0}


# A decoded text.


class Units(NamedTuple):
    """The words, or other units, that the tokens of both sides belong to; see `Tokenizer.unit_ids`."""

    source: tuple[int | None, ...] = ()
    """[S]: the unit of each source token, None for EOS."""
    target: tuple[int | None, ...] = ()
    """[T]: likewise of the target."""
    further: Mapping[int, tuple[int, ...]] = {}
    """For some target tokens further words that stand in their place: of an entry with several words."""


class Linking(NamedTuple):
    """How links are made of attention weights."""

    extract: Extraction = "argmax"
    shift: int = 0
    """How many steps later than a token is written its weights are taken."""
    agreed: frozenset[Link] | None = None
    """The links themselves, where they were made of this model's and those of one of the other direction."""


class Timing(NamedTuple):
    """When a translation was written: of searches that write while they read."""

    delays: tuple[int, ...]
    """[T]: source tokens read before each target token was written."""
    words_read: tuple[int, ...]
    """[T]: the same in source words, of which a whole one is read at a time, or in milliseconds of sound."""
    word_delays: tuple[int, ...]
    """For each word of the text the source words, or milliseconds, read when it was written, or of a re-translation
    when it was final."""
    source_words: int
    """How many of them the source has."""
    updates: tuple[str, ...] | None = None
    """What was shown with each word of the source, the text itself last; None unless decoded by re-translation."""


class Drawing(NamedTuple):
    """What a drawing of the attention shows beside the weights."""

    chunk_size: int | None = None
    """How many positions, up to where it stopped, a hard attention attended to; None for one, or no fixed number."""
    backdrop: Callable[[], Backdrop | None] | None = None
    """Makes what the weights are drawn on where the source is no text."""


@dataclass(frozen=True, eq=False, repr=False)
class Translation:
    """A decoded text with its alignment. T target and S source tokens, each side's EOS among them."""

    text: str
    score: float
    """What the search ranks by: log-probability over length penalty."""
    tokens: tuple[str, ...]
    source_tokens: tuple[str, ...]
    windows: Windows
    """Where each target token of the hypothesis that won attended."""
    ids: tuple[int, ...] = ()
    """[T]: of the target tokens."""
    log_probs: tuple[float, ...] = ()
    """[T]: of the target tokens."""
    cut: bool = False
    """Whether it reached the limit of its length (`search.max_ratio`, `search.max_length`) and was ended there, so that
    it may lack a part."""
    find_units: Callable[[], Units] = Units
    """Finds `units`, which nobody needs who wants the text alone."""
    linking: Linking = field(default_factory=Linking)
    timing: Timing | None = None
    """None unless the search wrote while it read."""
    replacements: Mapping[int, str] = field(default_factory=dict)
    """For some target tokens, unknown words and placeholders, what was written in their place, with the blanks around
    it."""
    drawing: Drawing = field(default_factory=Drawing)

    def __eq__(self, other: object) -> bool:
        """Compares what was decoded. What alignments are drawn on is left out."""
        if not isinstance(other, Translation):
            return NotImplemented
        names = [described.name for described in fields(self) if described.name not in ("find_units", "drawing")]
        names.append("units")
        return same_values([getattr(self, name) for name in names], [getattr(other, name) for name in names])

    def __hash__(self) -> int:
        return hash((self.text, self.score, self.ids))

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
        extract, shift, agreed = self.linking
        if agreed is not None:
            return {*agreed}
        if not isinstance(extract, str) and self.tokens:
            links = self._links_above(extract, shift)
        else:
            links = links_between_pieces(self.windows, stops=extract == "stops", shift=shift)
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
        """Returns the links between the tokens of words that have at least this share of a target word's weight."""
        steps = np.minimum(np.arange(len(self.tokens)) + shift, len(self.tokens) - 1)
        weights = weights_between_words(self.alignment[steps], self.units.source, self.units.target)
        sources = positions_of_words(self.units.source)
        targets = positions_of_words(self.units.target)
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
        """Draws the alignment, of at least one token a side. Over a picture it has a panel for each token, else it is a
        heatmap. The path of reads and writes is drawn where it was decoded online, and a sound below.

        title: by default the text. boundaries: seconds to mark in a sound, as where words are known to end. words: a
        row or panel for each word in place of each token, see `weights_between_words`, without stops, reads and writes,
        which are those of tokens. gold: (source word, target word) links that are known to be right, with which `links`
        are compared. known: the target words whose gold links are known; None: all.
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
        """Returns the cells of a heatmap that links between words join. columns, rows: the indices of their tokens."""
        return [
            (i, j)
            for i, source in enumerate(columns)
            for j, target in enumerate(rows)
            if (self.units.source[source[0]], self.units.target[target[0]]) in gold
        ]

    def plot(self, path: str | Path, *, words: bool = False, gold: Collection[Link] | None = None) -> None:
        """Writes `figure` to a file whose name ends in .png, .pdf or .svg. Raises UserError where there is nothing to
        draw, or no file can be."""
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
        """Returns the page of this translation in a frame, which notebooks show: what of it is pointed at shows its
        links. Its scripts and styles stay within the frame."""
        from mt.decoding.record import plain_record  # Not above: it knows this class.
        from mt.explorer import page

        text = page("Alignment", [{"name": "", "records": [plain_record(self)]}])
        height = 530 + 30 * len(self.tokens)  # pixels: what stands around the drawing, and its rows
        return (
            f'<iframe title="alignment" sandbox="allow-scripts allow-downloads" srcdoc="{escape(text)}" '
            f'width="100%" height="{height}" frameborder="0"></iframe>'
        )

    def __repr__(self) -> str:
        tokens, source = (
            f"{len(side)} token{'' if len(side) == 1 else 's'}" for side in (self.tokens, self.source_tokens)
        )
        return f"Translation({self.text!r}, score {self.score:.2f}, {tokens} from {source})"


def _joined(tokens: Sequence[str], indices: Sequence[int]) -> str:
    """Returns a word out of its pieces, without the marks of where words begin."""
    pieces = "".join(tokens[index] for index in indices)
    return pieces.replace("▁", "") or pieces


# Links between other units: words of models that read or write characters, or characters of others.


def in_units(translator: Translator, translation: Translation, source: Raw, unit: LinkUnit) -> Translation:
    """Returns a translation of a source with links between units of this kind, whatever those of the model are."""
    if translator.link_unit == unit or not translation.tokens:
        return translation
    target = translator.tokenizers.target
    length = len(translation.source_tokens)
    of_source = partial(translator.field.units, length, translator.tokenizers.source, unit, source)
    written = written_fields(target, translation.ids, unit, translation.replacements, of_source)
    linking = translation.linking._replace(agreed=None)
    return replace(translation, linking=linking, find_units=written["find_units"])


# Translations out of hypotheses.


def decoded(
    translator: Translator, row: Row, hypotheses: Iterable[Hypothesis], source: Raw | None, text: str | None = None
) -> list[Translation]:
    """Returns the hypotheses of one source with their texts, in which symbols are the placeholders of the source.

    row: the encoded source. source: what the row was made of, where that is known. text: the text of the hypotheses,
    where it is given.
    """
    tokenizers = translator.tokenizers
    target = tokenizers.target
    unit = translator.link_unit
    # What a translation says of its source.
    (encoded_length,) = translator.network.encoded_lengths([translator.field.length(row)])
    read = translator.field.describe(row, encoded_length, tokenizers.source, unit, source)
    translations = []
    for hypothesis in hypotheses:
        tokens = hypothesis.tokens
        # The text and its units: those that are given, or those that the tokens decode to.
        if text is None:
            placeholders = target.restored(tokens, str(source)) if target.placeholders and source is not None else {}
            written = written_fields(target, tokens, unit, placeholders, read.units)
        else:
            written = {"text": normalize(text), "find_units": partial(_units_of_text, target, text, unit, read.units)}
        # When it was written, where it was decoded online.
        if isinstance(hypothesis, OnlineHypothesis):
            from mt.decoding.delays import timing  # Not above: it needs torch.

            written["timing"] = timing(target, read, hypothesis, translator.model.frontend)
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
    """Returns the fields of a translation about its text, with other texts in place of the tokens at some positions.
    of_source: finds the units of the source."""

    def find_units() -> Units:
        of_target = target.decoded_unit_ids(ids, unit, replacements)
        further = target.further_unit_ids(ids, unit, replacements)
        return Units(tuple(of_source()), tuple(of_target), further)

    return {"text": target.decode(ids, replacements), "find_units": find_units, "replacements": replacements}


def _units_of_text(
    target: Tokenizer, text: str, unit: LinkUnit, of_source: Callable[[], Sequence[int | None]]
) -> Units:
    """Returns the units of a source and of a text that is given."""
    return Units(tuple(of_source()), tuple(target.unit_ids(text, unit)))
