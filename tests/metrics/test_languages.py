import pytest

from mt.metrics.languages import language, require_language
from tests.refusals.sentences import refusal_of


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (None, ""),
        ("1", ""),
        ("zh-Latn", ""),
        ("cz", "cs"),
        ("gr", "el"),
        ("deu", "deu"),
        ("DE-at", "de"),
        ("news.CN.gz", "zh"),
        ("summary", "summary"),
    ],
)
def test_what_people_call_languages(name, expected) -> None:
    assert language(name) == expected


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("japanes", "did you mean japanese? "),
        ("chinees", "did you mean chinese? "),
        ("x", ""),
        ("", ""),
        ("zh.gz", ""),
        ("\x1b[2J", ""),
    ],
)
def test_no_language_is_answered_with_the_nearest(name, hint) -> None:
    sentence = refusal_of(lambda: require_language(name, "--target-language"))
    assert sentence.startswith("--target-language=") and f" is no language: {hint}give a code of ISO 639, " in sentence
    assert sentence.isprintable()
