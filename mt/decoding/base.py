"""From sources to translations, whatever computes the hypotheses; needs no torch.

What is said here is the same of a model in torch (`mt.decoding.translator`) and of an exported one
(`mt.decoding.onnx`).
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Protocol, overload

from mt.data.dataset import DatasetConfig
from mt.data.fields import Raw, ReadSource, Row, as_list, build_field, require_texts
from mt.data.tokenizer import LinkUnit, Tokenizers, Unit
from mt.data.words import count_words
from mt.decoding.translation import Translation
from mt.errors import UserError
from mt.search.config import MAX_BEAM_SIZE, BeamConfig, SearchConfig, limited_as, require_search, revised_search
from mt.search.hypothesis import Hypothesis
from mt.search.windows import EMPTY


class DecodingConfig(Protocol):
    """What of a run's configuration decoding and its evaluation ask."""

    @property
    def dataset(self) -> DatasetConfig: ...

    @property
    def search(self) -> SearchConfig: ...


class BaseTranslator(ABC):
    """A trained model with its tokenizers, and the field of its sources. Texts go in raw and come out detokenised.

    A source is a text, or of a model that reads sound or pictures a path or an array: see its field in
    `mt.data.fields`. One source gives what a list of it would hold; of several any iterable is taken, see `as_list`.
    """

    max_source_length: int | None
    """Most places that it is defined for; None for any number."""
    chunk_size: int | None
    """How many positions a hard attention attends to; see `Attention`."""

    def __init__(self, tokenizers: Tokenizers, config: DecodingConfig) -> None:
        self.tokenizers = tokenizers
        self.config = config
        self.field = build_field(config.dataset.field)
        """What the sources are."""
        self.unit: Unit = "char" if all(side.of_characters for side in tokenizers) else "word"
        """What is read and written in a stream: characters where both sides are cut into characters, else words."""
        self.link_unit: LinkUnit = self.unit
        """What the links of translations join."""

    @overload
    def translate(  # type: ignore[overload-overlap]
        self, texts: Raw, search: SearchConfig | None = None
    ) -> Translation: ...

    @overload
    def translate(
        self, texts: Iterable[Raw], search: SearchConfig | None = None, *, progress: bool = False
    ) -> list[Translation]: ...

    def translate(
        self, texts: Raw | Iterable[Raw], search: SearchConfig | None = None, *, progress: bool = False
    ) -> Translation | list[Translation]:
        """The best translation of each text, in order; of one string, its translation. A blank text gives an empty one.

        search: how to decode; by default as the run was configured. Raises UserError for what is no text (None, bytes,
        half of a character), for a text that is too long, and for a file that cannot be read.
        """
        sources, alone = as_list(texts)
        best = [found[0] for found in self.n_best(sources, search=search, progress=progress)]
        return best[0] if alone else best

    @overload
    def n_best(  # type: ignore[overload-overlap]
        self, texts: Raw, n: int | None = None, search: SearchConfig | None = None
    ) -> list[Translation]: ...

    @overload
    def n_best(
        self, texts: Iterable[Raw], n: int | None = None, search: SearchConfig | None = None, *, progress: bool = False
    ) -> list[list[Translation]]: ...

    def n_best(
        self,
        texts: Raw | Iterable[Raw],
        n: int | None = None,
        search: SearchConfig | None = None,
        *,
        progress: bool = False,
    ) -> list[Translation] | list[list[Translation]]:
        """Of each text the `n` best translations, best first; fewer where the search finds no more. The rest as in
        `translate`.

        n: makes it a beam search, of at least so many hypotheses, whatever else `search` says; None: what it reports.
        """
        sources, alone = as_list(texts)
        search = self.config.search if search is None else search
        require_search(search)
        if n is not None:
            if not isinstance(n, int) or not 1 <= n <= MAX_BEAM_SIZE:
                raise UserError(f"n={n} translations of a text are not possible: ask for 1 to {MAX_BEAM_SIZE}")
            beam_size = max(n, getattr(search, "beam_size", BeamConfig().beam_size))
            search = revised_search(search, {"name": "beam", "beam_size": beam_size, "n_best": n})
        found = self.decode(self._encoded(sources), search, texts=sources, progress=progress)
        return found[0] if alone else found

    def decode(
        self,
        sources: Sequence[Row],
        search: SearchConfig | None = None,
        *,
        texts: Sequence[Raw] | None = None,
        progress: bool = False,
    ) -> list[list[Translation]]:
        """As `n_best`, of sources that are encoded already: rows of their field, which are of text ids that end in EOS;
        a blank text is EOS alone.

        texts: what the rows were made of, for the words of links; by default what ids decode to, where a run of unknown
        characters is a word of its own.
        """
        results = [[Translation("", 0.0, (), (), EMPTY)] for _ in sources]
        wanted = [i for i, row in enumerate(sources) if not self.field.blank(row)]
        given = [sources[i] for i in wanted]
        self._refuse_long_sources(given, wanted)
        target = self.tokenizers.target
        found = self._hypotheses(given, self.search_for(search), progress)
        for i, row, hypotheses in zip(wanted, given, found, strict=True):
            read = self._read(row, None if texts is None else texts[i])
            results[i] = [
                self._translation(
                    target.decode(best.tokens), read, best, target.decoded_unit_ids(best.tokens, self.link_unit)
                )
                for best in hypotheses
            ]
        return results

    def search_for(self, search: SearchConfig | None) -> SearchConfig:
        """The search that is meant: the run's own where there is none, and with the run's own limits of the length of
        hypotheses where it has none."""
        usual = self.config.search
        return usual if search is None else limited_as(search, usual)

    @abstractmethod
    def _hypotheses(self, rows: Sequence[Row], search: SearchConfig, progress: bool) -> Sequence[Sequence[Hypothesis]]:
        """For each row its hypotheses, best first."""

    @abstractmethod
    def _encoded_lengths(self, lengths: Sequence[int]) -> list[int]:
        """How many positions sources of these lengths, counted as their field does, have for the attention."""

    def _delays(self, source: ReadSource, hypothesis: Hypothesis) -> dict[str, Any]:
        """What a `Translation` is told of delays, where the search counts them."""
        return {}

    def _read(self, row: Row, given: Raw | None) -> ReadSource:
        """given: what the row was made of, where that is known."""
        (encoded_length,) = self._encoded_lengths([self.field.length(row)])
        return self.field.read(row, encoded_length, self.tokenizers.source, self.link_unit, given)

    def _translation(
        self,
        text: str,
        source: ReadSource,
        hypothesis: Hypothesis,
        target_units: Sequence[int | None],
    ) -> Translation:
        return Translation(
            text=text,
            score=hypothesis.score,
            tokens=tuple(self.tokenizers.target.pieces(hypothesis.tokens)),
            source_tokens=tuple(source.labels),
            windows=hypothesis.windows,
            source_units=tuple(source.units),
            target_units=tuple(target_units),
            stops=hypothesis.stops,
            chunk_size=self.chunk_size,
            energies=hypothesis.energies,
            cut=hypothesis.cut,
            backdrop=source.backdrop,
            ids=tuple(hypothesis.tokens),
            **self._delays(source, hypothesis),
        )

    def _encoded(self, sources: Sequence[Raw]) -> Sequence[Row]:
        if self.field.written:
            require_texts(sources)
            self.refuse_long([str(source) for source in sources])
        return self.field.encode(sources, self.tokenizers.source)

    def refuse_long(self, texts: Iterable[str], place: str = "text", first: int = 1) -> None:
        """Raises UserError where a text is too long. place, first: what to call the texts, and the first's number."""
        limit = self.config.dataset.cleaning.max_evaluation_length
        for number, text in enumerate(texts, start=first):
            # A text of few characters cannot have many words; most need no counting.
            if len(text) > limit and (words := count_words(text)) > limit:
                raise UserError(
                    f"{place} {number} has {words} words, and at most {limit} are read at once: split it into "
                    "sentences, one a line"
                )

    def in_words(self, translation: Translation, source: Raw) -> Translation:
        """Returns a translation of a source with links between words, also where this model writes characters."""
        if self.link_unit == "word" or not translation.tokens:
            return translation
        places = len(translation.source_tokens)
        return replace(
            translation,
            source_units=tuple(self.field.units(places, self.tokenizers.source, "word", source)),
            target_units=tuple(self.tokenizers.target.decoded_unit_ids(translation.ids, "word")),
        )

    def _refuse_long_sources(self, rows: Sequence[Row], indices: Sequence[int]) -> None:
        """Raises UserError where the model is not defined for so long a source. indices: from 0, for the sentence."""
        limit = self.max_source_length
        if limit is None or not rows:
            return
        lengths = self._encoded_lengths([self.field.length(row) for row in rows])
        for length, index in zip(lengths, indices, strict=True):
            if length > limit and self.field.written:
                raise UserError(
                    f"text {index + 1} has {length} tokens, and this model reads at most {limit}: split it into "
                    "sentences, one a line"
                )
            if length > limit:
                raise UserError(
                    f"source {index + 1} has {length} positions, and this model reads at most {limit}: cut it"
                )
