import pytest

from mt.metrics.languages import language, require_language
from tests.refusals.sentences import refusal_of


def test_what_people_call_languages() -> None:
    assert [language(name) for name in (None, "1", "zh-Latn")] == ["", "", ""]
    names = ("cz", "gr", "deu", "DE-at", "news.CN.gz", "summary")
    assert [language(name) for name in names] == ["cs", "el", "deu", "de", "zh", "summary"]


HINTS = {"japanes": "did you mean japanese? ", "chinees": "did you mean chinese? "}


@pytest.mark.parametrize("name", [*HINTS, "x", "", "zh.gz", "\x1b[2J"])
def test_no_language_is_answered_with_the_nearest(name: str) -> None:
    hint = HINTS.get(name, "")
    sentence = refusal_of(lambda: require_language(name, "--target-language"))
    assert sentence.startswith("--target-language=") and f" is no language: {hint}give a code of ISO 639, " in sentence
    assert sentence.isprintable()
