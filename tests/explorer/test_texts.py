"""Texts of several sentences on the live page, HTML, and what a mouse can reach."""

from typing import Any

import pytest

from tests.explorer.server import OFFLINE, shown

pytestmark = pytest.mark.slow


def walk(tab: Any, *places: Any) -> None:
    """Moves the mouse over the middles of elements in a straight line, as a hand does."""
    for place in places:
        box = place.bounding_box()
        tab.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2, steps=25)


def test_an_alternative_is_reached_by_a_mouse_that_leaves_the_word(serve, tab) -> None:
    server = serve(OFFLINE, address="#text=the+old+house", drawn=True)
    word = tab.locator(".target .word").filter(has_text="alte")
    walk(tab, word)
    assert "A click on the word pins this." in tab.locator(".said").inner_text()
    runner = tab.locator(".runners button").filter(has_text="neue")
    walk(tab, runner)
    assert "“alte” looks at" in tab.locator(".said").inner_text()  # which stays when the word is left
    tab.mouse.down()
    tab.mouse.up()
    tab.get_by_text("word 2 begins with “neue”").wait_for()
    assert server.asked[-1]["prefix_ids"] == [10, 21]


def test_a_pinned_word_keeps_what_is_said_of_it(serve, tab) -> None:
    serve(OFFLINE, address="#text=the+old+house", drawn=True)
    words = tab.locator(".target .word")
    walk(tab, words.nth(1))
    tab.mouse.down()
    tab.mouse.up()
    walk(tab, words.nth(2), words.nth(0), tab.locator(".source .word").first, tab.locator(".runners"))
    said = tab.locator(".said").inner_text()
    assert said.startswith("“alte” looks at") and "Pinned; another click on the word lets it go." in said
    words.nth(1).click()
    walk(tab, words.nth(2))
    assert tab.locator(".said").inner_text().startswith("“Haus” looks at")


SEVERAL = "The old house. It is big!\n\nThe end."


def test_a_text_is_translated_sentence_by_sentence(serve, tab) -> None:
    server = serve(OFFLINE)
    tab.get_by_role("textbox", name="source").fill(SEVERAL)
    sentences = tab.locator(".whole .sentence")
    sentences.nth(2).wait_for()
    whole = "das alte Haus das alte Haus\n\ndas alte Haus"
    assert tab.locator(".whole .text").inner_text() == whole
    texts = [asked["text"] for asked in server.asked if asked["path"] == "/api/translate"]
    assert {*texts} == {"The old house.", "It is big!", "The end."}
    # The last one is drawn, where the cursor is; a click draws another. None is asked for again.
    assert tab.locator(".sentence.chosen").count() == 1
    assert tab.locator(".source .word").all_inner_texts()[:3] == ["the", "old", "house"]
    tab.wait_for_timeout(700)
    count = len(server.asked)
    sentences.first.click()
    tab.locator(".sentence.chosen >> nth=0").wait_for()
    assert sentences.first.get_attribute("aria-pressed") == "true" and len(server.asked) == count + 1  # how it is cut
    tab.get_by_role("textbox", name="source").fill(SEVERAL.replace("big", "small"))
    tab.wait_for_timeout(700)
    later = [asked["text"] for asked in server.asked[count:] if asked["path"] == "/api/translate"]
    assert {*later} == {"It is small!"}


def test_what_is_tried_out_is_of_one_sentence(serve, tab) -> None:
    server = serve(OFFLINE, address="#text=One+house.+Two+houses.&must=Haus&avoid=Baum")
    tab.locator(".whole .sentence").nth(1).wait_for()
    tab.wait_for_timeout(700)
    tab.get_by_role("button", name="alte", exact=True).click()
    tab.get_by_role("button", name="neue").click()
    tab.get_by_text("word 2 begins with “neue”").wait_for()
    tried = [asked for asked in server.asked if asked.get("prefix_ids")]
    assert {asked["text"] for asked in tried} == {"One house."}
    asked = [asked for asked in server.asked if asked["path"] == "/api/translate"]
    assert {(one["text"], one["avoid"][0], "constraints" in one) for one in asked} == {
        ("One house.", "Baum", True),
        ("Two houses.", "Baum", False),
    }
    tab.locator(".whole .sentence").nth(1).click()
    tab.get_by_role("button", name="as the model has it").wait_for(state="detached")
    tab.locator(".whole .sentence").first.click()
    tab.get_by_role("button", name="as the model has it").wait_for()  # it is kept for its sentence


