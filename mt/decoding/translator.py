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

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, cast, get_args, overload

import numpy as np
import torch

from mt.config import Config
from mt.data.fields import Raw, ReadSource, Row, as_list, require_texts
from mt.data.tokenizer import Tokenizers, Unit, normalize
from mt.decoding.base import BaseTranslator
from mt.decoding.batches import decode_ids
from mt.decoding.delays import delays
from mt.decoding.forced import forced_batches
from mt.decoding.model import DecodableModel, single_model
from mt.decoding.modes import decodes_hard
from mt.decoding.streaming import Session, StreamingModel, refuse_offline
from mt.decoding.translation import Translation
from mt.distributed import ALONE, ProcessGroup
from mt.errors import UserError, invalid_choice
from mt.kernels.int8 import int8_copy
from mt.models.seq2seq import Loss
from mt.search.config import (
    Precision,
    SearchConfig,
    is_online,
    online_search,
    require_search,
    revised_search,
    waits,
)
from mt.search.hypothesis import Hypothesis
from mt.search.windows import Windows


class Translator(BaseTranslator):
    """A trained model in torch; see `BaseTranslator`."""

    config: Config

    def __init__(
        self,
        model: DecodableModel,
        tokenizers: Tokenizers,
        config: Config,
        processes: ProcessGroup = ALONE,
        *,
        precision: Precision | None = None,
    ) -> None:
        """processes: decode together, each a share of what all of them are given alike.

        precision: of products; by default the run's, or fp32 where that is fp16 and the device a CPU.
        Raises UserError for int8 on another device than a CPU.
        """
        super().__init__(tokenizers, config)
        self.model = model.eval()
        self.processes = processes
        self.device = next(model.parameters()).device
        own: Precision = config.precision
        if own == "fp16" and self.device.type == "cpu":  # which is several times as slow in it
            own = "fp32"
        self.precision: Precision = precision or own
        self._chosen = precision
        if self.precision == "int8" and self.device.type != "cpu":
            raise UserError(f"precision=int8 is for CPUs, and device={self.device} is none: choose precision=bf16")
        self._search_model = int8_copy(self.model) if self.precision == "int8" else self.model
        self.max_source_length, self.chunk_size = model.max_source_length, model.chunk_size

    def __repr__(self) -> str:
        config = self.config
        parameters = sum(parameter.numel() for parameter in self.model.parameters())
        return (
            f"Translator(dataset={config.dataset.name}, encoder={config.encoder.name}, "
            f"attention={config.attention.name}, decoder={config.decoder.name}: {parameters:,} parameters on "
            f"{self.device})"
        )

    @overload
    def align(  # type: ignore[overload-overlap]
        self, sources: Raw, targets: str, *, hard: bool | None = None
    ) -> Translation: ...

    @overload
    def align(
        self, sources: Iterable[Raw], targets: Iterable[str], *, hard: bool | None = None
    ) -> list[Translation]: ...

    def align(
        self, sources: Raw | Iterable[Raw], targets: str | Iterable[str], *, hard: bool | None = None
    ) -> Translation | list[Translation]:
        """Forced alignment: the attention while the model is given the targets, token by token.

        hard: whether the attention chooses one position; by default as the run decodes. The score of each is the
        log-probability of its target. Raises UserError for a text that is too long, and for `hard` where the attention
        cannot choose.
        """
        (given, alone), (texts, text_alone) = as_list(sources), as_list(targets)
        if alone != text_alone:
            raise UserError("align takes two texts or two lists of texts, not one of each")
        if len(given) != len(texts):
            raise UserError(f"align takes a target for each source: {len(given)} sources and {len(texts)} targets")
        aligned = self._aligned(given, cast(list[str], texts), hard=hard)
        return aligned[0] if alone else aligned

    def _aligned(self, sources: Sequence[Raw], targets: Sequence[str], *, hard: bool | None) -> list[Translation]:
        search = self.config.search
        if hard is not None:
            search = revised_search(search, {"name": "greedy", "mode": "hard" if hard else "soft"})
        hard = decodes_hard(search, self.model)
        require_texts(targets, "target")
        self.refuse_long(targets)
        rows, ids = self._encoded(sources), self.tokenizers.target.encode(targets)
        results: dict[int, Translation] = {}
        for indices, loss in self.forced(rows, ids, hard=hard, wait_k=waits(search)):
            scores = (-loss.token_losses.sum(1)).tolist()
            for i, weights, score in zip(indices, loss.attention.weights.cpu(), scores, strict=True):
                windows = Windows.whole(weights[: len(ids[i])].clone().numpy())
                forced = Hypothesis(tuple(ids[i]), score, score, windows, None, None)
                read = self._read(rows[i], sources[i])
                target_units = self.tokenizers.target.unit_ids(targets[i], self.link_unit)
                results[i] = self._translation(normalize(targets[i]), read, forced, target_units)
        return [results[i] for i in range(len(ids))]

    def forced(
        self, rows: Sequence[Row], ids: Sequence[Sequence[int]], *, hard: bool, wait_k: int | None = None
    ) -> Iterator[tuple[list[int], Loss]]:
        """What the model says while it is given the targets, batch by batch: indices of the pairs, loss and attention.

        rows: see `decode`; ids: of the targets, EOS last. hard, wait_k: how the attention reads. Raises UserError
        where the model is not defined for so long a source.
        """
        self._refuse_long_sources(rows, range(len(rows)))
        pairs = [(np.asarray(row), np.array(target)) for row, target in zip(rows, ids, strict=True)]
        batches = forced_batches(
            self.model,
            np.array([max(self.field.length(row), len(target)) for row, target in pairs]),
            lambda indices: [pairs[i] for i in indices],
            precision=self.precision,
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
        require_search(search)
        search = self.search_for(search)
        if unit not in (None, *get_args(Unit)):
            raise UserError(invalid_choice("unit", str(unit), get_args(Unit)))
        refuse_offline(self.model, search)
        decodes_hard(search, self.model)  # raises where they do not go together
        return Session(StreamingModel(single_model(self.model), self.tokenizers, search, unit or self.unit, self.field))

    def search_for(self, search: SearchConfig | None) -> SearchConfig:
        """As there. Raises UserError where a precision was chosen that this search does not compute in."""
        search = super().search_for(search)
        if is_online(search) and self._chosen not in (None, "fp32"):
            raise UserError(
                f"precision={self._chosen} is not for search={search.name}, which computes in fp32, so that what it "
                "decides does not depend on the batch: leave it out"
            )
        return search

    def _hypotheses(self, rows: Sequence[Row], search: SearchConfig, progress: bool) -> Sequence[Sequence[Hypothesis]]:
        return decode_ids(
            self._search_model,
            rows,
            search,
            vocab_size=len(self.tokenizers.target),
            precision=self.precision,
            field=self.field,
            progress=progress,
            processes=self.processes,
        )

    def _encoded_lengths(self, lengths: Sequence[int]) -> list[int]:
        return self.model.encoded_lengths(torch.tensor(lengths)).tolist()

    def _delays(self, source: ReadSource, hypothesis: Hypothesis) -> dict[str, Any]:
        return delays(self.tokenizers.target, source, hypothesis, self.model.frontend.needed)
