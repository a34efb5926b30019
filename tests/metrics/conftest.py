import random
from collections.abc import Callable

import pytest

Corpus = Callable[..., tuple[list[str], list[list[str]]]]
WORDS = [letter * length for letter in "abcdeäß日" for length in (1, 2, 3)] + ["", " ", "."]


@pytest.fixture
def random_corpus() -> Corpus:
    """Makes `count` hypotheses of 0 to 12 words, and one to `most` references for each, which share words with it."""

    def made(seed: int, count: int = 60, most: int = 1) -> tuple[list[str], list[list[str]]]:
        draw = random.Random(seed)
        references = [
            [" ".join(draw.choices(WORDS, k=draw.randrange(1, 13))) for _ in range(draw.randint(1, most))]
            for _ in range(count)
        ]
        changed = [[word for word in group[0].split(" ") if draw.random() < 0.8] for group in references]
        return [" ".join([*words, *draw.choices(WORDS, k=draw.randrange(3))]) for words in changed], references

    return made
