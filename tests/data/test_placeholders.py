import time

import pytest

from mt.data.placeholders import FIRST, SAFE, SYNTAXES, numbers, placeholders_of
from mt.data.tokenizer import Tokenizer, TokenizerConfig, Tokenizers, train
from mt.errors import UserError

TEXTS = ["Visit { $url } now {name} and %s", "the cat sat on the mat", "a { -brand } b"] * 20


def found_in(text: str, names: tuple[str, ...]) -> list[str]:
    return [text[begin:end] for begin, end in placeholders_of(names).spans(text)]


@pytest.mark.parametrize("name", SYNTAXES)
def test_examples_of_each_syntax_are_whole(name: str) -> None:
    for names in ((name,), (*SAFE, name)) if name != "qt" and SYNTAXES[name].is_safe else ((name,),):
        for example in SYNTAXES[name].examples.split():
            for text in (example, f"see {example} now", f"({example}).", f"x, {example}: y"):
                assert found_in(text, names) == [example], (names, text)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("{name} {{x}} { $url } { -brand-name } #{c}", "{name}|{{x}}|{ $url }|{ -brand-name }|#{c}"),
        ("{{#if user}} {{ user.name | upper }} {% if x %}", "{{#if user}}|{{ user.name | upper }}|{% if x %}"),
        ("a { b {name} c", "{name}"),
        ('{ "{" } and { "}}" }', '{ "{" }|{ "}}" }'),
        # What only looks like it.
        ("100% sure, 5%, }, {, a % b, {see below}s {1, 2} % d", ""),
        ("{note: see below} and {1, 2}", ""),
        ("ein 50 %iges Angebot, 50%iges, 100%d'accord, 20%-30%", ""),
        ("http://example.com/my%20file.html my%20file", ""),
        ("http://x/%C3%A9t%C3%A9 www.x/%d0%b0", ""),
        ("US$ and A$, $5 and $6, AT&T; x", ""),
        # Printf's, Symfony's and others that begin alike.
        ("5 %s, 50%, %d%% and 100%%", "%s|%d|%%|%%"),
        ("http://x/%s/edit?q=%d", "%s|%d"),
        ("Hello %count% of %user.name%, %count%%total% %count%s", "%count%|%user.name%|%count%|%total%|%count%"),
        ("%s%s %dx%d %dh%dm%ds %s/%s S%02dE%02d %s%2d", "%s|%s|%d|%d|%d|%d|%d|%s|%s|%02d|%02d|%s|%2d"),
        ("%1$s%2$s, %(n)s %@ %1% %d% done", "%1$s|%2$s|%(n)s|%@|%1%|%d%"),
        # Plurals and selections with what they hold, whatever is quoted in them.
        ("{n, plural, one {# file} other {{n} files}} x", "{n, plural, one {# file} other {{n} files}}"),
        ("{n, plural, one {a '{' b} other {It's {n}}}{x}", "{n, plural, one {a '{' b} other {It's {n}}}|{x}"),
        ("{ $n ->\n [one] a\n *[other] b { $n }\n} c", "{ $n ->\n [one] a\n *[other] b { $n }\n}"),
        ("You have {n, plural, one {# file", "{n, plural, one {# file"),
        ("it's '{name}' ok, {0, date}", "{name}|{0, date}"),
    ],
)
def test_what_a_placeholder_is(text: str, found: str) -> None:
    names = tuple(name for name in SAFE if name != "address")
    assert "|".join(found_in(text, names)) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("See https://example.org/a, http://b.org. And (www.c.de)!", "https://example.org/a|http://b.org|www.c.de"),
        ("[x](https://example.org/a_(b)) *http://b.org/c*", "https://example.org/a_(b)|http://b.org/c"),
        ("http://x/%s/{id} and %s, {name}", "http://x/%s/{id}|%s|{name}"),
        ("http://x/my%20file.html?q=100% sure", "http://x/my%20file.html?q=100%"),
        ("see WWW.example.org, Mailto:a@b.de or a.b+c@d.e.de.", "WWW.example.org|Mailto:a@b.de|a.b+c@d.e.de"),
        (
            "请访问https://example.org/二猫www.example.org。猫me@x.org猫",
            "https://example.org/|www.example.org|me@x.org",
        ),
        ('<"http://a.b">, git+ssh://c.d;', "http://a.b|git+ssh://c.d"),
        ("www. and http:// and a@b and @user and Ehttp:x 3:// ...www.", ""),
    ],
)
def test_what_an_address_is(text: str, found: str) -> None:
    assert "|".join(found_in(text, SAFE)) == found


