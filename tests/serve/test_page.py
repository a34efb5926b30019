"""The page of the server in a real browser: what it asks is what the routes take, and what they answer is drawn."""

import re
from base64 import b64decode
from io import BytesIO
from typing import Any
from urllib.parse import urlencode

import pytest

from mt import Translator

pytestmark = pytest.mark.slow

TEXT = "the big cats see houses"


@pytest.fixture(scope="module")
def address(serving, hard: Translator, translator: Translator, sounds: Translator):
    with serving({"soft": translator, "hard": hard, "sounds": sounds}, local=True) as client:
        yield f"http://127.0.0.1:{client.port}/"


def opened(tab: Any, address: str, /, **state: str) -> None:
    tab.goto("about:blank")
    tab.goto(f"{address}#{urlencode(state)}")


def translation(tab: Any) -> list[str]:
    tab.locator(".detail .target .word").first.wait_for()
    return [word for word in tab.locator(".detail").first.locator(".target .word").all_inner_texts() if word != "⏎"]


def test_a_text_is_translated_as_it_is_typed(tab, address: str, translator: Translator) -> None:
    opened(tab, address)
    tab.get_by_role("textbox", name="source").press_sequentially(TEXT, delay=20)
    expected = translator.translate(TEXT).text
    for _ in range(20):  # the runners-up come when nobody has typed for a while
        tab.wait_for_timeout(200)
        tab.locator(".target .word").first.hover()
        if tab.locator(".runners li").count() == 6:
            break
    assert " ".join(translation(tab)) == expected
    assert "probability" in tab.locator(".said").inner_text() and tab.locator(".runners li").count() == 6


def test_the_beam_terms_and_two_runs(tab, address: str) -> None:
    opened(tab, address, text=TEXT, beam="3", tree="1", avoid="Katzen", beside="hard")
    assert "Katzen" not in translation(tab)
    assert tab.locator(".detail h2").all_inner_texts() == ["soft", "hard"]
    assert tab.locator("svg.tree .branch.best").count() >= 2
    opened(tab, address, text=TEXT, must="Brücken")
    assert "Brücken" in translation(tab)
    opened(tab, address, text=TEXT, glossary="houses = Brücken")
    assert "Brücken" in translation(tab)


def test_a_microphone_is_recorded_as_a_wav_file(tab, address: str, microphone) -> None:
    soundfile = pytest.importorskip("soundfile", reason="needs the extra `speech`")
    opened(tab, address, run="sounds")
    microphone()
    tab.get_by_role("button", name="record").click()
    tab.get_by_role("button", name="stop").wait_for()
    tab.wait_for_timeout(600)
    with tab.expect_request("**/api/translate") as asked:
        tab.get_by_role("button", name="stop").click()
    samples, rate = soundfile.read(BytesIO(b64decode(asked.value.post_data_json["audio"])), dtype="int16")
    assert rate == 8000 and len(samples) >= 1024 and abs(samples).max() > 1000
    tab.locator(".detail .target .word").first.wait_for()


@pytest.mark.parametrize("state", [{"run": "sounds"}, {"run": "hard", "recogniser": "sounds", "again": "no"}])
def test_captions_of_a_microphone(tab, address: str, microphone, state: dict[str, str]) -> None:
    opened(tab, address, tab="captions", **state)
    microphone()
    tab.get_by_role("button", name="listen").click()
    tab.get_by_role("button", name="stop listening").wait_for()
    tab.wait_for_timeout(600)
    tab.get_by_role("button", name="stop listening").click()
    tab.locator(".caption .line", has_text=re.compile(r"\S")).first.wait_for()
    assert "words ever changed\n0" in tab.locator(".caption").inner_text()
