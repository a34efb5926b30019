"""A pass over a split under teacher forcing: loss, word links, and statistics of the attention."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from mt.common.links import project, to_pharaoh
from mt.data.split import Split
from mt.data.tokenizer import LinkUnit
from mt.decoding.forced import forced_batches, link_weights
from mt.decoding.translation import links_between_pieces
from mt.decoding.translator import Translator
from mt.metrics.alignment import Linkable
from mt.models.attention.base import AttentionOutput
from mt.search.config import GreedyConfig, SearchConfig
from mt.search.hypothesis import Windows

# Statistics of attention, and warnings if they show a known failure.
#
# The advice is from the practitioner's guides of the papers (Raffel et al. 2017, appendix G; Chiu & Raffel 2018,
# appendix A; Arivazhagan et al. 2019, section 5.4).

DECIDED = 0.05
"""A probability of stopping counts as saturated within this distance of 0 or 1."""


class AttentionStats:
    """Means over all real target steps of the batches that were added. Only sums and positions are stored."""

    def __init__(self) -> None:
        self._sums: dict[str, float] = {}
        self._counts: dict[str, int] = {}
        self._positions: list[Tensor] = []

    def add(self, output: AttentionOutput, source_mask: Tensor, target_mask: Tensor) -> None:
        """Adds a batch. source_mask: [B, S]; target_mask: [B, T], bool."""
        # How even the attention is: its entropy, also as a share of the largest entropy possible.
        lengths = source_mask.sum(1)  # [B]
        weights = output.weights  # [B, T, S]
        # Not w * log w, which is NaN for a weight of 0.
        entropy = -torch.special.xlogy(weights, weights).sum(-1)  # [B, T]
        # A source of one position says nothing: its largest entropy is log 1 = 0.
        longer = target_mask & (lengths > 1)[:, None]
        self._mean("entropy", entropy[target_mask])
        self._mean("normalized_entropy", (entropy / lengths[:, None].log())[longer])
        # Where the attention is: at an end of the source, and how far it jumps between steps.
        chosen = weights if output.alpha is None else output.alpha
        positions = torch.where(chosen.any(-1), chosen.argmax(-1), -1)  # [B, T]
        self._positions.append(positions[target_mask].cpu())
        self._mean("at_first", (positions == 0)[longer])
        self._mean("at_last", (positions == lengths[:, None] - 1)[longer])
        selected = positions >= 0
        moves = target_mask[:, 1:] & selected[:, 1:] & selected[:, :-1]
        self._mean("jump", positions.diff(dim=1).abs()[moves])
        # Of monotonic attention: how much has left the sentence, and how saturated the probabilities of stopping are.
        if output.p_choose is not None and output.alpha is not None:
            self._mean("lost_mass", (1 - output.alpha.sum(-1))[target_mask])
            p_choose = output.p_choose[target_mask[..., None] & source_mask[:, None]]
            self._mean("saturation", (p_choose - 0.5).abs() > 0.5 - DECIDED)

    def merge(self, other: "AttentionStats") -> None:
        """Adds the batches of another instance."""
        for name, total in other._sums.items():
            self._sums[name] = self._sums.get(name, 0.0) + total
            self._counts[name] = self._counts.get(name, 0) + other._counts[name]
        self._positions += other._positions

    def scores(self) -> dict[str, float]:
        """Returns the means by name. entropy: of the weights, in nats; normalized_entropy: entropy as a share of the
        largest that is possible; at_first, at_last: share of steps whose most probable position is the first or the
        last; jump: positions between those of successive steps, where both have one. Of monotonic attention also
        lost_mass: share of attention that has left the sentence; saturation: share of stopping probabilities that are
        nearly 0 or 1."""
        return {name: total / max(self._counts[name], 1) for name, total in self._sums.items()}

    def disagreement(self, other: "AttentionStats") -> float:
        """Returns the share of steps whose most probable position differs from that in `other`, which has the same
        batches."""
        return (torch.cat(self._positions) != torch.cat(other._positions)).float().mean().item()

    def _mean(self, name: str, values: Tensor) -> None:
        self._sums[name] = self._sums.get(name, 0.0) + values.float().sum().item()
        self._counts[name] = self._counts.get(name, 0) + values.numel()


def warnings(stats: Mapping[str, float]) -> Iterator[str]:
    """Yields a warning for each known failure that the scores show."""
    # Soft attention fails if it does not align at all.
    if "saturation" not in stats:
        if stats.get("normalized_entropy", 0.0) > 0.9:
            yield (
                f"attention is nearly even over the source ({stats['normalized_entropy']:.0%} of the largest entropy): "
                "it has not begun to align; train on, or raise optimizer.lr or its warm-up"
            )
        return
    # Monotonic attention fails if its pointer stays at an end, or if training expects another attention than hard
    # decoding has.
    if stats["lost_mass"] > 0.5:
        yield (
            f"{stats['lost_mass']:.0%} of the attention has left the sentence: raise attention.energy_bias towards 0, "
            "or set attention.mass_preservation=true"
        )
    elif stats["at_first"] > 0.9:
        yield (
            f"the pointer stays at the first position in {stats['at_first']:.0%} of the steps: make "
            "attention.energy_bias more negative, so that it moves, or lower attention.noise_std"
        )
    elif stats["at_last"] > 0.9:
        yield (
            f"the pointer is at the last position in {stats['at_last']:.0%} of the steps: raise attention.energy_bias "
            "towards 0, so that it stops earlier"
        )
    if stats.get("disagreement", 0.0) > 0.3:
        yield (
            f"soft and hard attention differ in {stats['disagreement']:.0%} of the steps, so that hard decoding is "
            "not what is being trained: train on, or raise attention.noise_std"
        )


# A pass over a split under teacher forcing: loss, attention statistics and word links.

SOFT = GreedyConfig(mode="soft")


@dataclass(frozen=True)
class TeacherForcedResult:
    """The loss and the attention of a model that reads the targets of a split, token by token."""

    loss: float
    """Nats per target token, EOS included, without label smoothing."""
    stats: AttentionStats
    links: list[str]
    """The word alignment of each pair in Pharaoh format; empty if links were not asked for."""
    linkable: list[Linkable]
    """The words of each pair that links can join."""

    @property
    def perplexity(self) -> float:
        """Returns the perplexity per target token, EOS included."""
        # Beyond exp(709) there are no floats.
        return math.exp(min(self.loss, 700.0))


def teacher_forced_pass(
    translator: Translator, split: Split, search: SearchConfig = SOFT, *, links: bool = False
) -> TeacherForcedResult:
    """Passes over a split once under teacher forcing; processes share the batches.

    search: the attention reads as in it; by default soft. links: whether to make word alignments, too.
    """
    network = translator.network.in_torch()
    share: list[_BatchResult] = []
    sources, targets = (split.column(name) if links else [] for name in ("source", "target"))
    # Links join words if there are gold links to compare them with, since those join words.
    gold = links and any(split.links())
    units: tuple[LinkUnit, LinkUnit] = ("word", "word") if gold else translator.link_units
    batches = forced_batches(
        network,
        *split.lengths(),
        lambda indices: split.read(indices).pairs,
        search,
        max_tokens=translator.config.training.batch_tokens,
        processes=network.processes,
    )
    for indices, batch, loss in batches:
        result = _BatchResult(loss.sum.item(), loss.tokens.item(), AttentionStats(), {})
        result.stats.add(loss.attention, loss.source_mask, batch.target_mask)
        share.append(result)
        if not links:
            continue
        # Attention between pieces becomes links between words.
        lengths = loss.source_mask.sum(1).tolist()
        for i, weights, length in zip(indices, link_weights(loss).float().cpu().numpy(), lengths, strict=True):
            target = translator.tokenizers.target.unit_ids(targets[i], units[1])
            source = translator.field.units(length, translator.tokenizers.source, units[0], sources[i])
            windows = Windows.whole(weights[: len(target), : len(source)])
            joined = to_pharaoh(project(links_between_pieces(windows), source, target))
            result.links[i] = joined, ({*source}, {*target})
    # The sums over all batches, and the links in the order of the pairs.
    results = network.processes.merged(share)
    stats = AttentionStats()
    of_pairs: dict[int, tuple[str, Linkable]] = {}
    for result in results:
        stats.merge(result.stats)
        of_pairs |= result.links
    ordered = [of_pairs[i] for i in sorted(of_pairs)]
    # Over all tokens, and not over batches, of which some have fewer.
    mean_loss = sum(result.loss for result in results) / sum(result.tokens for result in results)
    return TeacherForcedResult(mean_loss, stats, [line for line, _ in ordered], [words for _, words in ordered])


class _BatchResult(NamedTuple):
    """Sums over one batch."""

    loss: float
    tokens: float
    stats: AttentionStats
    links: dict[int, tuple[str, Linkable]]
    """By the index of a pair: its links in Pharaoh format, and the words that links can join."""
