import pytest

from mt.data.words import count_words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", 0),
        (" \t\u3000\u2028", 0),
        ("one two,  three", 3),
        ("私はペンを持つ", 7),
        ("iPhoneを買う", 4),
        ("x" * 20, 1),
        ("x" * 41, 3),
        ("x" * 100_000, 5_000),
    ],
)
def test_count_words(text: str, words: int) -> None:
    assert count_words(text) == words
