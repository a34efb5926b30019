"""The live page in a real browser, against a server that answers as ours does and notes what it was asked."""

import json
import re
from itertools import pairwise
from typing import Any

import pytest

from mt.explorer import page
from tests.explorer.conftest import HOUSE, a_record

pytestmark = pytest.mark.slow

HOST = "127.0.0.1:9"
TEXT = {
    "name": "en-de",
    "source": "en",
    "target": "de",
    "field": "text",
    "unit": "word",
    "streams": True,
    "forces": True,
}
OFFLINE = {**TEXT, "name": "slow", "streams": False, "forces": False}
SOUND = {**TEXT, "name": "spoken", "field": "audio", "rate": 8000}
PICTURE = {**OFFLINE, "name": "seen", "field": "image"}
TREE = [
    [-1, "", 0, 0, "open"],
    [0, "▁das", -0.1, -0.1, "best"],
    [0, "▁ein", -2.0, -2.0, "dropped"],
    [1, "▁alte", -0.5, -0.4, "best"],
    [1, "▁neue", -0.6, -0.5, "dropped"],
    [2, "▁Haus", -3.0, -2.5, "dropped"],
    [3, "</s>", -0.6, -0.4, "best"],
]

ASKED = {
    *("run", "text", "audio", "image", "search", "n_best", "format", "constraints", "avoid", "prefix", "glossary"),
    *("prefix_ids", "force", "top", "tree", "target", "hard", "gold"),
}
"""What our routes take; another name is refused."""


class Server:
    """Answers the requests of a tab, and words over a WebSocket by the same words in capitals."""

    def __init__(self, tab: Any, *runs: dict[str, Any], key: str | None = None) -> None:
        self.asked: list[dict[str, Any]] = []
        self.received: list[Any] = []
        self.status = 200
        self.record: dict[str, Any] = {}
        self.key = key
        self._page = page("mt", runs, live=True)
        tab.route(f"http://{HOST}/**", self._answer)
        tab.route_web_socket(f"ws://{HOST}/api/stream", self._stream)

    def _answer(self, route: Any) -> None:
        request = route.request
        if request.method == "GET":
            route.fulfill(body=self._page, content_type="text/html; charset=utf-8")
            return
        if self.key is not None and request.headers.get("authorization") != f"Bearer {self.key}":
            route.fulfill(status=401, json={"error": "this server asks for a key"})
            return
        body = request.post_data_json
        assert set(body) <= ASKED, body
        self.asked.append({"path": request.url.split(HOST)[1], **body})
        if request.url.endswith("/api/sentences"):
            route.fulfill(json={"run": body["run"], "sentences": re.findall(r"[^.!?。\n]+[.!?。\n]*\s*", body["text"])})
            return
        record = {**HOUSE, "source": body.get("text", ""), **self.record}
        if self.status != 200:
            route.fulfill(status=self.status, json={"error": "the text is too long"})
        elif request.url.endswith("/api/align"):
            route.fulfill(json={"run": body["run"], "translation": record, "aer": 25.0})
        elif body.get("format") == "html":
            route.fulfill(json={"run": body["run"], "translations": [{"text": body["text"].upper()}], "tree": None})
        else:
            tree = {"nodes": TREE} if body.get("tree") else None
            route.fulfill(json={"run": body["run"], "translations": [record], "tree": tree})

    def _stream(self, socket: Any) -> None:
        words: list[str] = []
        first: dict[str, Any] = {}

        def hear(message: Any) -> None:
            content = message if isinstance(message, bytes) else json.loads(message)
            self.received.append(content)
            if isinstance(content, bytes):
                words.append(f"w{len(words)}")
                socket.send(json.dumps({"read": 100 * len(words), "written": words[-1:], "words": words, "changed": 0}))
            elif not first:
                first.update(content)
            elif "words" in content:
                new = [word.upper() for word in content["words"].split()]
                words.extend(new)
                if first.get("retranslate"):  # the last word but one becomes another
                    shown = [*words[:-2], *(word.lower() for word in words[-2:-1]), words[-1]]
                    answer = {"text": " ".join(shown), "words": shown}
                else:
                    answer = {"written": new, "words": words}
                socket.send(json.dumps({"read": len(words), "changed": 0, **answer}))
            else:
                socket.send(
                    json.dumps(
                        {"read": len(words), "words": words, "written": [], "text": " ".join(words), "done": True}
                    )
                )
                words.clear()

        socket.on_message(hear)


