import pytest

from mt.metrics import build
from mt.metrics.bleu import Bleu
from mt.metrics.settings import Settings
from tests.metrics.usable import USABLE

EVERY = build(USABLE)
NAMES = [["Anna"], ["Otto"], ["Eva", "Ewa"], ["van Gogh"]] * 5
PHONES = [["K AE T"], ["D AO G"], ["B ER D"]] * 5
SENTENCES = [["the cat sat on the mat ."], ["it rains today , I think ."]] * 5
JAPANESE = [["アンナは昨日の夜に家へ帰った"], ["今日は朝から雨が降ると思う"]] * 5
SPACED = [["кошка сидит на коврике ."], ["сегодня идёт дождь , кажется ."]] * 5
SHORT = (
    "BLEU counts four tokens in a row, and most references have fewer: choose accuracy or cer (or wer, where they are "
    "of several words)"
)
LETTERS = "ROUGE knows no letters but a-z, and most references have none: choose chrf or bleu"
BLANKS = "counts words between blanks, and most references have none: choose cer"


def test_bleu_is_indeed_0_where_it_is_said() -> None:
    for references in (NAMES, PHONES):
        assert Bleu().score([group[0] for group in references], references)["bleu"].score == 0


@pytest.mark.parametrize(
    ("references", "expected"),
    [
        (NAMES, {"bleu": SHORT}),
        (SENTENCES, {}),
        (SPACED, {"rouge": LETTERS}),
        ([["오늘은 비가 많이 온다고 합니다"]], {"rouge": LETTERS}),
        (
            JAPANESE,
            {
                "bleu": "BLEU's tokenizer 13a looks for words between blanks, and most references have none: choose "
                "the tokenizer zh, ja-mecab, flores200 or char, or name the target language (zh, ja)",
                "rouge": LETTERS,
                "wer": f"WER {BLANKS}",
                "ter": f"TER {BLANKS} or chrf",
            },
        ),
    ],
)
def test_what_the_references_say_against_a_metric(references, expected) -> None:
    found = {metric.name: metric.unsuited(references) for metric in EVERY}
    assert {name: reason for name, reason in found.items() if reason} == expected


def test_a_tokenizer_of_the_language_suits() -> None:
    for options in (Settings("zh"), Settings("ja", "char"), Settings(None, "zh")):
        assert Bleu(options).unsuited(JAPANESE) is None
    # Four characters are four tokens.
    assert Bleu(Settings("ja", "char")).unsuited([["オットー"]]) is None
