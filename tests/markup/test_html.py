import html
import re
import time
from collections import Counter
from html.parser import HTMLParser

import pytest
from hypothesis import given as cases, strategies as st

from mt import markup
from mt.data.placeholders import FIRST
from mt.markup.blocks import Kept
from mt.markup.segments import Segment
from mt.markup.words import Linked
from tests.marks import examples, exhaustive
from tests.markup.linked import Translate, given, identity, reverse, translated
from tests.refusals.sentences import require_refusal

PLACED = [
    # A pair goes around the words that its words link to.
    ("Click <b>the button</b> now", "Klick jetzt den Knopf", "0-0 1-2 2-3 3-1", "Klick jetzt <b>den Knopf</b>"),
    # What is written twice in one language keeps together; attributes stay.
    ('<a b="c&amp;d" E=x>get up</a> now', "steh nun auf", "0-0 1-2 2-1", '<a b="c&amp;d" E=x>steh nun auf</a>'),
    # What may be split is.
    ("I <em>get up</em> so now", "ich steh so nun auf", "0-0 1-1 2-4 3-2 4-3", "ich <em>steh</em> so nun <em>auf</em>"),
    # But an id stands once.
    ("I <b id=x>get up</b> so now", "ich steh so nun auf", "0-0 1-1 2-4 3-2 4-3", "ich <b id=x>steh</b> so nun auf"),
    # A word that stands twice goes where its links say.
    ("one <b>one</b> two", "one one two", "0-1 1-0 2-2", "<b>one</b> one two"),
    # A pair around code alone is one tag with it.
    ("Run <b><code>l</code></b> now .", "Ruf jetzt auf .", "0-0 0-2 1-1 2-3", "Ruf <b><code>l</code></b> jetzt auf ."),
    # A sign does not become a tag by what follows it.
    ("a < b", "a <b", "0-0 1-1 2-1", "a &lt;b"),
    # So does a word of two letters, which may be another one in the other language.
    ("we <b>am</b> go", "am X Y", "0-0 1-1 2-2", "am <b>X</b> Y"),
    # No link stands in another.
    ("<a href=u>apple</a> <a href=v>juice</a>", "Apfelsaft", "0-0 1-0", "<a href=v></a><a href=u>Apfelsaft</a>"),
    # An empty tag stands at the gap that the words around it agree on.
    ("old red <br> wine", "Wein alt rot", "0-1 1-2 2-0", "Wein alt rot <br>"),
    ("see <img src=a> the house", "sieh das Haus", "0-0 1-1 2-2", "sieh <img src=a> das Haus"),
    # Nested pairs stay nested, though links cross.
    ("<b>a <i>b</i> c</b> d", "C D B A", "0-3 1-2 2-0 3-1", "<b>C D <i>B</i> A</b>"),
    # A sign that is an element of its own, as the way back from a note, stays.
    ("Right here! <a href=u>↩</a>", "Gleich hier!", "0-0 1-1", "Gleich hier! <a href=u>↩</a>"),
    # What is joined to a mark is not joined to a word in its place.
    ("Edit post #%id%", "Eintrag Nr bearbeiten", "0-2 1-0 2-1", "Eintrag Nr bearbeiten %id%"),
    # PHP ends where it ends.
    ("two <?php $a > '<b>x</b>'; ?> dogs", "zwei Hunde", "0-0 1-1", "zwei <?php $a > '<b>x</b>'; ?> Hunde"),
    # Punctuation follows the source.
    ("<b>Stop</b>.", "Halt .", "0-0 0-1", "<b>Halt</b> ."),
    ("<b>Stop!</b> now", "Halt ! jetzt", "0-0 1-2", "<b>Halt !</b> jetzt"),
    # Code, and what says so, is left, and stands at its place.
    ("Run <code>ls <b></code> now .", "Führe jetzt aus .", "0-0 0-2 1-1 2-3", "Führe <code>ls <b></code> jetzt aus ."),
    ('See <b translate="no">A <i>B</i></b>, do', "Sah , ja", "0-0 1-1 2-2", 'Sah <b translate="no">A <i>B</i></b>, ja'),
    # So is the name of an icon, which its font draws as one sign.
    ("<mat-icon>add box</mat-icon> Add", "Neu", "0-0", "<mat-icon>add box</mat-icon> Neu"),
    ('<i class="x material-icons">a</i> Add', "Neu", "0-0", '<i class="x material-icons">a</i> Neu'),
    ('<i class="material-symbols-sharp">a</i> Add', "Neu", "0-0", '<i class="material-symbols-sharp">a</i> Neu'),
    ('<i class="notranslated">a</i> b', "A B", "0-0 1-1", '<i class="notranslated">A</i> B'),
    # So is an element with a name of our own.
    ("<word>a b</word> c", "C B A", "0-2 1-1 2-0", "C <word>B A</word>"),
    # Blanks and entities stay as they are written.
    ("  <p>a&nbsp;b &amp; c &lt;</p>\n", "A B & C <", "0-0 1-1 2-2 3-3 4-4", "  <p>A&nbsp;B &amp; C &lt;</p>\n"),
    # In a word that is the same, or is part of a compound, tags stand where they stood.
    ("H<sub>2</sub>O now", "jetzt H2O", "0-1 1-0", "jetzt H<sub>2</sub>O"),
    ("see H<sub>2</sub>O now", "sieh H2O-Werte", "0-0 1-1", "sieh H<sub>2</sub>O-Werte"),
    # In others they go around the word.
    ("<p>un<b>happy</b> ends</p>", "böses Ende", "0-0 1-1", "<p><b>böses</b> Ende</p>"),
    # What is linked to the same neighbours stays joined to them.
    ("go <code>x</code>s now", "jetzt s", "1-1 2-0", "jetzt <code>x</code>s"),
    ("Total: {n}% done", "% fertig", "1-0 2-1", "{n}% fertig"),
    ("press {key}, now", "drücke , jetzt", "0-0 1-1 2-2", "drücke {key}, jetzt"),
    ("at half past seven{n}.", "um halb acht .", "0-0 1-1 2-1 3-2", "um halb acht{n} ."),
    # Others are parted by a blank.
    ("press {key}, now", "drücke jetzt", "0-0 2-1", "drücke {key} jetzt"),
    # White space between the same neighbours is as it was, and composed text where it was.
    ("one\n  two e\u0301t\u0301", "zwei eins \u00e9t\u0301", "0-1 1-0 2-2", "zwei eins e\u0301t\u0301"),
    ("one\n  two three", "eins zwei drei", "0-0 1-1 2-2", "eins\n  zwei drei"),
    ("R&D &amp; &copy", "© & D&R", "0-2 1-1 2-0", "&copy &amp; D&R"),
    # A compound belongs to the pair, too, though more of it is linked to another word.
    ("<a>Hockey</a> players win", "Hockeyspieler gewinnen", "1-0 2-1", "<a>Hockeyspieler</a> gewinnen"),
    ("nine <a href=u>jars</a> of honey", "neun Honiggläser", "0-0 1-1 3-1", "neun <a href=u>Honiggläser</a>"),
    ("red <i>cars</i> go .", "Autos .", "0-0 3-1", "<i>Autos</i> ."),
    ("the <a>street.</a>", "eine Straße .", "1-2", "eine <a>Straße</a> ."),
    # A tag that is not closed in order shows nothing, and brings no blank.
    ("we <a href=u><b>go</a></b>.", "wir gehen.", "0-0", "wir <a href=u>gehen<b></a>.</b>"),
    ("<b><i>We</b></i> go.", "Geht.", "1-0", "</i><b><i>Geht</b>."),
    # Where no word is free, one pair stands within the other, but no link in a link.
    ("<b>ice</b> <i>hockey</i>", "Eishockey", "0-0 1-0", "<i><b>Eishockey</b></i>"),
    ("<a>ice</a> <a>hockey</a>", "Eishockey", "0-0 1-0", "<a></a><a>Eishockey</a>"),
]


