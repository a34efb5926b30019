"""Words are cut as whole texts are, and what is written is what decoding gives."""

import random

import pytest

from mt.data.fields.text import ArrivingText
from mt.data.tokenizer import EOS, PAD, Tokenizer, TokenizerConfig, train
from mt.decoding.delays import TargetWords

TEXTS = ["Oh, ja! Das (ist) 4%x gut-er.", "two cats see houses", "あいう えお 漢字", "zwölf Häuser", "a b c d e"] * 30


@pytest.fixture(scope="module", params=["bpe", "unigram", "char", "word"])
def tokenizer(request) -> Tokenizer:
    size = {"word": 100, "char": 100}.get(request.param, 70)
    return train(TokenizerConfig(model_type=request.param, vocab_size=size, character_coverage=1.0), TEXTS)


def units(tokenizer: Tokenizer) -> tuple:
    return ("word", "char") if tokenizer.of_characters else ("word",)


def test_source_words_are_cut_as_the_text(tokenizer) -> None:
    draw = random.Random(1)
    for unit in units(tokenizer):
        for _ in range(300):
            words = ["".join(draw.choices("abcäß,!-漢あz鳥٣", k=draw.randint(1, 5))) for _ in range(draw.randint(0, 4))]
            text = draw.choice([" ", "  ", "\t", "\u3000"]).join(words)
            source = ArrivingText(tokenizer, unit)
            ids = []
            for word in source.parts(text):
                ids += source.row(word)
            assert [*ids, EOS] == tokenizer.encode([text])[0], (unit, text)


def test_characters_of_words_are_cut_as_the_text(tokenizer) -> None:
    """Where a target without blanks streams by characters, the words of the source still come whole."""
    draw = random.Random(4)
    for _ in range(300):
        words = ["".join(draw.choices("abcäß,!.z\u200b", k=draw.randint(1, 5))) for _ in range(draw.randint(0, 4))]
        text = draw.choice([" ", "  ", "\t"]).join(words) + draw.choice(["", " "])
        source = ArrivingText(tokenizer, "char")
        ids = [i for character in source.parts(text) for i in source.row(character)]
        assert [*ids, *(source.rest() or [EOS])] == tokenizer.encode([text])[0], text


def test_characters_of_scripts_without_blanks_come_one_by_one(tokenizer) -> None:
    source = ArrivingText(tokenizer, "char")
    rows = [source.row(character) for character in source.parts("ab あい")]
    # Unknown characters in a row are one token.
    early = tokenizer.of_characters
    assert [bool(row) for row in rows] == [early, early, not early, True, not tokenizer.of_words]


@pytest.mark.parametrize("shown", [False, True])
def test_words_that_show_nothing_wait_for_one_that_does(tokenizer, shown: bool) -> None:
    draw = random.Random(3)
    for unit in units(tokenizer):
        for _ in range(100):
            words = ["".join(draw.choices("\u200b\u00ad\u200e\u2060", k=draw.randint(1, 3))) for _ in range(3)]
            text = " ".join([*words[: draw.randint(0, 3)], *(["ab", *words[2:]] if shown else [])])
            source = ArrivingText(tokenizer, unit)
            rows = [source.row(part) for part in source.parts(text)]
            ids = [i for row in rows for i in row]
            assert [*ids, *(source.rest() or [EOS])] == tokenizer.encode([text])[0]
            assert tokenizer.encode_column([text]).to_pylist() == tokenizer.encode([text])
            assert (source.rest() is None) == (not shown) == (tokenizer.encode([text]) == [[EOS]])
            assert len(tokenizer.split(text)) == len(tokenizer.unit_ids(text)) == len(ids) + 1


def test_target_words_are_the_decoded_text(tokenizer) -> None:
    draw = random.Random(2)
    ordinary = [i for i in range(len(tokenizer)) if i not in (PAD, 2, EOS)]
    for unit in units(tokenizer):
        blank = "" if unit == "char" else " "
        for _ in range(300):
            ids = draw.choices(ordinary, k=draw.randint(0, 12))
            target = TargetWords(tokenizer, unit)
            written = []
            for count, token in enumerate(ids, start=1):
                written += target.add(token)
                # However it goes on, what was written is the beginning.
                longer = tokenizer.decode([*ids[:count], *draw.choices(ordinary, k=3)])
                assert longer.startswith(blank.join(written))
            written += target.add(EOS)
            assert blank.join(written) == tokenizer.decode(ids)
            assert all(word.split() == [word] if unit == "word" else len(word.strip()) == 1 for word in written)
