"""Word links, drawings and records of a split. First come gold links and the alignment error rate, then the heatmaps of
the first translations, and last the records of all translations."""

from collections.abc import Collection, Iterator, Sequence
from difflib import SequenceMatcher
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mt.common.links import Links, parse_pharaoh, require_inside
from mt.common.terminal import note
from mt.data.dataset import LINK_UNITS
from mt.data.split import Split
from mt.data.tokenizer import units
from mt.decoding.record import record, runners_up
from mt.decoding.translation import Translation, in_units
from mt.decoding.translator import Translator
from mt.errors import UserError
from mt.evaluation.timing import boundaries
from mt.metrics.alignment import AlignmentScore, Linkable, alignment_error_rate, note_numbers, read_gold_links
from mt.metrics.sentence import SentenceChrf
from mt.search.config import SearchConfig

# Gold links of pairs of texts, and the alignment error rate against them.


def alignment_error(
    lines: Sequence[str], gold: Sequence[str], linkable: Sequence[Linkable] | None = None
) -> AlignmentScore:
    """Computes the AER of Pharaoh lines against gold lines, in percent, over the pairs that have gold links. linkable:
    see `alignment_error_rate`."""
    known = [i for i, line in enumerate(gold) if line]
    hypotheses = [links.possible for links in parse_pharaoh(lines, "the alignments")]
    golds = parse_pharaoh(gold, "the gold alignments")
    return alignment_error_rate(
        [hypotheses[i] for i in known],
        [golds[i] for i in known],
        None if linkable is None else [linkable[i] for i in known],
    )


def read_gold(
    path: Path, beside: Path, sources: Sequence[str], targets: Sequence[str], words: str | None, *, one_based: bool
) -> list[Links]:
    """Returns the gold links of pairs of texts. Prints notes if words seem to be counted from 1 and not from 0, and
    if the kind of words is not given but matters.

    path, beside, one_based: see `read_gold_links`. words: a key of LINK_UNITS; None: marks. Raises UserError if a line
    is wrong, or links words that the pair does not have.
    """
    unit = LINK_UNITS[words or "marks"]
    gold, naacl = read_gold_links(path, beside, sources, one_based=one_based)
    first_number = int(one_based or naacl)
    advice = "" if first_number else ", give --one-based if they count from 1"
    advice += "" if words == "blanks" else ", and --words blanks if their words are what stands between blanks"
    # A link to a missing word shows that these links count other words, or count them from another number.
    pairs = list(zip(sources, targets, strict=True))
    lengths = [(len(units(source, unit)), len(units(target, unit))) for source, target in pairs]
    place = "sentence" if naacl else "line"
    for number, (links, counts) in enumerate(zip(gold, lengths, strict=True), start=1):
        require_inside(links, counts, f"{path}, {place} {number}", first=first_number, advice=lambda: advice)
    # All links lie inside, and still may count from 1, where no word 0 has a link.
    if not first_number:
        note_numbers(gold, path)
    # If words between blanks are different ones, and the user has not chosen, a note asks.
    between_blanks = [(len(units(source, "spaced")), len(units(target, "spaced"))) for source, target in pairs]
    different = sum(length != blanks for length, blanks in zip(lengths, between_blanks, strict=True))
    if different and words is None:
        note(
            f"{different} of {len(gold)} pairs have other words between blanks: give --words blanks if the gold "
            "links count those, or --words marks if punctuation marks are words of theirs"
        )
    return gold


# Heatmaps of the first translations of a split, with gold links and the times of words if they are known.

if TYPE_CHECKING:  # matplotlib takes long to load, and a training draws late
    from mt.plots import Figure


def drawings(
    translator: Translator, translations: Sequence[Translation], split: Split, *, words: bool | None = None
) -> Iterator[tuple[int, Translation, "Figure"]]:
    """Yields the first `training.plots` translations of a split with their numbers and heatmaps. Empty translations are
    skipped, and models without attention have no heatmaps.

    words: whether heatmaps show words instead of pieces; by default as `training.plot_words` says.
    """
    options = translator.config.training
    if not translator.model.uses_source or not options.plots:
        return
    # Gold links, and where sounds of units end, are drawn with the attention.
    by_word = options.plot_words if words is None else words
    sources = split.column("source")[: options.plots]
    links = gold_links(split, [translation.text for translation in translations[: options.plots]])
    ends = boundaries(split, options.plots)
    # Not strict, since only the first sentences are drawn.
    for number, (translation, source, gold, seconds) in enumerate(
        zip(translations, sources, links, ends, strict=False)
    ):
        if translation.tokens:
            linked = in_units(translator, translation, source, "word")
            of_shared, shared = gold or (None, None)
            possible = None if of_shared is None else of_shared.possible
            figure = linked.figure(boundaries=seconds, words=by_word, gold=possible, known=shared)
            yield number, translation, figure