@pytest.mark.parametrize(("source", "target", "links", "expected"), PLACED)
def test_tags_go_where_links_say(source: str, target: str, links: str, expected: str) -> None:
    assert translated(source, given(target, links)) == expected


def test_an_unknown_format_is_refused() -> None:
    require_refusal(lambda: markup.read("x", "htm"), "format=htm is an invalid choice: did you mean html")


# Any tags, and any links.

WORDS = st.lists(st.sampled_from(["the", "cat", "sat", ".", "mat", "東京", "{x}"]), min_size=0, max_size=7)


@st.composite
def nested(draw: st.DrawFn, depth: int = 3) -> str:
    """A text with tags that are closed in order."""
    parts = []
    for _ in range(draw(st.integers(0, 4))):
        kind = draw(st.sampled_from(["words", "pair", "empty"])) if depth else "words"
        if kind == "words":
            parts.append(" ".join(draw(WORDS)))
        elif kind == "empty":
            parts.append(draw(st.sampled_from(["<br>", "<img src=1>", "<x/>", "&nbsp;", "<code>ls</code>"])))
        else:
            name = draw(st.sampled_from(["a href=u", "b", "i", "span"]))
            parts.append(f"<{name}>{draw(nested(depth - 1))}</{name.split()[0]}>")
    return draw(st.sampled_from(["", " "])).join(parts)


