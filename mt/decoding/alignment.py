"""Forced alignment: the attention of a model that reads the targets as they are."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, cast

from mt.data.fields import Raw, as_list, require_texts
from mt.data.tokenizer import normalize
from mt.decoding.forced import forced_rows
from mt.decoding.modes import decodes_hard
from mt.decoding.translation import Translation
from mt.errors import UserError
from mt.search.config import waits
from mt.search.hypothesis import Hypothesis
from mt.search.revision import revised_search
from mt.search.windows import Windows

if TYPE_CHECKING:
    from mt.decoding.translator import Translator


def aligned(
    translator: "Translator", sources: Raw | Iterable[Raw], targets: str | Iterable[str], *, hard: bool | None
) -> Translation | list[Translation]:
    """Returns the alignment of a pair, or of each pair of two lists; see `Translator.align`."""
    source_list, alone = as_list(sources)
    target_list, target_alone = as_list(targets)
    if alone != target_alone:
        raise UserError("align takes two texts or two lists of texts, not one of each")
    if len(source_list) != len(target_list):
        counts = f"{len(source_list)} sources and {len(target_list)} targets"
        raise UserError(f"align takes a target for each source: {counts}")
    translations = _aligned(translator, source_list, cast(list[str], target_list), hard=hard)
    return translations[0] if alone else translations


def _aligned(
    translator: "Translator", sources: Sequence[Raw], targets: Sequence[str], *, hard: bool | None
) -> list[Translation]:
    search = translator.config.search
    target = translator.tokenizers.target
    if hard is not None:
        search = revised_search(search, {"name": "greedy", "mode": "hard" if hard else "soft"})
    hard = decodes_hard(search, translator.model)
    require_texts(targets, "target")
    translator.refuse_long(targets)
    rows = translator.encoded(sources)
    ids = target.encode(targets)
    results: dict[int, Translation] = {}
    network = translator.network.in_torch()
    max_tokens = translator.config.search.batch_tokens
    for indices, loss in forced_rows(network, rows, ids, hard=hard, wait_k=waits(search), max_tokens=max_tokens):
        scores = (-loss.token_losses.sum(1)).tolist()
        for i, weights, score in zip(indices, loss.attention.weights.cpu(), scores, strict=True):
            windows = Windows.whole(weights[: len(ids[i])].clone().numpy())
            forced = Hypothesis(tuple(ids[i]), score, score, windows, None, None)
            read = translator.read_source(rows[i], sources[i])
            target_units = target.unit_ids(targets[i], translator.link_unit)
            results[i] = translator.translation(normalize(targets[i]), read, forced, target_units)
    return [results[i] for i in range(len(ids))]
