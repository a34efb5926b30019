"""One pass over a split under teacher forcing: loss, attention statistics and word links."""

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
    """What a model does when the targets of a split are given to it, token by token."""

    loss: float
    """Nats per target token, EOS included, without label smoothing."""
    stats: AttentionStats
    links: list[str]
    """For each pair its word alignment in Pharaoh format; none where they were not asked for."""

    @property
    def perplexity(self) -> float:
        """Per target token, EOS included."""
        return math.exp(min(self.loss, 700.0))


def teacher_forced_pass(
    translator: Translator, split: Split, *, hard: bool = False, wait_k: int | None = None, links: bool = False
) -> TeacherForcedResult:
    """hard: whether the attention decides, where it can. wait_k: see `Seq2Seq.wait`. links: whether to make word
    alignments, too."""
    processes = translator.processes
    share = []
    sources, targets = (split.column(name) if links else [] for name in ("source", "target"))
    # Gold links join words, and are compared with.
    unit = "word" if links and any(split.links()) else translator.unit
    batches = forced_batches(
        translator.model,
        split.lengths()[0],
        split.ids,
        precision=translator.precision,
        hard=hard,
        max_tokens=translator.config.training.batch_tokens,
        wait_k=wait_k,
        source=split.source,
        processes=processes,
    )
    for indices, batch, found in batches:
        part = _BatchResult(found.sum.item(), found.tokens.item(), AttentionStats(), {})
        part.stats.add(found.attention, found.source_mask, batch.target_mask)
        share.append(part)
        if not links:
            continue
        lengths = found.source_mask.sum(1).tolist()
        for i, weights, length in zip(indices, found.attention.weights.float().cpu().numpy(), lengths, strict=True):
            target = translator.tokenizers.target.unit_ids(targets[i], unit)
            source = translator.field.units(length, translator.tokenizers.source, unit, sources[i])
            part.links[i] = pharaoh(weights[: len(target), : len(source)], source, target)
    return _merge(processes.merged(share))


class _BatchResult(NamedTuple):
    """Of one batch."""

    loss: float
    tokens: float
    stats: AttentionStats
    links: dict[int, str]
    """By the index of the pair."""


def _merge(parts: Sequence[_BatchResult]) -> TeacherForcedResult:
    """parts: in the order of the batches, in which their numbers are added up."""
    loss = tokens = 0.0
    stats, lines = AttentionStats(), dict[int, str]()
    for part in parts:
        loss += part.loss
        tokens += part.tokens
        stats.merge(part.stats)
        lines |= part.links
    return TeacherForcedResult(loss / tokens, stats, [lines[i] for i in sorted(lines)])
