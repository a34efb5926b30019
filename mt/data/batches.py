"""Batches of similar length under a token budget, and the padded tensors they become.

`collate` pads pairs to tensors, and `with_links` adds the links of their tokens. `batch_order` orders the batches of an
epoch of training, and `fixed_order` those of evaluation. All orders are functions of the lengths.
"""

import itertools
from collections.abc import Sequence

import numpy as np
import torch

from mt.batch import Batch
from mt.data.fields import TEXT, Field
from mt.data.tokenizer import BOS, PAD


def collate(
    pairs: Sequence[tuple[np.ndarray, np.ndarray]],
    source: Field = TEXT,
    transcripts: Sequence[np.ndarray] | None = None,
) -> Batch:
    """Pads (source row, target ids) to one batch. Targets and transcripts end in EOS. source: the field of the source
    rows."""
    sources, source_mask = source.collate([row for row, _ in pairs])
    target_out, target_mask = TEXT.collate([target for _, target in pairs])
    # The decoder reads each target one step later than it writes it.  [B, T]
    target_in = torch.cat([torch.full((len(pairs), 1), BOS), target_out[:, :-1]], dim=1)
    transcript = (None, None) if transcripts is None else TEXT.collate(transcripts)
    # The EOS of a shorter target stands at a step of padding, where PAD is read.
    return Batch(sources, source_mask, target_in.masked_fill(~target_mask, PAD), target_out, target_mask, *transcript)


def with_links(batch: Batch, piece_links: Sequence[np.ndarray]) -> Batch:
    """Returns a batch with `Batch.linked`: for each target token, a distribution over the source tokens that it is
    linked to. piece_links: the links of each pair, see `Examples.links`."""
    # [B, T, S], with 1 where two tokens are linked
    rows = torch.zeros(*batch.target_out.shape, batch.source.shape[1])
    numbers = np.repeat(np.arange(len(piece_links)), [*map(len, piece_links)])
    source, target = np.concatenate(piece_links).T
    rows[numbers, target, source] = 1.0
    # A token without links has a row of zeros, which must not become NaN.
    return batch._replace(linked=rows / rows.sum(-1, keepdim=True).clamp(min=1))


def batch_order(
    source_lengths: np.ndarray,
    target_lengths: np.ndarray,
    *,
    max_tokens: int,
    max_sentences: int | None = None,
    seed: int,
    epoch: int,
    together: int = 1,
) -> list[np.ndarray]:
    """Returns the batches of one epoch: every example once, a pure function of the arguments.

    Examples of equal lengths are mixed anew in every epoch, and so is the order of the batches.

    Args:
        source_lengths, target_lengths: [N] in tokens.
        max_tokens: most tokens of a padded batch (longest x count), on either side. A longer example comes alone.
        max_sentences: most examples of a batch; None for any number.
        together: how many batches make an update; the last update may have fewer. The batches of an update have
            similar lengths, since processes that share them wait for one another.

    Returns:
        Arrays of indices, one per batch.
    """
    random = np.random.default_rng((seed, epoch, 0))  # the 0 keeps the orders of 0.3.0
    longer = np.maximum(source_lengths, target_lengths)
    # Examples are sorted by their longer side. Those of one length run from long target to long source, those of the
    # next length the other way round, so that neighbours are similar on both sides. On Multi30k this pads 3 % at 4,096
    # tokens; a sort by (target, source) pads 6.5 %.
    difference = source_lengths - target_lengths
    turned = np.where(longer % 2 == 0, difference, -difference)
    order = np.lexsort((random.permutation(len(longer)), turned, longer))
    batches = _cut(order, longer, max_tokens, max_sentences or len(order))
    whole, rest = divmod(len(batches), together)
    # The incomplete update takes its batches from a random place, so that it may have any length.
    start = int(random.integers(whole + 1)) * together if rest else len(batches)
    others = batches[:start] + batches[start + rest :]
    # Whole updates are shuffled.
    updates = (others[i * together : (i + 1) * together] for i in random.permutation(whole))
    return [*itertools.chain.from_iterable(updates), *batches[start : start + rest]]


def fixed_order(
    source_lengths: np.ndarray, target_lengths: np.ndarray | None = None, *, max_tokens: int
) -> list[np.ndarray]:
    """Returns batches for evaluation: every example once, sorted by its longer side.

    target_lengths: None where targets are not known yet. max_tokens: see `batch_order`.
    """
    longer = source_lengths if target_lengths is None else np.maximum(source_lengths, target_lengths)
    return _cut(np.lexsort((source_lengths, longer)), longer, max_tokens, len(longer))


def _cut(order: np.ndarray, lengths: np.ndarray, max_tokens: int, max_count: int) -> list[np.ndarray]:
    # Examples are added to a batch until the padded batch, or their number, would be too large. Each is at least as
    # long as those before it.
    batches = []
    start = 0
    for position, length in enumerate(lengths[order].tolist()):
        count = position + 1 - start
        if count > 1 and (count > max_count or length * count > max_tokens):
            batches.append(order[start:position])
            start = position
    if len(order) > start:
        batches.append(order[start:])
    return batches
