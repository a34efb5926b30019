"""Words are cut as whole texts are, and what is written is what decoding gives."""

import random

import pytest

from mt.data.fields.arriving import ArrivingText
from mt.data.tokenizer import EOS, PAD, Tokenizer, TokenizerConfig, train
from mt.decoding.streaming.session import TargetWords

TEXTS = ["Oh, ja! Das (ist) 4%x gut-er.", "two cats see houses", "あいう えお 漢字", "zwölf Häuser", "a b c d e"] * 30
KINDS = [("bpe", 1.0), ("unigram", 1.0), ("char", 1.0), ("word", 1.0)]


@pytest.fixture(scope="module", params=KINDS, ids=str)
def tokenizer(request) -> Tokenizer:
    kind, coverage = request.param
    size = {"word": 100, "char": 100}.get(kind, 70)
    return train(TokenizerConfig(model_type=kind, vocab_size=size, character_coverage=coverage), TEXTS)


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
