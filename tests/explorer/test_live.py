"""The live page in a real browser, against a server that answers as ours does and notes what it was asked."""

from itertools import pairwise

import pytest

from tests.explorer.conftest import a_record
from tests.explorer.server import OFFLINE, PICTURE, SOUND, TEXT, shown

pytestmark = pytest.mark.slow


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
    # Runners-up, when nothing was typed for a while.
    assert "top" not in server.asked[0] and server.asked[-1]["top"] == 6


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
    server = serve(OFFLINE, address="#text=the+old+house", drawn=True)
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


def test_a_source_word_is_dragged_onto_a_target_word(serve, tab) -> None:
    server = serve(TEXT, address="#text=the+old+house", drawn=True)
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
    server = serve(OFFLINE, address="#text=the+old+house", drawn=True)
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
    server = serve(
        OFFLINE, address="#text=the+old+house&must=Haus%0Aalt&avoid=Gebäude&glossary=house+%3D+Haus", drawn=True
    )
    asked = server.asked[-1]
    assert asked["constraints"] == ["Haus", "alt"] and asked["avoid"] == ["Gebäude"]
    assert asked["glossary"] == [{"source": "house", "target": "Haus"}]
    tab.get_by_label("must not appear").fill("")
    tab.wait_for_timeout(150)
    assert "avoid" not in server.asked[-1]


def test_a_target_with_gold_links_is_aligned(serve, tab) -> None:
    server = serve(OFFLINE, address="#text=the+old+house&target=das+alte+Haus&gold=0-0+1-2", drawn=True)
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
    assert {"end": True} in server.received and {"run": "en-de", "search": {"name": "retranslate"}} in server.received
    assert tab.get_by_role("log", name="source").inner_text().split("\n\n")[0] == "the old house"


def test_captions_of_a_run_of_characters_count_characters(serve, tab) -> None:
    serve({**TEXT, "unit": "char"}, address="#tab=captions")
    tab.get_by_label("words", exact=True).press_sequentially("the old house ")
    again = tab.locator(".caption").nth(1)
    tab.get_by_text("THE old HOUSE", exact=True).wait_for()
    # Shown again: THE; the OLD; THE old HOUSE: three characters, then six more were taken back.
    assert "characters shown\n11" in again.inner_text() and "characters ever changed\n9" in again.inner_text()
    assert "words" not in again.inner_text()


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
