"""A pass over a split under teacher forcing: loss, attention statistics and word links."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from mt.data.split import Split
from mt.decoding.forced import forced_batches
from mt.decoding.translator import Translator
from mt.evaluation.attention_stats import AttentionStats
from mt.evaluation.links import pharaoh


@dataclass(frozen=True)
class TeacherForcedResult:
    """The loss and the attention of a model that reads the targets of a split, token by token."""

    loss: float
    """Nats per target token, EOS included, without label smoothing."""
    stats: AttentionStats
    links: list[str]
    """The word alignment of each pair in Pharaoh format; empty where none were made."""

    @property
    def perplexity(self) -> float:
        """Returns the perplexity per target token, EOS included."""
        return math.exp(min(self.loss, 700.0))


def teacher_forced_pass(
    translator: Translator, split: Split, *, hard: bool = False, wait_k: int | None = None, links: bool = False
) -> TeacherForcedResult:
    """Passes over a split once under teacher forcing; processes share the batches.

    hard: whether the attention decides, where it can. wait_k: see `Seq2Seq.wait`. links: whether to make word
    alignments, too.
    """
    network = translator.network.in_torch()
    share: list[_BatchResult] = []
    sources, targets = (split.column(name) if links else [] for name in ("source", "target"))
    # Gold links join words, and these links are compared with them.
    unit = "word" if links and any(split.links()) else translator.unit
    batches = forced_batches(
        network.model,
        split.lengths()[0],
        split.ids,
        precision=network.precision,
        hard=hard,
        max_tokens=translator.config.training.batch_tokens,
        wait_k=wait_k,
        source=split.source,
        processes=network.processes,
    )
    for indices, batch, loss in batches:
        result = _BatchResult(loss.sum.item(), loss.tokens.item(), AttentionStats(), {})
        result.stats.add(loss.attention, loss.source_mask, batch.target_mask)
        share.append(result)
        if not links:
            continue
        lengths = loss.source_mask.sum(1).tolist()
        for i, weights, length in zip(indices, loss.attention.weights.float().cpu().numpy(), lengths, strict=True):
            target = translator.tokenizers.target.unit_ids(targets[i], unit)
            source = translator.field.units(length, translator.tokenizers.source, unit, sources[i])
            result.links[i] = pharaoh(weights[: len(target), : len(source)], source, target)
    return _merge(network.processes.merged(share))


class _BatchResult(NamedTuple):
    """Sums over one batch."""

    loss: float
    tokens: float
    stats: AttentionStats
    links: dict[int, str]
    """By the index of the pair."""


def _merge(results: Sequence[_BatchResult]) -> TeacherForcedResult:
    """Adds up results, which are in the order of the batches."""
    loss = 0.0
    tokens = 0.0
    stats = AttentionStats()
    lines: dict[int, str] = {}
    for result in results:
        loss += result.loss
        tokens += result.tokens
        stats.merge(result.stats)
        lines |= result.links
    return TeacherForcedResult(loss / tokens, stats, [lines[i] for i in sorted(lines)])
