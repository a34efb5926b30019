"""The Python API, and the one path by which anything is decoded: load a run, translate, align, stream.

translator = load("outputs/phrasebook/general/...")
translation = translator.translate("The train leaves at half past seven.")
print(translation.text, translation.links)
translation.plot("one.png")
best = translator.n_best(["one text", "another"], n=3)
session = translator.stream()
print(*session.read("The"), *session.read("train"), *session.finish())
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import overload

import numpy as np

from mt.checkpoint import load_model
from mt.config import Config
from mt.data.fields import TEXT
from mt.data.tokenizer import Tokenizers, Unit, normalize
from mt.data.words import count_words
from mt.decoding import decode_ids, decodes_hard, forced_batches
from mt.delays import delays
from mt.device import choose
from mt.errors import UserError
from mt.models.seq2seq import Seq2Seq
from mt.search.config import (
    MAX_BEAM_SIZE,
    BeamConfig,
    SearchConfig,
    online_search,
    revised_search,
    waits,
)
from mt.search.hypothesis import Hypothesis
from mt.search.windows import EMPTY, Windows
from mt.streaming import Session, Setting, refuse_offline
from mt.translation import Translation


class Translator:
    """A trained model with its tokenizers. Texts go in raw and come out detokenised.

    One string is one text, and gives what a list of it would hold.
    """

    def __init__(self, model: Seq2Seq, tokenizers: Tokenizers, config: Config) -> None:
        self.model = model.eval()
        self.tokenizers = tokenizers
        self.config = config
        self.device = next(model.parameters()).device
        self.unit: Unit = "char" if all(side.of_characters for side in tokenizers) else "word"
        """What the links of translations join: characters where both sides are cut into characters, else words."""

    def __repr__(self) -> str:
        config = self.config
        parameters = sum(parameter.numel() for parameter in self.model.parameters())
        return (
            f"Translator(dataset={config.dataset.name}, encoder={config.encoder.name}, "
            f"attention={config.attention.name}, decoder={config.decoder.name}: {parameters:,} parameters on "
            f"{self.device})"
        )

    @overload
    def translate(  # type: ignore[overload-overlap]
        self, texts: str, search: SearchConfig | None = None
    ) -> Translation: ...

    @overload
    def translate(
        self, texts: Sequence[str], search: SearchConfig | None = None, *, progress: bool = False
    ) -> list[Translation]: ...

    def translate(
        self, texts: str | Sequence[str], search: SearchConfig | None = None, *, progress: bool = False
    ) -> Translation | list[Translation]:
        """The best translation of each text, in order; of one string, its translation. A blank text gives an empty one.

        search: how to decode; by default as the run was configured. Raises UserError for a text that is too long.
        """
        if isinstance(texts, str):
            return self.translate([texts], search)[0]
        return [found[0] for found in self.n_best(texts, search=search, progress=progress)]

    @overload
    def n_best(  # type: ignore[overload-overlap]
        self, texts: str, n: int | None = None, search: SearchConfig | None = None
    ) -> list[Translation]: ...

    @overload
    def n_best(
        self, texts: Sequence[str], n: int | None = None, search: SearchConfig | None = None, *, progress: bool = False
    ) -> list[list[Translation]]: ...

    def n_best(
        self,
        texts: str | Sequence[str],
        n: int | None = None,
        search: SearchConfig | None = None,
        *,
        progress: bool = False,
    ) -> list[Translation] | list[list[Translation]]:
        """Of each text the `n` best translations, best first; fewer where the search finds no more. The rest as in
        `translate`.

        n: makes it a beam search, of at least so many hypotheses, whatever else `search` says; None: what it reports.
        """
        if isinstance(texts, str):
            return self.n_best([texts], n, search)[0]
        search = search or self.config.search
        if n is not None:
            if not 1 <= n <= MAX_BEAM_SIZE:
                raise UserError(f"n={n} translations of a text are not possible: ask for 1 to {MAX_BEAM_SIZE}")
            beam_size = max(n, getattr(search, "beam_size", BeamConfig().beam_size))
            search = revised_search(search, {"name": "beam", "beam_size": beam_size, "n_best": n})
        self.refuse_long(texts)
        return self.decode(self.tokenizers.source.encode(texts), search, texts=texts, progress=progress)

    def decode(
        self,
        sources: Sequence[Sequence[int]],
        search: SearchConfig | None = None,
        *,
        texts: Sequence[str] | None = None,
        progress: bool = False,
    ) -> list[list[Translation]]:
        """As `n_best`, of texts that are encoded already: ids that end in EOS, which a blank text is alone.

        texts: what the ids were made of, for the words of links; by default what they decode to, where a run of unknown
        characters is a word of its own.
        """
        results = [[Translation("", 0.0, (), (), EMPTY)] for _ in sources]
        wanted = [i for i, ids in enumerate(sources) if len(ids) > 1]
        given = [sources[i] for i in wanted]
        self._refuse_many_tokens(given, wanted)
        source, target = self.tokenizers
        found = decode_ids(
            self.model,
            given,
            search or self.config.search,
            vocab_size=len(target),
            precision=self.config.precision,
            progress=progress,
        )
        for i, ids, hypotheses in zip(wanted, given, found, strict=True):
            text = texts[i] if texts else source.decode(ids)
            units = source.unit_ids(text, self.unit) if texts else source.decoded_unit_ids(ids, self.unit)
            results[i] = [
                self._translation(
                    target.decode(best.tokens), ids, best, units, target.decoded_unit_ids(best.tokens, self.unit), text
                )
                for best in hypotheses
            ]
        return results

    @overload
    def align(  # type: ignore[overload-overlap]
        self, sources: str, targets: str, *, hard: bool | None = None
    ) -> Translation: ...

    @overload
    def align(
        self, sources: Sequence[str], targets: Sequence[str], *, hard: bool | None = None
    ) -> list[Translation]: ...

    def align(
        self, sources: str | Sequence[str], targets: str | Sequence[str], *, hard: bool | None = None
    ) -> Translation | list[Translation]:
        """Forced alignment: the attention while the model is given the targets, token by token.

        hard: whether the attention chooses one position; by default as the run decodes. The score of each is the
        log-probability of its target. Raises UserError for a text that is too long, and for `hard` where the attention
        cannot choose.
        """
        if isinstance(sources, str) and isinstance(targets, str):
            return self.align([sources], [targets], hard=hard)[0]
        if isinstance(sources, str) or isinstance(targets, str):
            raise UserError("align takes two texts or two lists of texts, not one of each")
        search = self.config.search
        if hard is not None:
            search = revised_search(search, {"name": "greedy", "mode": "hard" if hard else "soft"})
        hard = decodes_hard(search, self.model)
        self.refuse_long(sources)
        self.refuse_long(targets)
        encoded = zip(self.tokenizers.source.encode(sources), self.tokenizers.target.encode(targets), strict=True)
        ids = list(encoded)
        self._refuse_many_tokens([source for source, _ in ids], range(len(ids)))
        pairs = [(np.array(source), np.array(target)) for source, target in ids]
        results: dict[int, Translation] = {}
        lengths = np.array([max(len(source), len(target)) for source, target in ids])
        batches = forced_batches(
            self.model,
            lengths,
            lambda indices: [pairs[i] for i in indices],
            precision=self.config.precision,
            hard=hard,
            max_tokens=search.batch_tokens,
            wait_k=waits(search),
        )
        for indices, _, loss in batches:
            scores = (-loss.token_losses.sum(1)).tolist()
            for i, weights, score in zip(indices.tolist(), loss.attention.weights.cpu(), scores, strict=True):
                source, target = ids[i]
                forced = Hypothesis(
                    tuple(target), score, score, Windows.whole(weights[: len(target)].clone()), None, None
                )
                units = self.tokenizers.source.unit_ids(sources[i], self.unit)
                target_units = self.tokenizers.target.unit_ids(targets[i], self.unit)
                results[i] = self._translation(normalize(targets[i]), source, forced, units, target_units)
        return [results[i] for i in range(len(ids))]

    def stream(self, search: SearchConfig | None = None, unit: Unit | None = None) -> Session:
        """The translation of a source that is still arriving, word by word; see `Session`.

        search: online or wait_k; by default the run's own, made online. unit: what is read and written; by default
        characters where both sides are cut into characters, else words. Raises UserError where the model must know the
        whole source before it writes.
        """
        search = online_search(self.config.search) if search is None else search
        refuse_offline(self.model, search)
        decodes_hard(search, self.model)  # raises where they do not go together
        return Session(Setting(self.model, self.tokenizers, search, unit or self.unit))

    def _translation(
        self,
        text: str,
        source: Sequence[int],
        hypothesis: Hypothesis,
        source_units: Sequence[int | None],
        target_units: Sequence[int | None],
        source_text: str = "",
    ) -> Translation:
        return Translation(
            text=text,
            score=hypothesis.score,
            tokens=tuple(self.tokenizers.target.pieces(hypothesis.tokens)),
            source_tokens=tuple(TEXT.labels(source, self.tokenizers.source)),
            windows=hypothesis.windows,
            source_units=tuple(source_units),
            target_units=tuple(target_units),
            stops=None if hypothesis.stops is None else hypothesis.stops.numpy(),
            chunk_size=self.model.chunk_size,
            energies=hypothesis.energies,
            **delays(self.tokenizers, source_text, hypothesis),
        )

    def _refuse_many_tokens(self, sources: Sequence[Sequence[int]], indices: Sequence[int]) -> None:
        limit = self.model.max_source_length
        for source, index in zip(sources, indices, strict=True):
            if limit is not None and len(source) > limit:
                raise UserError(
                    f"text {index + 1} has {len(source)} tokens, and this model reads at most {limit}: split it into "
                    "sentences, one a line"
                )

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


def load(run: str | Path, *, checkpoint: str = "best", device: str = "auto") -> Translator:
    """The translator of a run folder (or of one of its checkpoints' folders).

    checkpoint: best, last, or average where the run made one. Raises UserError where the folder is damaged or no run.
    """
    model, tokenizers, config = load_model(Path(run), checkpoint)
    return Translator(model.to(choose(device)), tokenizers, config)
