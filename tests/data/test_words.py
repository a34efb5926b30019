import pytest

from mt.data.words import count_words, first_words, units_of_characters


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
        ("ä" * 21 + " b", 3),
        ("größer\u00a0als\x1cb", 3),
    ],
)
def test_count_words(text: str, words: int) -> None:
    assert count_words(text) == words


@pytest.mark.parametrize(
    ("text", "limit", "first"),
    [
        ("one two,  three ", None, "one two,  three "),
        ("one two,  three ", 3, "one two,  three "),
        (" one two,  three", 2, " one two,"),
        ("one", 1, "one"),
        ("", 1, ""),
        ("私はペンを持つ", 4, "私はペン"),
        ("x" * 41, 2, "x" * 40),
    ],
)
def test_first_words(text: str, limit: int | None, first: str) -> None:
    assert first_words(text, limit) == first
    assert limit is None or count_words(first) <= limit


def test_a_character_belongs_to_the_unit_of_the_composed_word() -> None:
    assert units_of_characters("a\u0308b! c", "word") == [0, 0, 0, 1, 2]
