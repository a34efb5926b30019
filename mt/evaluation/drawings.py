"""Heatmaps of the first translations of a split, with gold links and the times of words where they are known."""

from collections.abc import Collection, Iterator, Sequence
from difflib import SequenceMatcher
from typing import TYPE_CHECKING

from mt.data.split import Split
from mt.data.tokenizer import units
from mt.decoding.translation import Translation
from mt.decoding.translator import Translator
from mt.decoding.word_links import in_words
from mt.evaluation.timing import boundaries
from mt.metrics.alignment import Link, parse_pharaoh

if TYPE_CHECKING:  # matplotlib takes long to load, and a training draws late
    from mt.plots import Figure


def drawings(
    translator: Translator, translations: Sequence[Translation], split: Split, *, words: bool | None = None
) -> Iterator[tuple[int, Translation, "Figure"]]:
    """Yields the first `training.plots` translations of a split with their numbers and heatmaps; nothing of an empty
    one, and nothing where the model attends to nothing.

    words: whether heatmaps are of words, in place of pieces; by default as `training.plot_words` says.
    """
    options = translator.config.training
    if not translator.model.uses_source or not options.plots:
        return
    by_word = options.plot_words if words is None else words
    sources = split.column("source")[: options.plots]
    links = gold_links(split, [translation.text for translation in translations[: options.plots]])
    ends = boundaries(split, options.plots)
    for number, (translation, source, gold, seconds) in enumerate(
        zip(translations, sources, links, ends, strict=False)
    ):
        if translation.tokens:
            linked = in_words(translator, translation, source)
            yield number, translation, linked.figure(boundaries=seconds, words=by_word, gold=gold)


def gold_links(split: Split, hypotheses: Sequence[str]) -> list[Collection[Link] | None]:
    """Returns for each of the first examples the gold links that hold for its hypothesis too, between words of the
    source and of the hypothesis: those of the words that hypothesis and target have in common, in the same order. None
    for an example without links."""
    lines = split.links()[: len(hypotheses)]
    golds = parse_pharaoh(lines, "the gold alignments")
    targets = split.column("target")[: len(hypotheses)]
    links: list[Collection[Link] | None] = []
    for line, gold, target, hypothesis in zip(lines, golds, targets, hypotheses, strict=True):
        positions = _shared_words(target, hypothesis)
        links.append({(i, positions[j]) for i, j in gold.possible if j in positions} if line else None)
    return links


def _shared_words(target: str, hypothesis: str) -> dict[int, int]:
    """Returns the positions in a hypothesis of the words that it shares with a target, by their positions there."""
    blocks = SequenceMatcher(None, units(target, "word"), units(hypothesis, "word"), autojunk=False)
    return {
        block.a + offset: block.b + offset for block in blocks.get_matching_blocks() for offset in range(block.size)
    }
