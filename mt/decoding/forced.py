"""Teacher forcing: loss, attention and alignment of a model that is given the targets.

`forced_batches` yields the loss of batches of pairs. `aligned` makes translations with links of the attention, and
joins the links of two models of opposite directions where the caller gives both.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
import torch

from mt.common.links import Symmetrisation, symmetrised
from mt.data.batches import Batch, collate, fixed_order
from mt.data.fields import Raw, Row, as_list, require_texts
from mt.decoding.modes import evaluation_mode, reads_hard, require_compatible, wait_k_of
from mt.decoding.network import DecodedBatch, Part, refuse_long_rows
from mt.decoding.translation import Extraction, Linking, Translation, Units, decoded
from mt.decoding.translator import Translator
from mt.device import autocast
from mt.distributed import ALONE, ProcessGroup
from mt.errors import UserError, require_choice
from mt.models.losses import Loss
from mt.search.config import SearchConfig, revised_search
from mt.search.hypothesis import Hypothesis, Windows
from mt.text_io import normalize

# Teacher forcing: the loss and the attention of a model that is given the targets.


def forced_batches(
    network: "TorchNetwork",
    source_lengths: np.ndarray,
    target_lengths: np.ndarray,
    pairs: Callable[[np.ndarray], list[tuple[np.ndarray, np.ndarray]]],
    search: SearchConfig,
    *,
    max_tokens: int,
    processes: ProcessGroup = ALONE,
) -> Iterator[tuple[np.ndarray, Batch, Loss]]:
    """Yields the indices of each batch of pairs, the batch, and its loss with the attention.

    source_lengths, target_lengths: [N] each. Pairs of like lengths are put together, in batches of at most `max_tokens`
    on either side, padding included. pairs: returns the (source row, target ids) of indices, EOS last. search: the
    attention reads as in it. processes: each of them goes through a share of the batches.
    """
    hard = reads_hard(search, network.model)
    wait_k = wait_k_of(search, network.model)
    for indices in processes.share(fixed_order(source_lengths, target_lengths, max_tokens=max_tokens)):
        batch = collate(pairs(indices), network.field).to(network.device)
        # The context is not around the yield, where it would change how the caller computes.
        with evaluation_mode(network.model), torch.no_grad(), autocast(network.device, network.precision):
            loss = network.model(batch, hard=hard, wait_k=wait_k)
        yield indices, batch, loss


def forced_rows(
    network: "TorchNetwork", rows: Sequence[Row], targets: Sequence[Sequence[int]], search: SearchConfig
) -> Iterator[tuple[list[int], Loss]]:
    """Yields the indices of each batch of pairs, and its loss with the attention; batches are in any order.

    targets: the ids of each, EOS last. search: decides on hard or soft attention. Raises UserError where it does not
    fit the model, or a source is too long.
    """
    require_compatible(search, network.model)
    refuse_long_rows(network, network.field, rows, range(len(rows)))
    pairs = [(np.asarray(row), np.array(target)) for row, target in zip(rows, targets, strict=True)]
    batches = forced_batches(
        network,
        np.array([network.field.length(row) for row, _ in pairs]),
        np.array([len(target) for _, target in pairs]),
        lambda indices: [pairs[i] for i in indices],
        search,
        max_tokens=search.batch_tokens,
    )
    return ((indices.tolist(), loss) for indices, _, loss in batches)


class PosteriorAlignment(Part):
    """Aligns each hypothesis of an attention that mixes predictions by all of its tokens. The search knew at each step
    only the tokens before."""

    def revised(self, batch: DecodedBatch) -> Sequence[Sequence[Hypothesis]]:
        network = batch.network.in_torch()
        # All hypotheses go through the model once more, as its targets.
        flat = [hypothesis for best in batch.hypotheses for hypothesis in best]
        rows = [row for row, best in zip(batch.rows, batch.hypotheses, strict=True) for _ in best]
        for indices, loss in forced_rows(network, rows, [hypothesis.tokens for hypothesis in flat], batch.search):
            for i, weights in zip(indices, loss.attention.links.float().cpu().numpy(), strict=True):
                if flat[i].windows.stops is None:  # else another model of an ensemble has aligned it
                    flat[i] = replace(flat[i], windows=Windows.whole(weights[: len(flat[i].tokens)]))
        remaining = iter(flat)
        return [[next(remaining) for _ in best] for best in batch.hypotheses]


# Forced alignment: links by the attention of a model that is given the targets.

if TYPE_CHECKING:
    from mt.decoding.torch_network import TorchNetwork

_READS_AFTER = {"bahdanau": 2}
"""After how many steps the state that the attention asks with has read a token, by decoder; with others after 1."""


def aligned(
    translator: Translator,
    pairs: tuple[Raw | Iterable[Raw], str | Iterable[str]],
    other: Translator | None,
    method: Symmetrisation,
    *,
    hard: bool | None,
    extract: Extraction,
    shift: bool,
) -> Translation | list[Translation]:
    """Returns the alignment of a pair, or of each pair of two lists; see `Translator.align`.

    pairs: the sources and the targets. other, method: the model of the other direction, and how links of both are
    joined.
    """
    # Both sides are single texts, or lists of as many texts.
    (sources, alone), (targets, target_alone) = map(as_list, pairs)
    if alone != target_alone:
        raise UserError("align takes two texts or two lists of texts, not one of each")
    if len(sources) != len(targets):
        raise UserError(f"align takes a target for each source, and {len(targets)} for {len(sources)} were given")
    # One model gives its own links, and two models the links on which they agree.
    links = partial(_linked, hard=hard, extract=extract, shift=shift)
    if other is None:
        translations = links(translator, sources, targets)
    else:
        _require_opposite(translator, other, method)
        forward = links(translator, sources, targets)
        # Links of both models join the units of the first one.
        other = copy(other)
        other.link_units = (translator.link_units[1], translator.link_units[0])
        reverse = links(other, targets, sources)
        translations = []
        for own, back in zip(forward, reverse, strict=True):
            agreed = symmetrised(own.links, {(i, j) for j, i in back.links}, method)
            translations.append(replace(own, linking=Linking(agreed=frozenset(agreed))))
    return translations[0] if alone else translations


def _require_opposite(translator: Translator, other: Translator, method: Symmetrisation) -> None:
    """Raises UserError where there is no such method, or two models are not of opposite directions."""
    # Both models must read texts, in opposite directions.
    require_choice("symmetrise", str(method), get_args(Symmetrisation))
    if not (translator.field.written and other.field.written):
        raise UserError("symmetrisation takes two models that read texts, and one of these reads sounds or pictures")
    own, others = ((model.config.dataset.source, model.config.dataset.target) for model in (translator, other))
    if own == others and own[0] != own[1]:
        raise UserError(
            f"both models translate {own[0]} to {own[1]}, and symmetrisation takes the links of both directions: give "
            f"as the second one a run with dataset.source={own[1]} and dataset.target={own[0]}"
        )


def _linked(
    translator: Translator,
    sources: Sequence[Raw],
    targets: Sequence[Any],
    *,
    hard: bool | None,
    extract: Extraction,
    shift: bool,
) -> list[Translation]:
    """Returns translations with the targets as their texts, and links by these options. Raises UserError where they do
    not fit, or a target is no text."""
    network = translator.network.in_torch()  # What is exported is refused before its options are looked at.
    _require_links(translator, extract, shift=shift)
    steps = _READS_AFTER.get(translator.config.decoder.name, 1) if shift else 0
    # The search decides on hard or soft attention; both sides are encoded.
    search = translator.config.search
    if hard is not None:
        search = revised_search(search, {"name": "greedy", "mode": "hard" if hard else "soft"})
    require_texts(targets, "target")
    translator.refuse_long(targets)
    rows = translator.encoded(sources)
    ids = translator.tokenizers.target.encode(targets)
    # The model reads batches of pairs of like lengths.
    results: dict[int, Translation] = {}
    for indices, loss in forced_rows(network, rows, ids, search):
        hypotheses = _forced(loss, [ids[i] for i in indices], hard=reads_hard(search, network.model))
        for i, hypothesis in zip(indices, hypotheses, strict=True):
            (found,) = decoded(translator, rows[i], [hypothesis], sources[i])
            results[i] = replace(_with_text(translator, found, targets[i]), linking=Linking(extract, steps))
    translations = [results[i] for i in range(len(ids))]
    if extract == "stops" and any(translation.stops is None for translation in translations):
        raise UserError(
            "extract=stops is of an attention that chooses one position, and this one is read soft: choose argmax, or "
            "hard=True where the attention can"
        )
    return translations


def _require_links(translator: Translator, extract: Extraction, *, shift: bool) -> None:
    """Raises UserError where links cannot be made so."""
    if isinstance(extract, int | float) and not 0 < extract <= 1:
        raise UserError(f"extract={extract:g} is no weight: give a number above 0, and at most 1")
    if not isinstance(extract, int | float) and extract not in ("argmax", "stops"):
        raise UserError(f"extract={extract} is an invalid choice: give argmax, stops, or a weight between 0 and 1")
    if shift and translator.config.aligner_size:
        raise UserError("a shift is of the attention, and the links of this run are its aligner's: leave the shift out")


def _forced(loss: Loss, targets: Sequence[Sequence[int]], *, hard: bool) -> Iterator[Hypothesis]:
    """Yields the targets of a batch as hypotheses, without the steps of padding."""
    # In float64: a sum over a long target would be rounded by more than its tokens are.
    scores = (-loss.token_losses.double().sum(1)).tolist()
    # Where hard steps stopped, [B, T], -1 for nowhere; alpha is one-hot or zero.
    alpha = loss.attention.alpha if hard and loss.aligned is None else None
    stops = None if alpha is None else torch.where(alpha.any(-1), alpha.argmax(-1), -1).cpu().numpy()
    for row, (ids, weights) in enumerate(zip(targets, link_weights(loss).cpu(), strict=True)):
        # A copy, so that a kept translation does not keep the weights of its whole batch.
        windows = Windows.whole(weights[: len(ids)].clone().numpy())  # [T, S]
        if stops is not None:
            windows = windows._replace(stops=stops[row, : len(ids)])
        log_probs = (-loss.token_losses[row, : len(ids)]).tolist()
        yield Hypothesis(tuple(ids), scores[row], scores[row], windows, tuple(log_probs))


def _with_text(translator: Translator, found: Translation, text: str) -> Translation:
    """Puts back the text that the tokens of a translation were made of."""

    def find_units() -> Units:
        of_target = translator.tokenizers.target.unit_ids(text, translator.link_units[1])
        return Units(found.units.source, tuple(of_target))

    return replace(found, text=normalize(text), replacements={}, find_units=find_units)


def link_weights(loss: Loss) -> torch.Tensor:
    """Returns the weights [B, T, S] that links are made of: of the aligner where the model has one."""
    return loss.attention.links if loss.aligned is None else loss.aligned