@pytest.fixture
def serve(tab: Any):
    def opened(*runs: dict[str, Any], address: str = "", key: str | None = None) -> Server:
        server = Server(tab, *runs, key=key)
        tab.goto(f"http://{HOST}/{address}")
        return server

    return opened


def shown(tab: Any) -> None:
    tab.locator(".detail .target .word").first.wait_for()


def test_a_translation_follows_each_key(serve, tab) -> None:
    server = serve(OFFLINE)
    tab.get_by_role("textbox", name="source").press_sequentially("the old house", delay=60)
    shown(tab)
    tab.wait_for_timeout(150)
    texts = [asked["text"] for asked in server.asked]
    assert texts[-1] == "the old house" and len(texts) >= 8
    assert all("the old house".startswith(text) for text in texts)
    assert tab.locator(".target .word").all_inner_texts() == ["das", "alte", "Haus", "⏎"]
    assert tab.locator(".said-of").inner_text().endswith(" ms")


def test_one_question_is_under_way_and_the_latest_comes_next(serve, tab) -> None:
    server = serve(OFFLINE)
    tab.evaluate("""() => {
        const own = window.fetch;
        window.fetch = async (...asked) => { await new Promise(done => setTimeout(done, 200)); return own(...asked); };
    }""")
    tab.get_by_role("textbox", name="source").press_sequentially("the old house", delay=20)
    shown(tab)  # what was asked of first is shown, though more was typed
    tab.wait_for_timeout(900)
    texts = [asked["text"] for asked in server.asked]
    assert texts[0] == "t" and texts[-1] == "the old house" and len(texts) <= 7
    assert (
        "top" not in server.asked[0] and server.asked[-1]["top"] == 6
    )  # runners-up, when nothing was typed for a while


def test_a_streamed_model_writes_word_by_word_and_takes_nothing_back(serve, tab) -> None:
    server = serve(TEXT)
    seen: list[str] = []
    for key in "the old house ":
        tab.get_by_role("textbox", name="source").press_sequentially(key)
        tab.wait_for_timeout(30)
        seen.append(tab.locator(".growing").inner_text())
    assert seen[-1] == "THE OLD HOUSE" and all(b.startswith(a) for a, b in pairwise(seen))
    assert server.received == [{"run": "en-de"}, {"words": "the"}, {"words": "old"}, {"words": "house"}]
    shown(tab)  # after a pause, with what it looked at
    tab.get_by_role("textbox", name="source").fill("another ")  # another source is another stream
    tab.wait_for_timeout(50)
    assert tab.locator(".growing").inner_text() == "ANOTHER"


def test_an_alternative_is_taken_by_a_click_or_by_keys(serve, tab) -> None:
    server = serve(OFFLINE, address="#text=the+old+house")
    shown(tab)
    tab.get_by_role("button", name="alte").click()
    tab.get_by_role("button", name="neue").click()
    tab.get_by_text("word 2 begins with “neue”").wait_for()
    assert server.asked[-1]["prefix_ids"] == [10, 21]
    tab.get_by_role("button", name="as the model has it").click()
    tab.get_by_text("word 2 begins with “neue”").wait_for(state="detached")
    count = len(server.asked)  # the model's own is known
    tab.locator(".target .word").first.focus()
    tab.keyboard.press("Enter")
    tab.keyboard.press("Tab")  # the rest of the line is one stop, the runners-up follow
    while not tab.evaluate("document.activeElement.textContent").startswith("ein"):
        tab.keyboard.press("Tab")
    tab.keyboard.press("Enter")
    tab.get_by_text("word 1 begins with “ein”").wait_for()
    assert server.asked[-1]["prefix_ids"] == [20] and len(server.asked) == count + 1


def walk(tab: Any, *places: Any) -> None:
    """Moves the mouse over the middles of elements in a straight line, as a hand does."""
    for place in places:
        box = place.bounding_box()
        tab.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2, steps=25)


