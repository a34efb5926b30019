"""The page of a run from a file, in a real browser: what one can do on it by pointer, by keys and by address."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from mt.decoding.translation import Translation, Units
from mt.search.hypothesis import Windows
from tests.explorer.conftest import HOUSE, a_record, simple

pytestmark = pytest.mark.slow

HOSTILE = "</script><img src=x onerror=alert(1)> <b>bold</b> &amp; \x1b[31m"

# JavaScript that tests evaluate.
UNNAMED = """[...document.querySelectorAll('button, select, input')]
    .filter(e => !e.disabled && !e.ariaLabel && !e.innerText && !e.closest('label')).length"""
RUN_ANOTHER = """() => {
    const script = document.createElement("script");
    script.textContent = "window.ran = true";
    document.body.append(script);
    document.body.insertAdjacentHTML("beforeend", "<b id=t onclick='window.ran = true'></b>");
    document.getElementById("t").click();
    return window.ran === true;
}"""
CONTRAST = """selector => {  // WCAG 2.2, contrast ratio
    const curve = value => value <= .03928 ? value / 12.92 : ((value + .055) / 1.055) ** 2.4;
    const shares = [.2126, .7152, .0722];
    const light = colour => colour.match(/[\\d.]+/g).slice(0, 3).map((value, i) => shares[i] * curve(value / 255))
        .reduce((sum, part) => sum + part);
    const node = document.querySelector(selector);
    const style = getComputedStyle(node);
    const ink = light(node instanceof SVGElement ? style.fill : style.color);
    const paper = light(getComputedStyle(document.body).backgroundColor);
    return (Math.max(ink, paper) + .05) / (Math.min(ink, paper) + .05);
}"""
SMALLEST = """Math.min(...[...document.querySelectorAll('body *')].filter(node => node.innerText && node.offsetParent)
    .map(node => parseFloat(getComputedStyle(node).fontSize)))"""


def shade(tab, i: int, j: int) -> float:
    return float(tab.locator(f".cell[data-i='{i}'][data-j='{j}']").get_attribute("fill-opacity"))


def test_a_matrix_has_a_cell_for_each_weight(opened) -> None:
    tab = opened([HOUSE])
    assert [shade(tab, i, 1) for i in range(4)] == [0.05, 0.8, 0.15, 0]
    assert tab.locator("svg.drawing").get_attribute("role") == "img"
    assert "attention of 3 target words to 4 source words" in tab.locator("svg.drawing").get_attribute("aria-label")


def test_an_unknown_source_word_has_its_name_from_the_text(opened) -> None:
    weights = [[1.0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 1.0]]
    record = a_record("the a b house c", "das", weights)
    tokens = ["▁the", "▁<unk>", "▁<unk>", "▁house", "▁caf<unk>", "</s>"]
    tab = opened([{**record, "source": "the 鳥 🦊 house café", "source_tokens": tokens}])
    names = tab.locator(".source .word").all_inner_texts()
    assert names[:5] == ["the", "鳥", "🦊", "house", "café"]


def test_a_word_shows_its_links_both_ways_its_mass_and_the_runners_up(opened) -> None:
    tab = opened([HOUSE])
    tab.get_by_role("button", name="alte").hover()
    said = tab.locator(".said")
    text = said.inner_text
    assert "“alte” looks at “old” 80\xa0%, “house” 15\xa0%, “the” 5\xa0%; mass 1.00; probability 50\xa0%" in text()
    assert said.locator("li").all_inner_texts() == ["alte\n50\xa0%", "neue\n40\xa0%"]
    assert tab.locator(".source .word.linked").all_inner_texts() == ["the", "old", "house"]
    tab.get_by_role("button", name="old", exact=True).hover()
    assert "“old” is looked at by “alte” 80\xa0%, “Haus” 30\xa0%, “das” 10\xa0%; mass over all words 1.20" in text()
    assert tab.locator(".target .word.linked").all_inner_texts() == ["das", "alte", "Haus"]
    tab.locator(".cell[data-i='2'][data-j='2']").hover()
    assert "weight 0.600 on “house”" in text()


def test_links_are_curves_as_strong_as_their_weights(opened) -> None:
    tab = opened([HOUSE], address="#view=links")
    curves = tab.locator("path.link")
    strengths = {
        (curve.get_attribute("data-i"), curve.get_attribute("data-j")): float(curve.get_attribute("stroke-opacity"))
        for curve in curves.all()
    }
    assert strengths[("1", "1")] == 0.8 and strengths[("1", "2")] == 0.3 and ("0", "2") not in strengths


def test_by_keys_alone(opened) -> None:
    """Tab reaches each line of words once; arrows go along it; Enter keeps a word marked."""
    tab = opened([HOUSE])
    tab.locator("select").last.focus()
    tab.keyboard.press("Tab")
    assert tab.evaluate("document.activeElement.textContent") == "the"
    tab.keyboard.press("ArrowRight")
    assert "“old” is looked at" in tab.locator(".said").inner_text()
    tab.keyboard.press("Enter")
    assert tab.locator(".word[aria-pressed]").all_inner_texts() == ["old"]
    tab.keyboard.press("Tab")
    assert tab.evaluate("document.activeElement.textContent") == "das"
    tab.keyboard.press("End")
    assert "probability 99\xa0%" in tab.locator(".said").inner_text()
    assert tab.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"


def test_the_tree_of_a_screen_reader_has_names_and_the_table(opened) -> None:
    tab = opened([simple(0), HOUSE], address="#n=2")
    tree = tab.locator("body").aria_snapshot()
    for part in (
        'heading "Alignments" [level=1]',
        'region "sentences"',
        'searchbox "words"',
        'columnheader "chrF"',
        'button "sentence 2"',
        'toolbar "words of the source"',
        'toolbar "words of the translation"',
        "status",
        'img "attention of 3 target words to 4 source words; the table below says the same"',
        'group "save as"',
    ):
        assert part in tree, part
    tab.get_by_text("as a table").click()
    row = tab.locator("details tbody tr").nth(1).all_inner_texts()
    assert row == ["alte\t“old” 80\xa0%, “house” 15\xa0%, “the” 5\xa0%\t50\xa0%\talte 50\xa0%, neue 40\xa0%"]
    # Every control has a name.
    assert tab.evaluate(UNNAMED) == 0


def test_sentences_are_sorted_and_filtered_by_numbers_and_words(opened) -> None:
    tab = opened([simple(number) for number in range(100)])
    assert tab.locator(".count").inner_text() == "1 to 40 of 100 sentences"
    tab.get_by_role("button", name="chrF").click()
    assert tab.locator("tbody .open").first.inner_text() == "100"
    assert tab.locator("th[aria-sort=descending]").inner_text().startswith("chrF")
    tab.get_by_role("button", name="chrF").click()
    assert tab.locator("tbody .open").first.inner_text() == "1"
    tab.get_by_label("words", exact=True).fill("T4 y")
    assert tab.locator(".count").inner_text() == "1 to 11 of 11 sentences, 100 in all"
    tab.get_by_label("number").select_option("chrf")
    tab.get_by_label("from").fill("41.5")
    tab.get_by_label("to", exact=True).fill("43")
    assert tab.locator("tbody .open").all_inner_texts() == ["43", "44"]
    tab.get_by_role("button", name="sentence 44").click()
    assert tab.locator(".choices strong").inner_text() == "sentence 44"
    tab.get_by_role("button", name="previous", exact=True).click()
    assert tab.locator(".choices strong").inner_text() == "sentence 43"
    tab.get_by_label("from").fill("99")
    assert tab.locator(".count").inner_text() == "no sentence passes these filters"


def test_the_address_holds_what_is_shown(opened) -> None:
    tab = opened([simple(number) for number in range(50)])
    tab.get_by_label("words", exact=True).fill("s4")
    tab.get_by_role("button", name="chrF").click()
    tab.get_by_role("button", name="sentence 46").click()
    tab.get_by_label("drawn as").select_option("links")
    tab.get_by_label("of", exact=True).select_option("pieces")
    address = tab.url
    tab.goto("about:blank")
    tab.goto(address)
    assert tab.locator(".choices strong").inner_text() == "sentence 46"
    assert tab.get_by_label("words", exact=True).input_value() == "s4"
    assert tab.locator("tbody .open").first.inner_text() == "50"
    assert tab.get_by_label("drawn as").input_value() == "links" and tab.locator("path.link").count() == 3
    assert tab.get_by_label("of", exact=True).input_value() == "pieces"


def test_two_runs_side_by_side(opened) -> None:
    other = {**HOUSE, "text": "ein altes Haus"}
    tab = opened([HOUSE], [other], [simple(1)])
    assert tab.locator(".detail h2").all_inner_texts() == ["run 0", "run 1", "run 2"]
    tab.get_by_label("beside it").select_option("1")
    assert tab.locator(".detail h2").all_inner_texts() == ["run 0", "run 1"]
    boxes = [detail.bounding_box() for detail in tab.locator(".detail").all()]
    assert boxes[0]["y"] == boxes[1]["y"] and boxes[0]["x"] < boxes[1]["x"]
    tab.get_by_label("beside it").select_option("")
    tab.get_by_label("run", exact=True).select_option("2")
    assert tab.locator(".detail h2").all_inner_texts() == ["run 2"]


def test_gold_links_are_hits_misses_and_false_ones_in_colour_and_shape(opened) -> None:
    gold = {"links": "0-0 2p1 1-2", "words": [0, 1, 2]}
    tab = opened([{**HOUSE, "gold": gold, "aer": 40.0}])
    marks = {kind: tab.locator(f".canvas .{kind}") for kind in ("hit", "miss", "false")}
    assert {kind: mark.count() for kind, mark in marks.items()} == {"hit": 1, "miss": 1, "false": 2}
    assert [marks[kind].first.evaluate("node => node.tagName") for kind in marks] == ["circle", "rect", "path"]
    colours = [marks[kind].first.evaluate("node => getComputedStyle(node).stroke") for kind in marks]
    assert len(set(colours)) == 3
    assert "AER\n40" in tab.locator(".facts").inner_text()
    assert tab.locator(".legend li").all_inner_texts() == [
        "gold link, found",
        "gold link, missed",
        "link that is not gold",
    ]


def test_reads_and_writes_are_a_staircase_that_plays(opened) -> None:
    online = {
        **HOUSE,
        "delays": [1, 3, 3, 4],
        "words_read": [1, 3, 3, 3],
        "source_words": 3,
        "stops": [0, 1, 2, 3],
        "chunk": 1,
    }
    tab = opened([online])
    assert tab.locator("path.stairs").get_attribute("d").count("V") == 4
    assert tab.locator(".notread").count() == 3 and tab.locator(".stop").count() == 4
    slider = tab.get_by_label("source words read")
    slider.fill("1")
    assert tab.locator(".target .word.later").all_inner_texts() == ["alte", "Haus", "⏎"]
    assert tab.locator(".source .word.later").all_inner_texts() == ["old", "house", "⏎"]
    slider.press("ArrowRight")
    assert tab.locator(".source .word.later").all_inner_texts() == ["house", "⏎"]
    slider.fill("0")
    tab.get_by_role("button", name="play reads and writes").click()
    began = tab.evaluate("performance.now()")
    tab.locator(".player button", has_text="play").wait_for()
    assert slider.input_value() == "4"
    assert 600 < tab.evaluate("performance.now()") - began < 2500  # four words, a quarter of a second each
    assert tab.locator(".word.later").count() == 0
    tab.locator(".target .word").first.hover()
    assert "stopped at “the”; written after 1 source words" in tab.locator(".said").inner_text()


def test_files_of_a_drawing(opened, tmp_path: Path) -> None:
    tab = opened([HOUSE])
    contents = {}
    for name in ("PNG", "SVG", "Pharaoh", "JSON"):
        with tab.expect_download() as download:
            tab.get_by_role("button", name=name).click()
        download.value.save_as(tmp_path / name)
        contents[name] = (tmp_path / name).read_bytes()
        assert download.value.suggested_filename.endswith(f".{name.lower()}")
    assert contents["PNG"].startswith(b"\x89PNG") and len(contents["PNG"]) > 5000
    assert contents["Pharaoh"] == b"0-0 1-1 2-2\n"
    assert json.loads(contents["JSON"]) == HOUSE
    drawing = contents["SVG"].decode()
    assert "var(" not in drawing and "class=" not in drawing and "Haus" in drawing
    assert 'fill="rgb(11, 92, 173)"' in drawing
    # The drawing is the same without the page.
    (tmp_path / "alone.svg").write_text(drawing)
    tab.goto((tmp_path / "alone.svg").as_uri())
    assert tab.evaluate("document.querySelectorAll('rect').length") > 16


PIXEL = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5Erk"
    "Jggg=="
)


def test_a_picture_has_a_panel_for_each_word(opened) -> None:
    picture = {"kind": "picture", "grid": [2, 2], "image": PIXEL}
    seen = a_record("a b c", "das Haus", [[0, 0.9, 0.1, 0], [0.25] * 4, [0.25] * 4], backdrop=picture, stops=[1, 2, 3])
    tab = opened([seen | {"source": "house.png"}])
    assert tab.locator("svg.drawing image").count() == 4  # the picture itself, and one for each token
    shadows = [float(one.get_attribute("fill-opacity")) for one in tab.locator(".shadow[data-j='0']").all()]
    assert shadows[1] == 0 and shadows[0] == 0.85 and 0.7 < shadows[2] < 0.8
    assert tab.locator(".drawing .stop").count() == 3
    tab.locator(".target .word").first.hover()
    assert "“das” looks at row 1 column 2 90\xa0%, row 2 column 1 10\xa0%" in tab.locator(".said").inner_text()
    assert tab.locator(".side .line").first.inner_text() == "house.png"


def test_a_sound_has_its_spectrogram_stops_and_delays(opened) -> None:
    sound = {"kind": "sound", "seconds": 0.8, "image": PIXEL, "boundaries": [0.3]}
    delays = {"stops": [1, 2, 3], "delays": [2, 3, 4], "words_read": [400, 600, 800], "source_words": 800}
    heard = a_record("a b c", "h i", [[0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]], backdrop=sound, **delays)
    tab = opened([heard])
    assert tab.locator("svg.drawing image").get_attribute("href") == PIXEL and tab.locator(".edge").count() == 1
    assert tab.locator(".drawing .stop").count() == 3 and tab.locator("path.stairs").count() == 1
    tab.locator(".target .word").first.hover()
    assert "stopped at 0.30 s; written after 400 ms" in tab.locator(".said").inner_text()
    tab.get_by_label("milliseconds read").fill("500")
    assert tab.locator(".target .word.later").all_inner_texts() == ["i", "⏎"]


def test_right_to_left_and_chinese(opened) -> None:
    arabic = a_record("هذا بيت قديم", "this is an old house", [[1, 0, 0, 0]] * 6)
    chinese = a_record("x", "y", [[1, 0], [0, 1]])
    chinese |= {
        "text": "我喜欢你。",
        "tokens": ["▁我", "喜欢", "你", "。", "</s>"],
        "target_units": [0, 1, 2, 3, None],
        "rows": [[0, 1000]] * 5,
        "ids": [1] * 5,
    }
    tab = opened([arabic, chinese])
    source = tab.locator(".line.source")
    assert source.evaluate("node => getComputedStyle(node).direction") == "rtl"
    boxes = [word.bounding_box()["x"] for word in source.locator(".word").all()]
    assert boxes == sorted(boxes, reverse=True)
    # Columns run as the text does, and so do the arrows.
    columns = [float(tab.locator(f".cell[data-i='{i}'][data-j='0']").get_attribute("x")) for i in range(4)]
    assert columns == sorted(columns, reverse=True)
    source.locator(".word").first.focus()
    tab.keyboard.press("ArrowLeft")
    assert tab.evaluate("document.activeElement.textContent") == "بيت"
    # What is said of it runs from the left, and begins with the word.
    said = tab.locator(".said p").first
    assert said.get_attribute("dir") == "ltr" and said.inner_text().startswith("“\u2068بيت\u2069” is looked at by")
    tab.goto(re.sub("#.*", "", tab.url) + "#n=2")
    assert tab.locator(".line.target").inner_text().replace("\n", "") == "我喜欢你。⏎"


def test_texts_are_texts(opened) -> None:
    hostile = a_record("x", "y", [[1, 0], [0, 1]], references=[HOSTILE], top=[[[HOSTILE, 0.5, 1]], [[HOSTILE, 0.5, 1]]])
    hostile |= {"text": HOSTILE, "source": HOSTILE, "tokens": [HOSTILE, "</s>"], "source_tokens": [HOSTILE, "</s>"]}
    tab = opened([hostile, simple(1)], title=HOSTILE)
    tab.locator(".target .word").first.hover()
    assert HOSTILE in tab.evaluate("document.querySelector('.said li bdi').textContent")
    assert tab.evaluate("document.querySelectorAll('main img, main b').length") == 0
    assert tab.evaluate("document.scripts.length") == 3
    assert tab.locator(".side .line").last.evaluate("node => node.textContent") == HOSTILE


def test_the_policy_lets_no_other_script_run(opened) -> None:
    tab = opened([HOUSE])
    assert tab.evaluate("() => document.querySelector('meta[http-equiv]').content").startswith("default-src 'none'")
    tab.expected.append("Content Security Policy")
    with tab.expect_console_message() as message:
        assert tab.evaluate(RUN_ANOTHER) is False
    assert "Content Security Policy" in message.value.text


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_light_and_dark_have_contrast(opened, tab, scheme: str) -> None:
    tab.emulate_media(color_scheme=scheme, reduced_motion="reduce")
    opened([HOUSE, simple(1)])
    for selector in ("h1", ".label", ".word", ".count", "th button", ".drawing .name", ".said p"):
        assert tab.evaluate(CONTRAST, selector) >= 4.5, selector
    assert tab.evaluate("getComputedStyle(document.querySelector('.word')).transitionDuration") == "0s"
    assert tab.evaluate(SMALLEST) >= 14


def test_on_a_narrow_screen_nothing_is_wider_than_it(opened, tab) -> None:
    tab.set_viewport_size({"width": 400, "height": 800})
    opened([HOUSE, simple(1)])
    assert tab.evaluate("document.documentElement.scrollWidth") <= 400


def test_an_empty_translation_and_one_without_alignment_say_so(opened) -> None:
    lists = {key: [] for key in ("tokens", "target_units", "rows", "top", "probabilities")}
    empty = HOUSE | lists | {"text": "", "links": ""}
    tab = opened([empty, {**HOUSE, "rows": [[0]] * 4}])
    assert tab.locator(".none").inner_text() == "an empty translation"
    tab.get_by_role("button", name="next", exact=True).click()
    assert tab.locator(".none").inner_text().startswith("no alignment: nothing was attended to")


def test_a_damaged_record_is_told_and_the_others_are_shown(opened) -> None:
    strange = [{**HOUSE, key: value} for key in HOUSE for value in (5, None, {"a": 1}, [[]])]
    texts = [{"text": 7}, {"text": 7, "source": 8, "references": [9], "source_units": "ab"}]
    tab = opened([{"text": "x", "tokens": 3, "source": "x"}, HOUSE, *texts, *strange])
    assert tab.locator(".detail .none").inner_text().startswith("this record cannot be drawn (")
    assert tab.locator("tbody tr").count() >= 40 and tab.locator(".detail").count() == 1
    tab.get_by_role("button", name="next", exact=True).click()
    assert tab.locator(".target .word").count() == 4


def test_a_notebook_shows_a_translation_in_a_frame(tab, tmp_path: Path) -> None:
    eye = np.eye(3, dtype=np.float32)
    translation = Translation(
        text="das Haus",
        score=-0.5,
        tokens=("▁das", "▁Haus", "</s>"),
        source_tokens=("▁the", "▁house", "</s>"),
        windows=Windows.whole(eye),
        find_units=lambda: Units((0, 1, None), (0, 1, None)),
    )
    (tmp_path / "cell.html").write_text(f"<!doctype html><p>cell</p>{translation._repr_html_()}", encoding="utf-8")
    tab.goto((tmp_path / "cell.html").as_uri())
    frame = tab.frame_locator("iframe")
    assert frame.locator(".cell").count() == 9
    frame.get_by_role("button", name="Haus").hover()
    assert "“Haus” looks at “house” 100\xa0%" in frame.locator(".said").inner_text()
    frame.get_by_label("drawn as").select_option("links")
    assert frame.locator("path.link").count() == 3
    height = "document.querySelector('iframe').height - 0"
    assert frame.locator("html").evaluate("node => node.scrollHeight") <= tab.evaluate(height)
