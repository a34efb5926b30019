"""The Python API, and the one path by which anything is decoded: load a run, translate, align."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from tqdm import tqdm

from mt.checkpoint import load_model
from mt.config import Config
from mt.data.batches import collate, fixed_order
from mt.data.tokenizer import EOS, Tokenizers
from mt.data.words import count_words
from mt.device import autocast, choose
from mt.errors import UserError
from mt.models.seq2seq import Seq2Seq
from mt.parsing import revised
from mt.search.config import SearchConfig, decode
from mt.search.hypothesis import Hypothesis


@dataclass(frozen=True)
class Translation:
    """A decoded text with its alignment. T target and S source tokens, each side's EOS among them."""

    text: str
    score: float
    """What the search ranks by: log-probability over length penalty."""
    tokens: tuple[str, ...]
    source_tokens: tuple[str, ...]
    alignment: np.ndarray
    """[T, S] float32: attention weights of the hypothesis that won."""
    source_units: tuple[int | None, ...] = ()
    """[S]: the word that each source token belongs to, None for EOS; see `Tokenizer.unit_ids`."""
    target_units: tuple[int | None, ...] = ()
    """[T]: likewise of the target."""
    stops: np.ndarray | None = None
    """[T] int64: where a hard attention stopped, -1 where it selected nothing; None where it is soft."""
    delays: np.ndarray | None = None
    """[T] int64: source tokens read before each target token was written; None unless decoded online."""


class _Verbs(NamedTuple):
    """A model as search sees it, with the mode of its attention fixed."""

    init_state: Callable[[Any], Any]
    step: Callable[[Tensor, Any, Any], Any]


