from random import Random

import pytest

from data_prep.generated.bulletin.grammar import Category, Grammar, Story, read_categories, read_category, read_stories

RAIN = "The rain was heavy and it went on for many more hours until the whole of the town was wet"  # 19 words


def tell(headline: str, text: str, seed: int = 0, **categories: Category) -> tuple[str, str]:
    """The text without its filling, and the headline."""
    source, target = Grammar((), categories).tell(Story(headline, (f"{text} {RAIN}.",)), Random(seed))
    return source.removesuffix(f" {RAIN}."), target


def test_a_fact_is_the_same_wherever_it_is_named():
    towns = read_category("things", "Leeds, Genoa, Porto, Cork")
    for seed in range(20):
        source, target = tell("{town} wins", "{town} has won.", seed, town=towns)
        assert source.removesuffix(" has won.") == target.removesuffix(" wins")


def test_numbered_facts_differ_in_their_short_forms():
    teams = read_category("text | short", "Leeds Lions | Lions\nGenoa Lions | Lions\nPorto Bears | Bears")
    for seed in range(20):
        _, target = tell("{team1.short} {team2.short}", "{team1} beat {team2}.", seed, team=teams)
        assert sorted(target.split()) == ["Bears", "Lions"]


def test_choices_nest_and_may_be_empty():
    result = {tell("x", "it rained(, (they|we) said|).", seed)[0] for seed in range(40)}
    assert result == {"It rained.", "It rained, they said.", "It rained, we said."}


def test_clauses_and_facts_may_name_facts():
    source, target = tell(
        "{deed.short}",
        "{told}.",
        told=read_category("clauses", "{who} {deed}"),
        who=read_category("things", "Ann"),
        deed=read_category("text | short", "saw {who} | {who}"),
    )
    assert (source, target) == ("Ann saw Ann.", "Ann")


@pytest.mark.parametrize(
    ("written", "finished"),
    [
        ("a egg and a pear.", "An egg and a pear."),
        ("a 8-year-old, a 11-hour, a 18-month, a 80-page.", "An 8-year-old, an 11-hour, an 18-month, an 80-page."),
        ("a 1-year-old, a 17-year-old, a 110-page book.", "A 1-year-old, a 17-year-old, a 110-page book."),
        ("a university, a union, a used car, a unknown uncle.", "A university, a union, a used car, an unknown uncle."),
        ("an egg and a pear.", "An egg and a pear."),
        ("a one-way street, a orange, a Estonian.", "A one-way street, an orange, an Estonian."),
        ("it ended. two went , one  stayed : no one saw.", "It ended. Two went, one stayed: no one saw."),
    ],
)  # fmt: skip
def test_articles_capitals_and_blanks(written, finished):
    assert tell("x", written)[0] == finished


def test_a_headline_has_no_articles_and_a_capital():
    assert tell("man finds a egg under the table in theater", "x.")[1] == "Man finds egg under table in theater"


def test_a_text_of_another_length_is_drawn_again():
    grammar = Grammar((), {})
    story = Story("x", ("too short.", f"right. {RAIN}.", f"too long. {RAIN} {RAIN} {RAIN}."))
    assert {grammar.tell(story, Random(seed))[0] for seed in range(20)} == {f"Right. {RAIN}."}


def test_a_headline_cannot_tell_what_its_text_does_not():
    with pytest.raises(KeyError, match="town"):
        tell("{town} wins", "someone has won.", town=read_category("things", "Leeds"))


def test_stories_are_read_with_their_continuations():
    text = "One {a}\n- it is\n  one.\n- one it is.\n\nTwo\n- it is two."
    assert read_stories(text) == (Story("One {a}", ("it is one.", "one it is.")), Story("Two", ("it is two.",)))


def test_categories_are_read_from_a_file(tmp_path):
    path = tmp_path / "topic.txt"
    path.write_text(
        "# A comment.\n[stories]\nX\n- y.\n\n[shop: things]\nbank, post\noffice\n\n[more: clauses]\n"
        "it rains\nit snows\n\n[deed: text | short]\nran away | flight\n"
    )
    assert read_categories(path) == {
        "shop": ({"text": "bank"}, {"text": "post office"}),
        "more": ("it rains", "it snows"),
        "deed": ({"text": "ran away", "short": "flight"},),
    }