def test_an_alternative_is_reached_by_a_mouse_that_leaves_the_word(serve, tab) -> None:
    server = serve(OFFLINE, address="#text=the+old+house")
    shown(tab)
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
    serve(OFFLINE, address="#text=the+old+house")
    shown(tab)
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
    server = serve(OFFLINE, address="#text=the+old+house&glossary=house+%3D+Haus")
    shown(tab)
    assert tab.locator(".fault").inner_text() == ""
    tab.get_by_label("glossary").fill("house = Haus\ntrain Bahn\na = b = c\n")
    told = "Line 2, “train Bahn”, is no term and is left out: write source = target."
    assert tab.locator(".fault").inner_text() == told
    tab.wait_for_timeout(150)
    assert server.asked[-1]["glossary"] == [{"source": "house", "target": "Haus"}, {"source": "a", "target": "b = c"}]


def test_a_source_word_is_dragged_onto_a_target_word(serve, tab) -> None:
    server = serve(TEXT, address="#text=the+old+house")
    shown(tab)
    source = tab.locator(".source .word").filter(has_text="house")
    source.drag_to(tab.locator(".target .word").filter(has_text="alte"))
    tab.get_by_text("word 2 looks at “house”").wait_for()
    assert (server.asked[-1]["prefix_ids"], server.asked[-1]["force"]) == ([10], [[1, 2]])
    # The same by keys: Enter on the source word, then on the target word.
    tab.locator(".source .word").first.focus()
    tab.keyboard.press("Enter")
    tab.locator(".target .word").first.focus()
    tab.keyboard.press("End")
    tab.keyboard.press("ArrowLeft")
    tab.keyboard.press("Enter")
    tab.get_by_text("word 3 looks at “the”").wait_for()
    assert server.asked[-1]["force"] == [[1, 2], [2, 0]]


def test_the_beam_is_a_tree(serve, tab) -> None:
    server = serve(OFFLINE, address="#text=the+old+house")
    shown(tab)
    tab.get_by_label("beam").fill("4")
    tab.get_by_label("as a tree").check()
    tab.locator("svg.tree").wait_for()
    assert server.asked[-1]["search"] == {"name": "beam", "beam_size": 4} and server.asked[-1]["tree"] is True
    names = [text.strip() for text in tab.locator("svg.tree text.name").all_text_contents()]
    assert len(names) == 5  # an extension that got no place at once is hidden
    assert tab.locator("svg.tree path.branch.best").count() == 3
    assert tab.locator("svg.tree path.dropped:not(.branch)").count() == 1
    tab.get_by_label("extensions that got no place as well").check()
    assert tab.locator("svg.tree text.name").count() == 7
    title = tab.locator("svg.tree text.name title").last.text_content()
    assert title == "⏎: on the way to the translation; log-probability -0.60, score -0.40"
    tab.get_by_text("as a list").click()
    assert "neue -0.50, dropped" in tab.locator(".beam ul").first.inner_text()


def test_terms_and_a_glossary_are_asked_for(serve, tab) -> None:
    server = serve(OFFLINE, address="#text=the+old+house&must=Haus%0Aalt&avoid=Gebäude&glossary=house+%3D+Haus")
    shown(tab)
    asked = server.asked[-1]
    assert asked["constraints"] == ["Haus", "alt"] and asked["avoid"] == ["Gebäude"]
    assert asked["glossary"] == [{"source": "house", "target": "Haus"}]
    tab.get_by_label("must not appear").fill("")
    tab.wait_for_timeout(150)
    assert "avoid" not in server.asked[-1]


def test_a_target_with_gold_links_is_aligned(serve, tab) -> None:
    server = serve(OFFLINE, address="#text=the+old+house&target=das+alte+Haus&gold=0-0+1-2")
    shown(tab)
    asked = server.asked[-1]
    assert (asked["path"], asked["target"], asked["gold"]) == ("/api/align", "das alte Haus", "0-0 1-2")
    assert "AER\n25" in tab.locator(".facts").inner_text()
    counts = {kind: tab.locator(f".canvas .{kind}").count() for kind in ("hit", "miss", "false")}
    assert counts == {"hit": 1, "miss": 1, "false": 2}


@pytest.mark.parametrize(("run", "kind", "label"), [(SOUND, "audio", "sound file"), (PICTURE, "image", "picture")])
def test_a_sound_or_a_picture_is_sent(serve, tab, run: dict, kind: str, label: str) -> None:
    server = serve(run)
    tab.get_by_label(label).set_input_files({"name": "x", "mimeType": f"{kind}/x", "buffer": b"abc"})
    shown(tab)
    assert server.asked[-1][kind] == "YWJj"
    assert tab.locator("audio").count() == (kind == "audio")