Case = tuple[str, int, list[str], list[tuple[int, int]]]


@st.composite
def translations(draw: st.DrawFn) -> Case:
    text = draw(nested())
    symbols = draw(st.sampled_from([0, 8]))
    words = draw(st.lists(st.sampled_from(["die", "Katze", "sitzt", "auf", "!", "猫", chr(FIRST)]), max_size=8))
    links = draw(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), max_size=12))
    return text, symbols, words, links


TAG = re.compile(r"<[^>]*>")
SPLIT = ("<b>", "</b>", "<i>", "</i>")


class Balance(HTMLParser):
    """Refuses what is not closed in order."""

    stack: list[str]

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.stack += [] if tag in ("br", "img") else [tag]

    def handle_startendtag(self, tag: str, attrs: object) -> None: ...

    def handle_endtag(self, tag: str) -> None:
        assert self.stack.pop() == tag


def plain(text: str) -> str:
    return TAG.sub("", text.replace("{x}", "").replace("&nbsp;", " ").replace("<code>ls</code>", ""))


def balanced(text: str) -> bool:
    parser = Balance()
    parser.stack = []
    parser.feed(text)
    parser.close()
    return not parser.stack


@examples(200)
@cases(translations())
def test_any_nesting_over_any_links_is_well_formed_and_complete(case: Case) -> None:
    source, symbols, words, links = case
    result = translated(source, lambda text: Linked(" ".join(words), links), symbols=symbols)
    assert balanced(result)
    before, after = Counter(TAG.findall(source)), Counter(TAG.findall(result))
    whole, same = ({tag: n for tag, n in tags.items() if tag not in SPLIT} for tags in (before, after))
    assert same == whole
    assert all(after[tag] >= before[tag] for tag in SPLIT)
    assert (after["<b>"], after["<i>"]) == (after["</b>"], after["</i>"])
    assert result.count("{x}") == source.count("{x}")
    assert result.count("&nbsp;") == source.count("&nbsp;")
    # Without its tags it is the translation of each sentence, which is the same for all.
    parts = markup.read(source, "html", Kept(symbols=symbols))
    expected = [" ".join(words).replace(chr(FIRST), "") if isinstance(part, Segment) else plain(part) for part in parts]
    assert "".join(plain(result).split()) == "".join("".join(expected).split())


@examples(200)
@cases(st.text(alphabet="<>/ab pi=\"'&;!-{}%s\n é", max_size=40))
def test_nothing_is_lost_of_any_text(source: str) -> None:
    """Wrong markup has all of its characters in any translation."""
    for translate in (identity, reverse):
        result = translated(source, translate)
        assert sorted("".join(html.unescape(result).split())) == sorted("".join(html.unescape(source).split()))


HOSTILE = {
    "pairs": "<b>x</b> " * 5_000,
    "a pair of pairs": "<b>" * 10_000 + "x" + "</b>" * 10_000,
    "words in pairs of pairs": "<b>w " * 4_000 + "</b>" * 4_000,
    "starts": "<b>x " * 5_000,
    "ends": "x</b></i> " * 5_000,
    "starts without a word": "<p><b>" * 30_000,
    "pairs that cross": "<b><i>x</b></i> " * 5_000,
    "breaks": "w<br>" * 5_000,
    "tags that do not end": "<a " * 60_000,
    "attributes that do not end": '<a b="' * 30_000,
    "comments that do not end": "<!--" * 50_000,
    "code that does not end": "<code>" * 30_000,
    "references and tags of nothing": "&" * 10_000 + "<" * 10_000,
    "blanks": "a&nbsp;" * 6_000,
    "braces": "{" * 20_000,
    "braces in braces": "{a" * 5_000 + "}" * 5_000,
    "percent signs": "%" * 20_000,
}