def test_html_is_one_document(serve, tab) -> None:
    server = serve(OFFLINE)
    tab.get_by_role("textbox", name="source").fill("<p>the <b>old</b> house. So?</p>")
    tab.locator(".whole pre").wait_for()
    asked = server.asked[-1]
    assert asked["format"] == "html" and "top" not in asked and asked["text"] == "<p>the <b>old</b> house. So?</p>"
    assert tab.locator(".whole pre").inner_text() == "<P>THE <B>OLD</B> HOUSE. SO?</P>"
    assert tab.locator(".whole b").count() == 0  # it is shown as text
    tab.get_by_role("button", name="take it as plain text").click()
    shown(tab)
    assert "format" not in server.asked[-1]
    tab.get_by_role("button", name="take it as HTML").click()
    tab.locator(".whole pre").wait_for()
    tab.get_by_role("textbox", name="source").fill("if a < b and c > d")
    shown(tab)


@pytest.mark.parametrize("secure", [True, False])
def test_the_translation_is_copied(serve, tab, secure: bool) -> None:
    serve(OFFLINE, address="#text=One.+Two.")
    tab.locator(".whole .sentence").nth(1).wait_for()
    tab.evaluate(
        """secure => {
        const clipboard = {writeText: async text => { window.copied = text; }};
        Object.defineProperty(navigator, "clipboard", {value: secure ? clipboard : undefined});
        document.execCommand = () => { window.copied = document.activeElement.value; };
    }""",
        secure,
    )
    tab.get_by_role("button", name="copy the translation").click()
    tab.get_by_text("copied").wait_for()
    assert tab.evaluate("window.copied") == "das alte Haus das alte Haus"


def test_words_that_the_model_is_unsure_of_are_told_by_colour_and_line(serve, tab) -> None:
    server = serve(OFFLINE)
    server.record = {"word_confidence": [0.9, 0.2, 0.7]}
    tab.get_by_role("textbox", name="source").fill("One. Two.")
    tab.locator(".whole .sentence").nth(1).wait_for()
    assert tab.locator(".target .word.unsure").all_inner_texts() == ["alte"]
    assert tab.locator(".sentence .unsure").all_inner_texts() == ["alte", "alte"]
    look = "node => [getComputedStyle(node).color, getComputedStyle(node).textDecorationStyle]"
    styles = [tab.locator(".sentence .unsure").first.evaluate(look), tab.locator(".sentence").first.evaluate(look)]
    assert styles[0][0] != styles[1][0] and styles[0][1] == "dotted"
    assert tab.locator(".target .unsure").get_attribute("title") == "unsure: 20\xa0%"
    assert "the model is less than 50\xa0% sure" in tab.locator(".detail").last.inner_text()


def test_a_line_of_a_glossary_that_is_no_term_is_told(serve, tab) -> None:
    server = serve(OFFLINE, address="#text=the+old+house&glossary=house+%3D+Haus", drawn=True)
    assert tab.locator(".fault").inner_text() == ""
    tab.get_by_label("glossary").fill("house = Haus\ntrain Bahn\na = b = c\n")
    told = "Line 2, “train Bahn”, is no term and is left out: write source = target."
    assert tab.locator(".fault").inner_text() == told
    tab.wait_for_timeout(150)
    assert server.asked[-1]["glossary"] == [{"source": "house", "target": "Haus"}, {"source": "a", "target": "b = c"}]
