"""Scores of a model on a split: teacher-forced loss, decoded text against raw references, alignments against gold."""

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch

from mt.data.batches import collate, fixed_order
from mt.data.corpus import Split
from mt.device import autocast
from mt.evaluation.attention_stats import AttentionStats
from mt.inference import Translation, Translator, decodes_hard
from mt.metrics.alignment import alignment_error_rate, links_from_weights, parse_pharaoh, project, to_pharaoh
from mt.metrics.latency import latency
from mt.metrics.score import Score
from mt.parsing import revised
from mt.search.config import SearchConfig


@dataclass(frozen=True)
class Evaluation:
    """A decoded split with its scores."""

    translations: list[Translation]
    scores: dict[str, Score]
    seconds: float
    """Of decoding."""

    @property
    def tokens_per_second(self) -> float:
        """Target tokens written, EOS included."""
        return sum(len(translation.tokens) for translation in self.translations) / self.seconds


def evaluate(
    translator: Translator, split: Split, search: SearchConfig, *, limit: int | None = None, progress: bool = False
) -> Evaluation:
    """Decodes a split (its first `limit` sentences) and scores it by the metrics of its dataset."""
    sources, references = split.column("source")[:limit], split.column("references")[:limit]
    began = time.perf_counter()
    translations = translator.translate(sources, search, progress=progress)
    seconds = time.perf_counter() - began
    scores: dict[str, Score] = {}
    for metric in translator.config.metrics():
        scores |= metric.score([translation.text for translation in translations], references)
    if search.name == "online":
        scores |= latency(
            [t.delays.tolist() for t in translations if t.delays is not None],
            [len(t.source_tokens) for t in translations if t.delays is not None],
        )
    return Evaluation(translations, scores, seconds)


@torch.no_grad()
def teacher_forced(
    translator: Translator, split: Split, *, hard: bool = False, stats: AttentionStats | None = None
) -> dict[str, float]:
    """loss: nats per target token, EOS included, without smoothing; perplexity. stats: gets the attention of every batch."""
    model, device = translator.model.eval(), translator.device
    loss = tokens = 0.0
    for indices in fixed_order(split.lengths()[0], max_tokens=translator.config.training.batch_tokens):
        batch = collate(split.ids(indices)).to(device)
        with autocast(device, translator.config.precision):
            found = model(batch, hard=hard)
        loss += found.sum.item()
        tokens += int(found.tokens)
        if stats is not None:
            stats.add(found.attention, found.source_mask, batch.target_mask)
    return {"loss": loss / tokens, "perplexity": math.exp(min(loss / tokens, 700.0))}


def forced_links(translator: Translator, sources: Sequence[str], targets: Sequence[str], *, hard: bool) -> list[str]:
    """Word alignments in Pharaoh format: each target word with the source word that has most of its attention."""
    tokenizers = translator.tokenizers
    return [
        pharaoh(forced.alignment, tokenizers.source.unit_ids(source), tokenizers.target.unit_ids(target))
        for source, target, forced in zip(sources, targets, translator.align(sources, targets, hard=hard), strict=True)
    ]


def pharaoh(weights: np.ndarray, source: Sequence[int | None], target: Sequence[int | None]) -> str:
    """A line of Pharaoh format out of attention weights [T, S] between pieces: each target piece links its unit to that
    of the source piece with its largest weight. source: [S], target: [T], what `Tokenizer.unit_ids` gives."""
    return to_pharaoh(project(links_from_weights(weights), source, target))


def alignment_error(lines: Sequence[str], gold: Sequence[str], name: str = "the gold alignments") -> Score:
    """AER of Pharaoh lines against gold ones, in percent. name: what to call the gold lines where one is wrong."""
    return alignment_error_rate(
        [links.possible for links in parse_pharaoh(lines, "the alignments")], parse_pharaoh(gold, name)
    )


class Validation(NamedTuple):
    scores: dict[str, float]
    translations: list[Translation]
    attention_stats: dict[str, float]
    """Of the attention; empty where there is none."""


def dev_scores(translator: Translator, split: Split, limit: int | None) -> Validation:
    """What a validation measures, decoding greedily.

    Where the attention can be hard, losses and scores are also given as `<name>_soft` and `<name>_hard`, with
    `gap_<name>` what is lost from soft to hard; the plain `<name>` is what the run's own search would see. `loss` is
    that of training.
    """
    soft, hard = AttentionStats(), AttentionStats()
    scores = teacher_forced(translator, split, stats=soft)
    stats = {} if not translator.model.uses_source else soft.scores()
    greedy = revised(translator.config.search, {"name": "greedy", "n_best": 1})
    if not translator.model.supports_hard:
        decoded = evaluate(translator, split, greedy, limit=limit)
        return Validation(scores | _values(decoded), decoded.translations, stats)
    losses = {"soft": scores["loss"], "hard": teacher_forced(translator, split, hard=True, stats=hard)["loss"]}
    by_mode = {mode: evaluate(translator, split, revised(greedy, {"mode": mode}), limit=limit) for mode in losses}
    used = by_mode["hard" if decodes_hard(greedy, translator.model) else "soft"]
    for mode, decoded in by_mode.items():
        named = {"loss": losses[mode]} | _values(decoded)
        scores |= {f"{name}_{mode}": value for name, value in named.items()}
    scores |= _values(used)
    for name in ("loss", *used.scores):
        scores[f"gap_{name}"] = scores[f"{name}_hard"] - scores[f"{name}_soft"]
    return Validation(scores, used.translations, stats | {"disagreement": soft.disagreement(hard)})


def _values(evaluation: Evaluation) -> dict[str, float]:
    return {name: score.score for name, score in evaluation.scores.items()}
