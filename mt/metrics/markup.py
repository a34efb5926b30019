"""XML-BLEU (Hashimoto et al. 2019, "A High-Quality Multilingual Dataset for Structured Documentation Translation"): the
metric, and below it how texts are parted from their tags."""

from collections.abc import Sequence
from xml.parsers import expat

from mt.errors import UserError
from mt.metrics.base import Paired, References, Score, Systems
from mt.metrics.bleu import Bleu


class XmlBleu(Bleu):
    """BLEU of the texts between tags, from 0 to 100, where a text with other tags than its reference has none.

    In the signature, accuracy is the share of hypotheses that are well-formed. `match` is the share of those with the
    tags of a reference, which then counts, in the same order and nesting. The published script has Moses' tokenizer and
    no smoothing."""

    name = "xml_bleu"
    heading = "XML-BLEU"

    def _scores(self, hypotheses: Sequence[str], references: References) -> dict[str, Score]:
        pairs = _pairs(hypotheses, references)
        score = super()._scores(*_segments(pairs))[self.name]
        accuracy = 100 * sum(hypothesis is not None for hypothesis, _ in pairs) / len(pairs)
        alike = sum(hypothesis is not None and hypothesis[0] == golds[0][0] for hypothesis, golds in pairs)
        fields = f"accuracy:{accuracy:.1f}|match:{100 * alike / len(pairs):.1f}|n:{len(pairs)}"
        return {self.name: Score(score.score, f"{score.signature}|{fields}")}

    def _comparison(self, systems: Systems, references: References) -> dict[str, dict[str, Paired]]:
        # All are compared with the first reference.
        golds = [[golds[0]] for _, golds in _pairs([""] * len(references), references)]
        split = {name: _segments([*zip(map(_parsed, texts), golds, strict=True)]) for name, texts in systems.items()}
        return super()._comparison({name: texts for name, (texts, _) in split.items()}, next(iter(split.values()))[1])


Parsed = tuple[list[str], list[str]]
"""The tags of a text in order, and the texts before, between and after them."""


def _parsed(text: str) -> Parsed | None:
    tags: list[str] = []
    texts = [""]
    parser = expat.ParserCreate()

    def tag(name: str) -> None:
        tags.append(name)
        texts.append("")

    def add(data: str) -> None:
        texts[-1] += data

    parser.StartElementHandler = lambda name, attributes: tag(name)
    parser.EndElementHandler = lambda name: tag(f"/{name}")
    parser.CharacterDataHandler = add
    try:
        parser.Parse(f"<ROOT>{text}</ROOT>", True)
    except expat.ExpatError:
        return None
    # Without the root's own.
    return tags[1:-1], [text.strip() for text in texts[1:-1]]


Pair = tuple[Parsed | None, list[Parsed]]
"""A hypothesis with the references that it is compared with, which have the same tags."""


def _pairs(hypotheses: Sequence[str], references: References) -> list[Pair]:
    """Returns each hypothesis with its references. Raises UserError where one is not well-formed."""
    pairs = []
    for number, (text, group) in enumerate(zip(hypotheses, references, strict=True), start=1):
        hypothesis = _parsed(text)
        golds = [gold for gold in map(_parsed, group) if gold is not None]
        if len(golds) < len(group):
            raise UserError(f"reference {number} is no well-formed XML, of which xml_bleu is: mend it, or choose bleu")
        alike = [gold for gold in golds if hypothesis is not None and gold[0] == hypothesis[0]]
        pairs.append((hypothesis, alike or golds[:1]))
    return pairs


def _segments(pairs: Sequence[Pair]) -> tuple[list[str], list[list[str]]]:
    """Returns the texts between tags, of hypotheses and of references; blank ones where the tags are others."""
    hypotheses: list[str] = []
    references: list[list[str]] = []
    for hypothesis, golds in pairs:
        tags, texts = golds[0]
        hypotheses += hypothesis[1] if hypothesis is not None and hypothesis[0] == tags else [""] * len(texts)
        references += map(list, zip(*(texts for _, texts in golds), strict=True))
    return hypotheses, references
