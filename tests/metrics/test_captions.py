"""The oracle is pycocoevalcap, where it is installed, and what it gave for the same captions."""

import random

import pytest

from mt.metrics.captions import Cider, CocoBleu, CocoRouge, tokenize

COLOURS = ("red", "green", "dark blue", "grey")
SHAPES = ("circle", "square", "small plane", "storage tank")
PLACES = ("on the left", "in the middle of a field", "beside the road", "")
NAMES = ("bleu1", "bleu2", "bleu3", "bleu4", "rougeL_coco", "cider")
# pycocoevalcap 1.2, times 100, for `corpus()`.
FROZEN = (85.749891634, 80.966077781, 77.028281501, 73.608704163, 78.826644401, 317.029145711)


def caption(draw: random.Random) -> str:
    things = [f"{draw.choice(COLOURS)} {draw.choice(SHAPES)}" for _ in range(draw.randint(1, 2))]
    return f"A {' and a '.join(things)} {draw.choice(PLACES)}".strip() + draw.choice((" .", ".", ""))


def corpus() -> tuple[list[str], list[list[str]]]:
    """1,000 captions with one to five references, some of them repeats, some of one word, an empty one."""
    draw = random.Random(4)
    references = [[caption(draw) for _ in range(draw.randint(1, 5))] for _ in range(1000)]
    captions = [draw.choice((caption(draw), draw.choice(group))) for group in references]
    captions[:4] = ["", "a", "plane", "the the the the the"]
    references[5:7] = [["planes"], ["."]]
    return captions, references


def ours(captions: list[str], references: list[list[str]]) -> list[float]:
    scores = [metric.score(captions, references) for metric in (CocoBleu(), CocoRouge(), Cider())]
    result = {name: score.score for of_one in scores for name, score in of_one.items()}
    return [result[name] for name in NAMES]


def test_as_pycocoevalcap_gave_it():
    assert ours(*corpus()) == pytest.approx(FROZEN, abs=1e-6)


@pytest.mark.parametrize(
    ("caption", "words"),
    [
        ("A man's dog, isn't it?", "a man 's dog is n't it"),
        (
            "Two t-shirts (one) -- and 1,000.5 ducks at 3:15...",
            "two t-shirts -lrb- one -rrb- and 1,000.5 ducks at 3:15",
        ),
        ('the "big" one; they\'re 5% off & I cannot', "the big one they 're 5 % off & i can not"),
        ("U.S. flag near Mr. Smith's o'clock .", "u.s. flag near mr. smith 's o'clock"),
        ("ein Café\tüber\n日本", "ein café über 日本"),
        (" . ", ""),
    ],
)
def test_tokens_of_plain_captions(caption: str, words: str):
    assert " ".join(tokenize(caption)) == words
    assert " ".join(tokenize(words)) == words, "what is tokenised stays"


def test_the_signature_tells_what_the_references_are():
    references = [["A dog.", "a dog", "two dogs"], ["a cat"]]
    for metric in (CocoBleu(), CocoRouge(), Cider()):
        for score in metric.score(["a dog", "a cat"], references).values():
            fields = "refs:4|repeats:1|tok:ptb-regex|case:lower|punct:removed|version:coco|n:2"
            assert score.signature == f"nrefs:var|{fields}"