def test_a_syntax_that_is_not_is_refused() -> None:
    with pytest.raises(UserError, match="a syntax of placeholders=print is an invalid choice: did you mean printf"):
        TokenizerConfig(placeholder_syntaxes=("print",))


@pytest.mark.parametrize(
    "text",
    [
        *["{", "%", "{a", "{n,plural,", "{{", "%a", "'{", "{n,plural,'{", "http://%20f", "$a", "&a", "${"],
        *["{a b ", '{"{', "% ", "www.", "http://(", "http://{a", "a@", "a.", "a@b.", "ab+"],
    ],
)
def test_hostile_texts_take_time_in_proportion_to_their_length(text: str) -> None:
    begun = time.process_time()
    for whole in (text * 20_000, text * 10_000 + "}" * 10_000):
        placeholders_of(tuple(SYNTAXES)).spans(whole)
    assert time.process_time() - begun < 10


def test_both_sides_agree_on_numbers() -> None:
    one = numbers(["{a}", "{b}", "{a}"], 16)
    assert one == numbers(["{b}", "{a}"], 16)
    assert len({*numbers([f"{{{i}}}" for i in range(20)], 16).values()}) == 16
    assert numbers([chr(FIRST + 5)], 16) == {chr(FIRST + 5): 5}
    assert placeholders_of(SAFE).masked("{a}", 0) == ("{a}", {})


@pytest.mark.parametrize("model_type", ["bpe", "unigram", "char", "word"])
def test_a_placeholder_is_one_symbol_and_comes_back(model_type: str) -> None:
    config = TokenizerConfig(model_type=model_type, vocab_size=60, placeholders=8, user_symbols=("§",))
    tokenizer = train(config, TEXTS)
    text = "Visit the { $url } § {name}"
    ids = tokenizer.encode([text])[0]
    assert tokenizer.encode_column([text]).to_pylist() == [ids]
    assert len(tokenizer.restored(ids, text)) == 2
    assert tokenizer.decode(ids, tokenizer.restored(ids, text)) == text
    # Links join its words.
    assert len(tokenizer.unit_ids(text)) == len(ids)
    units = [unit for unit in tokenizer.unit_ids(text) if unit is not None]
    assert units == sorted(units) and units[-1] == 7
    assert Tokenizer(tokenizer.model).placeholders == 8


def test_symbols_are_there_from_the_beginning() -> None:
    pairs = [(text, text) for text in TEXTS]
    configs = [TokenizerConfig(vocab_size=60, placeholders=n) for n in (0, 8)]
    plain, symbols = (Tokenizers.train(config, pairs).target for config in configs)
    assert (plain.placeholders, symbols.placeholders) == (0, 8)
    assert len(plain.encode(["{ $url }"])[0]) > len(symbols.encode(["{ $url }"])[0]) == 3


def test_a_vocabulary_says_what_its_symbols_stand_for() -> None:
    texts = ["Visit %1 now :name and {x}"] * 20
    tokenizer = train(TokenizerConfig(vocab_size=40, placeholders=8, placeholder_syntaxes=("qt", "laravel")), texts)
    read = Tokenizer(tokenizer.model)
    assert read.masked("Visit %1 {x}").endswith(" {x}")
    assert read.restored(read.encode(["%1 :name"])[0], "%1 :name") != {}
    assert len(read.encode(["%1 :name"])[0]) == len(read.encode(["%2 :name"])[0])
