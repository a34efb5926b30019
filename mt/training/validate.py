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
from mt.data.tokenizer import word_index
from mt.data.words import words
from mt.device import autocast
from mt.metrics.alignment import alignment_error_rate, links_from_weights, parse_pharaoh, project, to_pharaoh
from mt.metrics.latency import latency
from mt.metrics.score import Score
from mt.parsing import revised
from mt.search.config import SearchConfig
from mt.training.health import Health
from mt.training.loss import token_loss
from mt.translator import Translation, Translator, decodes_hard


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
    translator: Translator, split: Split, *, hard: bool = False, health: Health | None = None
) -> dict[str, float]:
    """loss: nats per target token, EOS included, without smoothing; perplexity. health: is told what was read."""
    model, device = translator.model.eval(), translator.device
    loss = tokens = 0.0
    for indices in fixed_order(split.lengths()[0], max_tokens=translator.config.training.batch_tokens):
        batch = collate(split.ids(indices)).to(device)
        with autocast(device, translator.config.precision):
            features, reads = model(batch.source, batch.source_mask, batch.target_in, hard=hard)
            total = token_loss(model.decoder.output, features, batch.target_out, batch.target_mask)
        loss += total.item()
        tokens += int(batch.target_mask.sum())
        if health is not None:
            health.add(reads, batch.source_mask, batch.target_mask)
    return {"loss": loss / tokens, "perplexity": math.exp(min(loss / tokens, 700.0))}


def forced_links(translator: Translator, sources: Sequence[str], targets: Sequence[str], *, hard: bool) -> list[str]:
    """Word alignments in Pharaoh format: each target word with the source word that it reads most when forced."""
    return [
        word_links(
            forced.alignment, translator.tokenizers.source.split(source), translator.tokenizers.target.split(target)
        )
        for source, target, forced in zip(sources, targets, translator.align(sources, targets, hard=hard), strict=True)
    ]


def word_links(weights: np.ndarray, source: Sequence[str], target: Sequence[str]) -> str:
    """A word alignment in Pharaoh format out of attention weights [T, S] between pieces.

    source: [S], target: [T] pieces. Words are those of `mt.data.words.words`; each target piece brings the link to the
    source piece that it reads most.
    """
    return to_pharaoh(project(links_from_weights(weights), _words_of(source), _words_of(target)))


def _words_of(pieces: Sequence[str]) -> list[int | None]:
    """For each piece the index of its word, None for EOS."""
    # As it is decoded, an unknown piece is one mark, and not the word between two that its name would be.
    spelt = ["⁇" if piece == "<unk>" else piece for piece in pieces]
    text = "".join(piece for piece in spelt if piece != "</s>").replace("▁", " ")
    return [None if index < 0 else index for index in word_index(words(text), spelt)]


def alignment_error(lines: Sequence[str], gold: Sequence[str], name: str = "the gold alignments") -> Score:
    """AER of Pharaoh lines against gold ones, in percent. name: what to call the gold lines where one is wrong."""
    return alignment_error_rate(
        [links.possible for links in parse_pharaoh(lines, "the alignments")], parse_pharaoh(gold, name)
    )


class Validation(NamedTuple):
    scores: dict[str, float]
    translations: list[Translation]
    health: dict[str, float]
    """Of the attention; empty where there is none."""


def dev_scores(translator: Translator, split: Split, limit: int | None) -> Validation:
    """What a validation measures, decoding greedily.

    Where the attention can be hard, losses and scores are also given as `<name>_soft` and `<name>_hard`, with
    `gap_<name>` what is lost from soft to hard; the plain `<name>` is what the run's own search would see. `loss` is
    that of training.
    """
    soft, hard = Health(), Health()
    scores = teacher_forced(translator, split, health=soft)
    health = {} if translator.model.attention.blind else soft.scores()
    greedy = revised(translator.config.search, {"name": "greedy", "n_best": 1})
    if not translator.model.attention.can_be_hard:
        decoded = evaluate(translator, split, greedy, limit=limit)
        return Validation(scores | _values(decoded), decoded.translations, health)
    losses = {"soft": scores["loss"], "hard": teacher_forced(translator, split, hard=True, health=hard)["loss"]}
    by_mode = {mode: evaluate(translator, split, revised(greedy, {"mode": mode}), limit=limit) for mode in losses}
    used = by_mode["hard" if decodes_hard(greedy, translator.model) else "soft"]
    for mode, decoded in by_mode.items():
        named = {"loss": losses[mode]} | _values(decoded)
        scores |= {f"{name}_{mode}": value for name, value in named.items()}
    scores |= _values(used)
    for name in ("loss", *used.scores):
        scores[f"gap_{name}"] = scores[f"{name}_hard"] - scores[f"{name}_soft"]
    return Validation(scores, used.translations, health | {"disagreement": soft.disagreement(hard)})


def _values(evaluation: Evaluation) -> dict[str, float]:
    return {name: score.score for name, score in evaluation.scores.items()}