def test_captions_grow_and_count_what_changed(serve, tab) -> None:
    server = serve(TEXT, address="#tab=captions")
    tab.get_by_label("words", exact=True).press_sequentially("the old house ")
    stream, again = tab.locator(".caption").all()
    tab.get_by_text("THE OLD HOUSE", exact=True).wait_for()
    assert stream.locator(".log").inner_text() == "THE OLD HOUSE"
    assert "words ever changed\n0" in stream.inner_text() and "mean lag\n1.00" in stream.inner_text()
    # Shown again: THE; the OLD; THE old HOUSE: two words, then two more were taken back.
    assert again.locator(".log").inner_text() == "THE old HOUSE"
    assert "words ever changed\n3" in again.inner_text() and "normalised erasure\n1.00" in again.inner_text()
    assert again.locator(".changed").count() >= 1 and stream.locator(".changed").count() == 0
    tab.get_by_label("words", exact=True).press("Enter")
    tab.get_by_label("words", exact=True).press_sequentially("next ")
    stream.locator(".line").nth(1).wait_for()
    assert stream.locator(".line").all_inner_texts() == ["THE OLD HOUSE", "NEXT"]
    assert {"end": True} in server.received and {"run": "en-de", "retranslate": True} in server.received
    assert tab.get_by_role("log", name="source").inner_text().split("\n\n")[0] == "the old house"


def test_the_lag_of_words_that_come_early_is_not_below_none(serve, tab) -> None:
    """Two words at once, and nothing more while eight are read: they did not come ahead of what they say."""
    serve(TEXT, address="#tab=captions")
    lags = tab.evaluate("""() => {
        const shown = new Shown("x");
        const lags = [];
        for (let read = 1; read <= 10; read++) {
            shown.show(["a", "b"].slice(0, read), read, " ");
            lags.push(shown.lag / shown.words.length);
        }
        return lags;
    }""")
    # Differentiable average lagging: g' = [1, max(2, 1 + pace)], less one pace for the second word.
    assert lags[0] == 1 and lags[1:] == [1.0] * 9


def test_a_pasted_text_is_read_at_a_pace(serve, tab) -> None:
    serve(TEXT, address="#tab=captions&pace=600&again=no")
    tab.get_by_label("text to read at a pace").fill("one two. three\nfour")
    began = tab.evaluate("performance.now()")
    tab.get_by_role("button", name="read it").click()
    tab.locator(".caption .line").nth(2).wait_for()
    assert 250 < tab.evaluate("performance.now()") - began < 1500  # 100 ms a word
    assert tab.locator(".caption .line").all_inner_texts() == ["ONE TWO.", "THREE", "FOUR"]
    assert tab.locator(".caption").count() == 1


def test_refusals_are_told_and_a_key_is_asked_for(serve, tab) -> None:
    tab.expected.append("status of 4")  # what the browser itself writes of such answers
    server = serve(OFFLINE, address="#text=x", key="secret")
    tab.get_by_text("this server asks for a key").wait_for()
    tab.get_by_label("key of this server").fill("secret")
    tab.keyboard.press("Tab")
    shown(tab)
    server.status = 413
    tab.get_by_role("textbox", name="source").fill("x y")
    tab.get_by_text("the text is too long").wait_for()


def test_both_panels_have_names_for_a_screen_reader(serve, tab) -> None:
    serve(TEXT, OFFLINE)
    tree = tab.locator("body").aria_snapshot()
    for part in ('tab "Translate" [selected]', 'tabpanel "Translate"', 'textbox "source"', 'combobox "run"', "status"):
        assert part in tree, part
    tab.get_by_role("tab", name="Translate").focus()
    tab.keyboard.press("ArrowRight")
    tab.keyboard.press("Enter")
    tree = tab.locator("body").aria_snapshot()
    for part in ('tab "Live captions" [selected]', 'textbox "words"', 'log "source"', 'button "read it"'):
        assert part in tree, part


def test_a_run_that_cannot_stream_says_so(serve, tab) -> None:
    serve(OFFLINE, address="#tab=captions")
    assert tab.get_by_text("No run of this server can translate while it reads").is_visible()
    assert a_record("a", "b", [[1, 0], [0, 1]])["links"] == "0-0"
