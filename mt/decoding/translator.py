"""The Python API of a loaded run, and the one path by which everything is decoded. Needs no torch.

`Translator.translate`, `n_best`, `align` and `stream` are for callers. The first two end in `decode`. The methods below
give the rest of the program the search of a run, its rows and its limits.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack, get_args

from mt.common.links import Symmetrisation
from mt.data.fields import Raw, Row, as_list, build_field, require_texts
from mt.data.tokenizer import LinkUnit, Tokenizers, Unit
from mt.data.words import count_words
from mt.decoding.network import Network, Part, decode_rows, refuse_long_rows
from mt.decoding.request import Asked, Request, names_of, requests_of
from mt.decoding.translation import Extraction, Translation, decoded
from mt.errors import UserError, counted, require_choice
from mt.search.config import (
    SearchConfig,
    n_best_search,
    require_search,
    revised_search,
    with_default_limits,
)
from mt.search.hypothesis import EMPTY

if TYPE_CHECKING:
    from mt.config import Config
    from mt.decoding.modes import DecodableModel
    from mt.decoding.onnx import ExportedConfig
    from mt.decoding.streaming import Session


class Translator:
    """A trained model with its tokenizers, and the field of its sources. Texts go in raw and come out detokenised.

    A source is a text, or a path or an array of sound or a picture: see `mt.data.fields`. One source gives what a list
    of it would hold. `align` needs torch, and raises UserError where the model was exported.
    """

    def __init__(self, network: Network, tokenizers: Tokenizers, config: "Config | ExportedConfig") -> None:
        self.network = network
        self.tokenizers = tokenizers
        self.config: Any = config
        """The `Config` of a run; of an exported model, what decoding asks of it."""
        self.field = build_field(config.dataset.field)
        """The kind of the sources: text, sound, pictures or features."""
        # The units of streams and links, and where the weights are from.
        self.unit: Unit = "char" if all(side.of_characters for side in tokenizers) else "word"
        """What is read and written in a stream: characters where both sides are cut into characters, else words."""
        self.folder: Path | None = None
        """The run that it was loaded from; None for a model in memory, and for several runs."""
        self.trained: str | None = None
        """The weights of that run, as in `About.trained`."""
        links = tokenizers.source.link_unit, tokenizers.target.link_unit
        self.link_units: tuple[LinkUnit, LinkUnit] = ("word", "word") if "word" in links else links
        """What the links of translations join, of source and target: words, or characters and what stands between
        blanks where both sides are cut so, as letters and phones."""

    @property
    def model(self) -> "DecodableModel":
        """The model, or the ensemble, in torch."""
        return self.network.in_torch().model

    def __repr__(self) -> str:
        # An exported model knows fewer options of its configuration than a run.
        names = ("dataset", "encoder", "attention", "decoder")
        options = [f"{name}={getattr(self.config, name).name}" for name in names if hasattr(self.config, name)]
        return f"Translator({', '.join(options)}: {self.network!r})"

    def translate(
        self,
        texts: Raw | Iterable[Raw],
        search: SearchConfig | None = None,
        *,
        format: str | None = None,
        placeholders: Sequence[str] | None = None,
        progress: bool = False,
        **asked: Unpack[Asked],
    ) -> Any:
        """Returns the best translation of each text, in order; of one string, its translation. A blank text gives an
        empty one.

        search: how to decode; by default as the run was configured. format: html, xliff or text, in which texts are
            documents, and so are results; see `Document`. placeholders: with a format, the syntaxes of those that are
            kept whole; by default those of the run. progress: whether a bar shows how many texts are done. asked:
            `constraints`, `avoid`, `prefix` and `glossary`; see `Asked`. Raises UserError for what is no text (None,
            bytes, half of a character), for a long text, an unreadable file, and impossible constraints.
        """
        sources, alone = as_list(texts)
        requests = requests_of(names_of(sources), alone=alone, **asked) if asked else None
        if format is not None:
            from mt.decoding.documents import translate_documents  # Not above: most texts have no tags.

            names = ["the text"] if alone else None
            options: Any = {"names": names, "placeholders": placeholders, "progress": progress}
            best: Any = translate_documents(self, sources, format, search, requests, **options)
        elif placeholders is not None:
            raise UserError("placeholders are about documents: give a format, too (html, xliff or text)")
        else:
            found = self.decode(self.encoded(sources), search, texts=sources, requests=requests, progress=progress)
            best = [hypotheses[0] for hypotheses in found]
        return best[0] if alone else best

    def n_best(
        self,
        texts: Raw | Iterable[Raw],
        n: int | None = None,
        search: SearchConfig | None = None,
        *,
        progress: bool = False,
        **asked: Unpack[Asked],
    ) -> Any:
        """Returns a list of the `n` best translations for each text, best first, or fewer where the search finds no
        more. Everything else is as in `translate`.

        n: None: as many as `search` reports. A search by samples draws at least n of them, and any other search is
        replaced by a beam of at least n hypotheses. Raises UserError where `search` is given and writes
        while it reads, which gives one translation.
        """
        sources, alone = as_list(texts)
        if n is not None and search is not None and search.timed:
            raise UserError(
                f"search={search.name} writes one translation of a text, and n={n} were asked for: leave n out, or "
                f"give BeamConfig(beam_size={n})"
            )
        # A search that reports n hypotheses is made of the given one, or of the run's.
        if n is not None:
            search = self.config.search if search is None else search
            require_search(search)
            search = n_best_search(search, n)
        requests = requests_of(names_of(sources), alone=alone, **asked) if asked else None
        found = self.decode(self.encoded(sources), search, texts=sources, requests=requests, progress=progress)
        return found[0] if alone else found

    def decode(
        self,
        sources: Sequence[Row],
        search: SearchConfig | None = None,
        *,
        texts: Sequence[Raw] | None = None,
        requests: Sequence[Request] | None = None,
        parts: Sequence[Part] = (),
        progress: bool = False,
    ) -> list[list[Translation]]:
        """Does the work of `n_best` for encoded sources, the rows of their field. The row of a text has ids that end in
        EOS; a blank text is EOS alone.

        texts: what the rows were made of, for the words of links; by default the ids are decoded, and then a run of
        unknown characters is a word of its own. requests: what is asked of each translation; with `texts`. parts: see
        `decode_rows`. Raises UserError where the search does not fit.
        """
        # Policies that draft anew decode parts of sources, and call this function for them.
        search = self.search_for(search)
        if search.timed and not self.network.extends(search):
            from mt.decoding.streaming import simulated  # Not above: its drafts come back here.

            return simulated(self, sources, search, texts, requests, progress=progress)
        # Blank sources have empty translations; the rest is decoded in batches.
        results = [[Translation("", 0.0, (), (), EMPTY)] for _ in sources]
        indices = [i for i, row in enumerate(sources) if not self.field.blank(row)]
        rows = [sources[i] for i in indices]
        refuse_long_rows(self.network, self.field, rows, indices)
        if requests is not None or getattr(search, "utility", None) is not None:
            from mt.decoding.lexical import parts_of  # Not above: a plain search has none.

            parts = parts_of(self, search, requests, texts, indices, parts)
        found = decode_rows(self.network, rows, search, parts, progress=progress)
        for i, row, hypotheses in zip(indices, rows, found, strict=True):
            results[i] = decoded(self, row, hypotheses, None if texts is None else texts[i])
        return results

    def align(
        self,
        sources: Raw | Iterable[Raw],
        targets: str | Iterable[str],
        *,
        hard: bool | None = None,
        extract: Extraction = "argmax",
        shift: bool = False,
        symmetrise_with: "Translator | None" = None,
        symmetrise: Symmetrisation = "grow-diag",
    ) -> Any:
        """Returns a given translation of a source, or each of a list, with its alignment and log-probabilities. The
        model reads the translation, and its attention meanwhile is the alignment (forced alignment).

        hard: whether the attention chooses one position; by default as the run decodes. extract: how links are made,
        see `Extraction`. shift: whether links are of the step that has read a token; see docs/alignments.md.
        symmetrise_with: a model of the other direction, whose links and this one's `symmetrise` joins. Raises UserError
        for a text that is too long, and for options that do not fit the models.
        """
        self.network.in_torch()  # First, since what was exported is refused without torch, too.
        from mt.decoding.forced import aligned  # Not above: it needs torch.

        return aligned(self, (sources, targets), symmetrise_with, symmetrise, hard=hard, extract=extract, shift=shift)

    def stream(self, search: SearchConfig | None = None, unit: Unit | None = None, **asked: Unpack[Asked]) -> "Session":
        """Begins the translation of a source that is still arriving, word by word, or sample by sample; see `Session`.

        search: a policy of `mt.search.policies`; by default that of `streaming_search`. Any other search writes at the
        end of the source. unit: what is read and written; by default characters where both sides are cut into
        characters, else words. asked: `avoid`, `prefix` and `glossary` as in `translate`; constraints are refused.
        Raises UserError where the policy does not fit the model.
        """
        from mt.decoding.streaming import open_session  # Not above: its drafts call `decode`.

        search = self.search_for(self.streaming_search() if search is None else search)
        require_choice("unit", unit, get_args(Unit))
        requests = requests_of(["the stream"], alone=True, **asked)
        return open_session(self, search, unit or self.unit, requests[0] if requests else None)

    def streaming_search(self) -> SearchConfig:
        """Returns the search by which the run streams: its own if that is a policy, else one that suits the model, with
        the options that both have."""
        search = self.config.search
        if search.timed:
            return search
        # A hard attention decides itself when to write, and a soft one is looked at; without, drafts have to agree.
        online = revised_search(search, {"name": "online"})
        if self.network.extends(online):
            return online
        return revised_search(search, {"name": "alignatt" if self.network.attends else "agree"})

    def search_for(self, search: SearchConfig | None) -> SearchConfig:
        """Returns the search to decode with: the run's own where `search` is None. A search without limits of length
        gets the run's limits. Raises UserError where it does not fit the model, the engine or the precision."""
        # Limits of length fit the training data, so that they hold for other searches too.
        usual = self.config.search
        require_search(usual if search is None else search)
        search = usual if search is None else with_default_limits(search, usual)
        self.network.require(search)
        return search

    def encoded(self, sources: Sequence[Raw]) -> Sequence[Row]:
        """Returns the rows of sources. Raises UserError for what is no text, and for one that is too long."""
        if self.field.written:
            require_texts(sources)
            self.refuse_long([str(source) for source in sources])
        return self.field.encode(sources, self.tokenizers.source)

    def refuse_long(self, texts: Iterable[str], name: str = "text", first_number: int = 1) -> None:
        """Raises UserError where a text has too many words. name, first_number: what to call the texts, and the number
        of the first."""
        limit = self.config.dataset.cleaning.max_evaluation_length
        for number, text in enumerate(texts, start=first_number):
            # A text of few characters cannot have many words; most need no counting.
            if len(text) > limit:
                _require_few_words(text, limit, f"{name} {number}")


def _require_few_words(text: str, limit: int, name: str) -> None:
    words = count_words(text)
    if words <= limit:
        return
    between_blanks = len(text.split())
    size = f"{words} words"
    if between_blanks <= limit:  # few blanks: long runs count as several, and so do ideographs
        size = f"{counted(between_blanks, 'word')} of {len(text)} characters in all, as long as {words} words"
    raise UserError(f"{name} has {size}, and at most {limit} are read at once: split it into sentences, one a line")
