"""The Python API, and the one path by which anything is decoded: load a run, translate, align, stream.

translator = load("outputs/phrasebook/general/...")
translation = translator.translate("The train leaves at half past seven.")
print(translation.text, translation.links)
translation.plot("one.png")
best = translator.n_best(["one text", "another"], n=3)
together = load(["outputs/phrasebook/general/...", "outputs/phrasebook/mocha/..."])
session = translator.stream()
print(*session.read("The"), *session.read("train"), *session.finish())
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import cast, overload

import numpy as np

from mt.checkpoint import load_model
from mt.data.fields import Raw, Row
from mt.data.tokenizer import Unit, normalize
from mt.decoding import decode_ids, decodes_hard, forced_batches
from mt.device import choose
from mt.errors import UserError
from mt.models.ensemble import Ensemble
from mt.models.seq2seq import Loss, Seq2Seq
from mt.reading import Reading
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


class Translator(Reading):
    """A trained model with its tokenizers. Texts go in raw and come out detokenised.

    A source is a text, or of a model that reads sound or pictures a path or an array: see its field in
    `mt.data.fields`. One source gives what a list of it would hold.
    """

    @overload
    def translate(  # type: ignore[overload-overlap]
        self, texts: Raw, search: SearchConfig | None = None
    ) -> Translation: ...

    @overload
    def translate(
        self, texts: Sequence[Raw], search: SearchConfig | None = None, *, progress: bool = False
    ) -> list[Translation]: ...

    def translate(
        self, texts: Raw | Sequence[Raw], search: SearchConfig | None = None, *, progress: bool = False
    ) -> Translation | list[Translation]:
        """The best translation of each text, in order; of one string, its translation. A blank text gives an empty one.

        search: how to decode; by default as the run was configured. Raises UserError for a text that is too long, and
        for a file that cannot be read.
        """
        if isinstance(texts, Raw):
            return self.translate([texts], search)[0]
        return [found[0] for found in self.n_best(texts, search=search, progress=progress)]

    @overload
    def n_best(  # type: ignore[overload-overlap]
        self, texts: Raw, n: int | None = None, search: SearchConfig | None = None
    ) -> list[Translation]: ...

    @overload
    def n_best(
        self, texts: Sequence[Raw], n: int | None = None, search: SearchConfig | None = None, *, progress: bool = False
    ) -> list[list[Translation]]: ...

    def n_best(
        self,
        texts: Raw | Sequence[Raw],
        n: int | None = None,
        search: SearchConfig | None = None,
        *,
        progress: bool = False,
    ) -> list[Translation] | list[list[Translation]]:
        """Of each text the `n` best translations, best first; fewer where the search finds no more. The rest as in
        `translate`.

        n: makes it a beam search, of at least so many hypotheses, whatever else `search` says; None: what it reports.
        """
        if isinstance(texts, Raw):
            return self.n_best([texts], n, search)[0]
        search = search or self.config.search
        if n is not None:
            if not 1 <= n <= MAX_BEAM_SIZE:
                raise UserError(f"n={n} translations of a text are not possible: ask for 1 to {MAX_BEAM_SIZE}")
            beam_size = max(n, getattr(search, "beam_size", BeamConfig().beam_size))
            search = revised_search(search, {"name": "beam", "beam_size": beam_size, "n_best": n})
        return self.decode(self._encoded(texts), search, texts=texts, progress=progress)

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
        self._refuse_many_places(given, wanted)
        target = self.tokenizers.target
        found = decode_ids(
            self.model,
            given,
            search or self.config.search,
            vocab_size=len(target),
            precision=self.config.precision,
            field=self.field,
            progress=progress,
            world=self.world,
        )
        for i, row, hypotheses in zip(wanted, given, found, strict=True):
            read = self._read(row, None if texts is None else texts[i])
            results[i] = [
                self._translation(
                    target.decode(best.tokens), read, best, target.decoded_unit_ids(best.tokens, self.unit)
                )
                for best in hypotheses
            ]
        return results

    @overload
    def align(  # type: ignore[overload-overlap]
        self, sources: Raw, targets: str, *, hard: bool | None = None
    ) -> Translation: ...

    @overload
    def align(
        self, sources: Sequence[Raw], targets: Sequence[str], *, hard: bool | None = None
    ) -> list[Translation]: ...

    def align(
        self, sources: Raw | Sequence[Raw], targets: str | Sequence[str], *, hard: bool | None = None
    ) -> Translation | list[Translation]:
        """Forced alignment: the attention while the model is given the targets, token by token.

        hard: whether the attention chooses one position; by default as the run decodes. The score of each is the
        log-probability of its target. Raises UserError for a text that is too long, and for `hard` where the attention
        cannot choose.
        """
        if isinstance(sources, Raw) and isinstance(targets, str):
            return self.align([sources], [targets], hard=hard)[0]
        if isinstance(sources, Raw) or isinstance(targets, str):
            raise UserError("align takes two texts or two lists of texts, not one of each")
        search = self.config.search
        if hard is not None:
            search = revised_search(search, {"name": "greedy", "mode": "hard" if hard else "soft"})
        hard = decodes_hard(search, self.model)
        self.refuse_long(targets)
        rows, ids = self._encoded(sources), self.tokenizers.target.encode(targets)
        results: dict[int, Translation] = {}
        for indices, loss in self.forced(rows, ids, hard=hard, wait_k=waits(search)):
            scores = (-loss.token_losses.sum(1)).tolist()
            for i, weights, score in zip(indices, loss.attention.weights.cpu(), scores, strict=True):
                windows = Windows.whole(weights[: len(ids[i])].clone())
                forced = Hypothesis(tuple(ids[i]), score, score, windows, None, None)
                read = self._read(rows[i], sources[i])
                target_units = self.tokenizers.target.unit_ids(targets[i], self.unit)
                results[i] = self._translation(normalize(targets[i]), read, forced, target_units)
        return [results[i] for i in range(len(ids))]

    def forced(
        self, rows: Sequence[Row], ids: Sequence[Sequence[int]], *, hard: bool, wait_k: int | None = None
    ) -> Iterator[tuple[list[int], Loss]]:
        """What the model says while it is given the targets, batch by batch: indices of the pairs, loss and attention.

        rows: see `decode`; ids: of the targets, EOS last. hard, wait_k: how the attention reads. Raises UserError
        where the model is not defined for so long a source.
        """
        self._refuse_many_places(rows, range(len(rows)))
        pairs = [(np.asarray(row), np.array(target)) for row, target in zip(rows, ids, strict=True)]
        batches = forced_batches(
            self.model,
            np.array([max(self.field.length(row), len(target)) for row, target in pairs]),
            lambda indices: [pairs[i] for i in indices],
            precision=self.config.precision,
            hard=hard,
            max_tokens=self.config.search.batch_tokens,
            wait_k=wait_k,
            source=self.field,
        )
        yield from ((indices.tolist(), loss) for indices, _, loss in batches)

    def stream(self, search: SearchConfig | None = None, unit: Unit | None = None) -> Session:
        """The translation of a source that is still arriving, word by word, or sample by sample; see `Session`.

        search: online or wait_k; by default the run's own, made online. unit: what is read and written; by default
        characters where both sides are cut into characters, else words. Raises UserError where the model must know the
        whole source before it writes.
        """
        search = online_search(self.config.search) if search is None else search
        refuse_offline(self.model, search)
        decodes_hard(search, self.model)  # raises where they do not go together
        return Session(Setting(self.model, self.tokenizers, search, unit or self.unit, self.field))


def load(run: str | Path | Sequence[str | Path], *, checkpoint: str = "best", device: str = "auto") -> Translator:
    """The translator of a run folder (or of one of its checkpoints' folders); of several the ensemble, with the
    configuration of the first.

    checkpoint: best, last, or average where the run made one. Raises UserError where a folder is damaged or no run, and
    where runs have different vocabularies or kinds of sources.
    """
    runs = [Path(run)] if isinstance(run, str | Path) else [Path(one) for one in run]
    if not runs:
        raise UserError("there is no run to load: give the folder that training printed, or several")
    models, (tokenizers, *others), (config, *configs) = zip(*(load_model(one, checkpoint) for one in runs), strict=True)
    for path, side, other in zip(runs[1:], others, configs, strict=True):
        if [one.model for one in side] != [one.model for one in tokenizers]:
            raise UserError(
                f"{path} has another vocabulary than {runs[0]}, and an ensemble averages the probabilities of the same "
                "pieces: give runs that were trained on one prepared corpus, or from one another (init_from)"
            )
        if other.dataset.field != config.dataset.field:
            raise UserError(f"{path} reads other sources than {runs[0]}: give runs with the same dataset.field")
    # To whoever translates, an ensemble is a model like any other.
    model = models[0] if len(runs) == 1 else cast(Seq2Seq, Ensemble(models))
    return Translator(model.to(choose(device)), tokenizers, config)