class Translator:
    """A trained model with its tokenizers. Every text goes in raw and comes out detokenised."""

    def __init__(self, model: Seq2Seq, tokenizers: Tokenizers, config: Config) -> None:
        self.model = model.eval()
        self.tokenizers = tokenizers
        self.config = config
        self.device = next(model.parameters()).device

    def translate(
        self, texts: Sequence[str], search: SearchConfig | None = None, *, progress: bool = False
    ) -> list[Translation]:
        """The best translation of each text, in order. A blank text gives an empty one.

        search: how to decode; by default as the run was configured. Raises UserError for a text that is too long.
        """
        return [hypotheses[0] for hypotheses in self.n_best(texts, search, progress=progress)]

    def n_best(
        self, texts: Sequence[str], search: SearchConfig | None = None, *, progress: bool = False
    ) -> list[list[Translation]]:
        """Of each text, the `search.n_best` best translations, best first; of a blank text, one empty translation."""
        self.refuse_long(texts)
        return self.decode(self.tokenizers.source.encode(texts), search, progress=progress)

    def decode(
        self, sources: Sequence[Sequence[int]], search: SearchConfig | None = None, *, progress: bool = False
    ) -> list[list[Translation]]:
        """As `n_best`, of texts that are encoded already: ids that end in EOS, which a blank text is alone."""
        blank = [Translation("", 0.0, (), (), np.zeros((0, 0), np.float32))]
        results = [blank for _ in sources]
        wanted = [i for i, source in enumerate(sources) if len(source) > 1]
        given = [sources[i] for i in wanted]
        self._refuse_many_tokens(given, wanted)
        for i, source, found in zip(wanted, given, self.search(given, search, progress=progress), strict=True):
            results[i] = [self._translation(source, hypothesis) for hypothesis in found]
        return results

    def search(
        self, sources: Sequence[Sequence[int]], search: SearchConfig | None = None, *, progress: bool = False
    ) -> list[Sequence[Hypothesis]]:
        """Decodes ids that end in EOS, in batches of like length; hypotheses in the order of the sources."""
        search = search or self.config.search
        verbs = _Verbs(self.model.init_state, partial(self.model.step, hard=decodes_hard(search, self.model)))
        found: list[Sequence[Hypothesis]] = [() for _ in sources]
        with tqdm(total=len(sources), desc="decoding", unit=" sentences", disable=not progress, leave=False) as bar:
            for indices, memory, lengths in self._encoded(sources, search.batch_tokens):
                with torch.no_grad(), autocast(self.device, self.config.precision):
                    hypotheses = decode(search, verbs, memory, lengths)
                for i, best in zip(indices, hypotheses, strict=True):
                    found[i] = best
                bar.update(len(indices))
        return found

    def align(self, sources: Sequence[str], targets: Sequence[str], *, hard: bool = False) -> list[Translation]:
        """Forced alignment: what the attention reads while the model is made to write the given targets.

        The score of each is the log-probability of its target. Raises UserError for a text that is too long, and for
        `hard` where the attention cannot choose one position.
        """
        if hard:
            decodes_hard(revised(self.config.search, {"name": "greedy", "n_best": 1, "mode": "hard"}), self.model)
        self.refuse_long(sources)
        self.refuse_long(targets)
        pairs = list(zip(self.tokenizers.source.encode(sources), self.tokenizers.target.encode(targets), strict=True))
        self._refuse_many_tokens([source for source, _ in pairs], range(len(pairs)))
        results: list[Translation | None] = [None] * len(pairs)
        order = fixed_order(np.array([len(s) for s, _ in pairs]), max_tokens=self.config.search.batch_tokens)
        for indices in order:
            batch = collate([(np.array(pairs[i][0]), np.array(pairs[i][1])) for i in indices]).to(self.device)
            with torch.no_grad(), autocast(self.device, self.config.precision):
                loss = self.model(batch, hard=hard)
            scores = (-loss.token_losses.sum(1)).tolist()
            for i, row, score in zip(indices, loss.attention.weights.cpu(), scores, strict=True):
                source, target = pairs[i]
                hypothesis = Hypothesis(tuple(target), score, score, row[: len(target)], None)
                results[i] = self._translation(source, hypothesis)
        return [result for result in results if result is not None]

    def _encoded(self, sources: Sequence[Sequence[int]], max_tokens: int) -> Iterator[tuple[np.ndarray, Any, Tensor]]:
        """Encoded batches: which sources, their memory, their lengths."""
        for indices in fixed_order(np.array([len(source) for source in sources]), max_tokens=max_tokens):
            batch = collate([(np.array(sources[i]), np.array([EOS])) for i in indices]).to(self.device)
            with torch.no_grad(), autocast(self.device, self.config.precision):
                yield indices, self.model.encode(batch.source, batch.source_mask), batch.source_mask.sum(1)

    def _translation(self, source: Sequence[int], hypothesis: Hypothesis) -> Translation:
        delays = getattr(hypothesis, "delays", None)
        return Translation(
            text=self.tokenizers.target.decode(hypothesis.tokens),
            score=hypothesis.score,
            tokens=tuple(self.tokenizers.target.pieces(hypothesis.tokens)),
            source_tokens=tuple(self.tokenizers.source.pieces(source)),
            alignment=hypothesis.weights[:, : len(source)].numpy(),
            stops=None if hypothesis.stops is None else hypothesis.stops.numpy(),
            delays=None if delays is None else delays.numpy(),
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


def decodes_hard(search: SearchConfig, model: Seq2Seq) -> bool:
    """Whether this search reads this model's attention hard. Raises UserError where they do not go together."""
    supports_hard = model.supports_hard
    if search.mode == "hard" and not supports_hard:
        raise UserError(
            "search.mode=hard needs an attention that can choose one position, and this model's cannot: choose "
            "search.mode=soft, or train with attention=monotonic, mocha, matcha, milk or stochastic"
        )
    if search.name == "online" and not model.online:
        raise UserError(
            "online decoding writes while it reads: it needs encoder=lstm (one-way), decoder.init_hidden=zeros and an "
            "attention that stops (attention=monotonic, mocha, matcha or milk); train such a model, or choose "
            "search=greedy or search=beam"
        )
    return search.name == "online" or (search.mode != "soft" and supports_hard)


def load(run: str | Path, *, checkpoint: str = "best", device: str = "auto") -> Translator:
    """The translator of a run folder (or of one of its checkpoints' folders).

    checkpoint: best, last, or average where the run made one. Raises UserError where the folder is damaged or no run.
    """
    model, tokenizers, config = load_model(Path(run), checkpoint)
    return Translator(model.to(choose(device)), tokenizers, config)