@pytest.mark.parametrize("case", HOSTILE)
@pytest.mark.parametrize("translate", [reverse, *exhaustive(identity)])
def test_hostile_markup_is_kept_in_linear_time(case: str, translate: Translate) -> None:
    source = HOSTILE[case]
    begun = time.process_time()
    result = translated(source, translate)
    assert time.process_time() - begun < 10
    assert sorted(html.unescape(result).replace(" ", "")) == sorted(html.unescape(source).replace(" ", ""))


@pytest.mark.parametrize(
    ("source", "blocks"),
    [
        # Entries of a menu are texts of their own, and so are links side by side.
        ('<a href="h">Home</a> | <a href="t">Trains</a>', ["Home", "Trains"]),
        ("<nav><b>Home &middot; <i>Trains</i> • Prices</b></nav>", ["Home", "Trains", "Prices"]),
        ("<a href=1>Home</a> » <a href=2>Trains</a> / <a href=3>Now</a>", ["Home", "Trains", "Now"]),
        ("<a href=1>Home</a><a href=2>Trains</a>", ["Home", "Trains"]),
        ("• Buy a <b>ticket | card</b> now", ["Buy a ticket | card now"]),
        ("« bonjour » / and/or", ["« bonjour » / and/or"]),
        ("<h1>One</h1>Two <b>three</b><p>Four.<td>Five<br>six", ["One", "Two three", "Four.", "Five six"]),
        # What has no letter is none.
        ("<li>»</li><li>—</li><p>%s: %d</p><td>€</td><td>5 €</td>", []),
        ("<td>1984</td><td><b>12</b>.5 %</td><li>3/4 | ½</li><p>½ kg</p><td>一</td>", ["½ kg", "一"]),
        ("<pre>train.leave(18:55)</pre>", []),
        # Marks of notes stand behind their word; what is raised otherwise belongs to it.
        ('at seven<sup><a href="#1">1</a></sup>.', ["at seven."]),
        ("at seven<sup>[2]</sup> or<sup>*</sup> eight<sup>a</sup>", ["at seven or eight"]),
        ("the 1<sup>st</sup> and 2<sup>e</sup>", ["the 1st and 2e"]),
        ("H<sub>2</sub>O, super<wbr>long, so&shy;ft", ["H2O, superlong, soft"]),
        ('text<img src="x">more<br>lines<input>end', ["text more lines end"]),
    ],
)
def test_what_is_a_text_of_its_own(source: str, blocks: list[str]) -> None:
    document = markup.read(source, "html")
    assert [part.text for part in document if isinstance(part, Segment)] == blocks
    assert translated(source) == source


@examples(300)
@cases(st.integers(2, 7), st.integers(2, 7), st.data())
def test_no_pair_is_emptied_over_any_links(words: int, written: int, data: st.DataObject) -> None:
    cells = st.tuples(st.integers(0, words - 1), st.integers(0, written - 1))
    links = " ".join(f"{i}-{j}" for i, j in data.draw(st.lists(cells, max_size=8, unique=True)))
    place = data.draw(st.integers(0, words - 1))
    texts = [f"<b>w{i}</b>" if i == place else f"<i>w{i}</i>" if i == place + 1 else f"w{i}" for i in range(words)]
    result = translated(" ".join(texts), given(" ".join(f"v{j}" for j in range(written)), links))
    outside = re.sub("<([bi])>.*?</\\1>", "", result)
    assert not re.search("<[bi]></[bi]>", result) or not outside.strip(), result


def test_a_symbol_that_the_source_lacks_is_left_out_with_its_blank() -> None:
    assert translated("<b>one</b> two", given(f"zwei {chr(FIRST)} eins", "0-2 1-0"), symbols=1) == "zwei <b>eins</b>"
