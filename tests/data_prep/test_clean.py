import pytest

from data_prep.clean import checked, drop_reason
from mt.data.corpus import Example
from mt.data.dataset import CleaningConfig
from mt.errors import UserError

PLACES = ("d/test.en, line", "d/test.de, line")


@pytest.mark.parametrize(
    ("source", "target", "reason"),
    [
        ("a b", "c d", None),
        ("", "c d", "empty"),
        ("a b", " ", "empty"),
        ("a", "b c", "shorter than 2 words (min_length)"),
        ("a b c d e f", "a b c", "longer than 5 words (max_length)"),
        ("a b", "a b c d e f", "longer than 5 words (max_length)"),
        ("a b", "a b c d e", "length ratio over 2 (max_ratio)"),
        ("  a b  ", "a b c d e", "length ratio over 2 (max_ratio)"),
        ("a1234 b", "a b c d e", None),  # not in characters
        ("a b", "a1234567 b", None),  # not in words
        ("a b", "a b c d", None),
    ],
)
def test_drop_reasons(source: str, target: str, reason: str | None) -> None:
    config = CleaningConfig(min_length=2, max_length=5, max_ratio=2.0)
    assert drop_reason(source, target, config) == reason


def test_a_source_of_100_000_tokens_is_dropped_from_train() -> None:
    assert drop_reason("word " * 100_000, "wort", CleaningConfig()) == "longer than 100 words (max_length)"


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("disillusioned", "D IH2 S IH0 L UW1 ZH AH0 N D"),  # spelling and phones
        ("Christopher", "クリストファー"),
        ("internationalisation", "i n t e r n a t i o n a l i s a t i o n"),
        ("b", "b e e"),
    ],
)
def test_a_word_stays_beside_its_phones_or_letters(source: str, target: str) -> None:
    for pair in ((source, target), (target, source)):
        assert drop_reason(*pair, CleaningConfig()) is None


def test_dev_and_test_stay_whole() -> None:
    pairs = [Example("a", "b"), Example("a", "b"), Example("a " * 500, "b")]
    assert list(checked(pairs, CleaningConfig(), PLACES)) == pairs


def test_blank_references_are_none() -> None:
    pairs = [Example("a", "b", "0-0", ("", "c", " \t", "d ", "\u200b")), Example("a", "b", "", (" ",))]
    assert list(checked(pairs, CleaningConfig(), PLACES)) == [Example("a", "b", "0-0", ("c", "d ")), Example("a", "b")]


def test_an_empty_line_of_test_is_refused() -> None:
    for blank in (" ", "\u3000", "\u200b \ufeff", "\u00ad"):
        with pytest.raises(UserError, match=r"d/test\.de, line 2 is empty, .*: fill it in, or remove the line"):
            list(checked([Example("a", "b"), Example("a", blank)], CleaningConfig(), PLACES))
        assert drop_reason("a", blank, CleaningConfig()) == drop_reason("a", "", CleaningConfig())


def test_a_line_of_100_000_tokens_in_test_is_refused() -> None:
    with pytest.raises(UserError, match=r"d/test\.en, line 1 has 100,000 words, more than the 10,000 of"):
        list(checked([Example("word " * 100_000, "b")], CleaningConfig(), PLACES))