def gold_links(split: Split, hypotheses: Sequence[str]) -> list[tuple[Links, Collection[int]] | None]:
    """Carries the gold links of the first examples over to their hypotheses. Links are known only for the words that a
    hypothesis shares with its target, in the same order.

    Returns for each example the links between words of the source and of the hypothesis, and the positions of the words
    that they are known for; None for an example without gold links."""
    lines = split.links()[: len(hypotheses)]
    golds = parse_pharaoh(lines, "the gold alignments")
    targets = split.column("target")[: len(hypotheses)]
    links: list[tuple[Links, Collection[int]] | None] = []
    for line, gold, target, hypothesis in zip(lines, golds, targets, hypotheses, strict=True):
        positions = _shared_words(target, hypothesis) if line else {}
        sides = (gold.sure, gold.possible)
        moved = Links(*(frozenset((i, positions[j]) for i, j in side if j in positions) for side in sides))
        links.append((moved, positions.values()) if line else None)
    return links


def _shared_words(target: str, hypothesis: str) -> dict[int, int]:
    """Returns the words that a hypothesis shares with a target: their positions in the hypothesis, by those in the
    target."""
    # By default difflib overlooks frequent words in texts of 200 words and more.
    blocks = SequenceMatcher(None, units(target, "word"), units(hypothesis, "word"), autojunk=False)
    return {
        block.a + offset: block.b + offset for block in blocks.get_matching_blocks() for offset in range(block.size)
    }


# The records of all translations of a split, for the page of its alignments.

IMAGES = 32 << 20
"""The most bytes of pictures and spectrograms in the records of a split, since a browser loads the whole page."""


def records(
    translator: Translator,
    translations: Sequence[Translation],
    split: Split,
    search: SearchConfig,
    links: Sequence[str] = (),
    linkable: Sequence[Linkable] = (),
) -> Iterator[dict[str, Any]]:
    """Yields the record of each translation of a split (see `mt.decoding.record`), with the chrF of the sentence, and
    with gold links and AER if there are any.

    links, linkable: of the forced alignments, for AER. All processes of an evaluation must exhaust this iterator.
    """
    # The runners-up of all translations are decoded together, in batches.
    numbers = range(len(translations))
    encoded = split.read(np.array(numbers)).sources
    replays = runners_up(translator, encoded, [translation.ids for translation in translations], search)
    # Columns of the split, a value for each pair.
    sources = split.column("source")
    references = split.column("references")
    golds = gold_links(split, [translation.text for translation in translations])
    ends = boundaries(split, len(translations))
    chrf = SentenceChrf()
    images = 0
    for number in numbers:
        source = sources[number]
        translation = translations[number]
        if golds[number]:  # which join words
            translation = in_units(translator, translation, source, "word")
        plain = record(
            translator,
            translation,
            source,
            references=references[number],
            replay=replays[number],
            backdrop=images < IMAGES,
            boundaries=ends[number] if ends else (),
        )
        # Later sentences have no pictures once a page has enough.
        images += len(plain.get("backdrop", {}).get("image", ""))
        plain["scores"] = {"chrf": round(float(chrf.matrix([translation.text], references[number]).max()), 2)}
        if gold := golds[number]:
            of_shared, shared = gold
            marked = [f"{i}{'-' if (i, j) in of_shared.sure else 'p'}{j}" for i, j in sorted(of_shared.possible)]
            plain["gold"] = {"links": " ".join(marked), "words": sorted(shared)}
            plain |= _sentence_aer(split, number, links, linkable)
        yield plain


def _sentence_aer(split: Split, number: int, links: Sequence[str], linkable: Sequence[Linkable]) -> dict[str, float]:
    """Returns the AER of the forced alignment of one pair; nothing if no gold link is sure."""
    if not links:
        return {}
    try:
        score = alignment_error([links[number]], [split.links()[number]], linkable=[linkable[number]])
    except UserError:
        return {}
    return {"aer": round(score.score, 2)}
