import pytest

from mt.data.placeholders import FIRST, PLACEHOLDER, masked, numbers
from mt.data.tokenizer import Tokenizer, TokenizerConfig, Tokenizers, train

TEXTS = ["Visit { $url } now {name} and %s", "the cat sat on the mat", "a { -brand } b"] * 20


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("{name} {{x}} { $url } { -brand-name } ${a} %{b} #{c}", 7),
        ("%s %1$s %d %.2f %@ %(n)s %lu", 7),
        ("{n, plural, one {# file} other {{n} files}}", 1),
        ("$USER$ and &brandShortName;", 2),
        ("100% sure, 5%, }, {, a % b", 0),
    ],
)
def test_what_a_placeholder_is(text: str, found: int) -> None:
    assert len(PLACEHOLDER.findall(text)) == found


def test_both_sides_agree_on_numbers() -> None:
    one = numbers(["{a}", "{b}", "{a}"], 16)
    assert one == numbers(["{b}", "{a}"], 16)
    assert len({*numbers([f"{{{i}}}" for i in range(20)], 16).values()}) == 16
    assert numbers([chr(FIRST + 5)], 16) == {chr(FIRST + 5): 5}
    assert masked("{a}", 0) == ("{a}", {})


@pytest.mark.parametrize("model_type", ["bpe", "unigram", "char", "word"])
def test_a_placeholder_is_one_symbol_and_comes_back(model_type: str) -> None:
    config = TokenizerConfig(model_type=model_type, vocab_size=60, placeholders=8, user_symbols=("§",))
    tokenizer = train(config, TEXTS)
    text = "Visit the { $url } § {name}"
    ids = tokenizer.encode([text])[0]
    assert tokenizer.encode_column([text]).to_pylist() == [ids]
    assert [piece for piece in tokenizer.split(text) if piece.strip("▁") in (*masked(text, 8)[1], "§")] != []
    assert len(tokenizer.restored(ids, text)) == 2
    assert tokenizer.decode(ids, tokenizer.restored(ids, text)) == text
    # Links join its words.
    assert len(tokenizer.unit_ids(text)) == len(ids)
    units = [unit for unit in tokenizer.unit_ids(text) if unit is not None]
    assert units == sorted(units) and units[-1] == 7
    assert Tokenizer(tokenizer.model).placeholders == 8


def test_symbols_are_there_from_the_beginning() -> None:
    plain, symbols = (
        Tokenizers.train(TokenizerConfig(vocab_size=60, placeholders=n), [(text, text) for text in TEXTS]).target
        for n in (0, 8)
    )
    assert (plain.placeholders, symbols.placeholders) == (0, 8)
    assert len(plain.encode(["{ $url }"])[0]) > len(symbols.encode(["{ $url }"])[0]) == 3
