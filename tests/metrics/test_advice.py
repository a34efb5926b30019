import pytest

from mt.metrics import METRICS, build, notes
from mt.metrics.base import RougeProtocol, Settings
from mt.metrics.bleu import Bleu
from mt.metrics.rouge import Rouge

EVERY = build([*METRICS])
NAMES = [["Anna"], ["Otto"], ["Eva", "Ewa"], ["van Gogh"]] * 5
SENTENCES = [["the cat sat on the mat ."], ["it rains today , I think ."]] * 5
JAPANESE = [["アンナは昨日の夜に家へ帰った"], ["今日は朝から雨が降ると思う"]] * 5
SPACED = [["кошка сидит на коврике ."], ["сегодня идёт дождь , кажется ."]] * 5
SHORT = (
    "BLEU counts four tokens in a row, and most references have fewer: choose accuracy or cer (or wer, where they are "
    "of several words)"
)
CHOICE = (
    "choose another one (rouge_tokenizer: intl; zh, ja-mecab, ko-mecab or char where words are not set apart by "
    "blanks), or choose chrf or bleu"
)
LETTERS = f"ROUGE's tokenizer a-z0-9 sees 0% of the letters and digits of the references: {CHOICE}"
BLANKS = "counts words between blanks, and most references have none: choose"
COUNTING_WORDS = {
    "wer": f"WER {BLANKS} cer",
    "ter": f"TER {BLANKS} cer or chrf",
    "coco_bleu": f"BLEU (COCO) {BLANKS} bleu or chrf",
    "rougeL_coco": f"ROUGE-L (COCO) {BLANKS} bleu or chrf",
    "cider": f"CIDEr-D {BLANKS} bleu or chrf",
}
UNBROKEN = (
    "BLEU's tokenizer 13a looks for words between blanks, and most references have none: choose the tokenizer zh, "
    "ja-mecab, flores200 or char, or name the target language (zh, ja)"
)
SCENES = {
    "truth": "truth understands captions of dataset=scenes, and most references are none: choose accuracy or bleu"
}


@pytest.mark.parametrize(
    ("references", "expected"),
    [
        (NAMES, {"bleu": SHORT}),
        (SENTENCES, {}),
        ([["a red circle above a small blue star"]], {}),
        (SPACED, {"rouge": LETTERS}),
        ([["오늘은 비가 많이 온다고 합니다"]], {"rouge": LETTERS}),
        ([["сегодня идёт дождь 7"]], {"rouge": LETTERS.replace("0%", "6%")}),
        ([["Größe, Überfluß, żółć, đường phố"]], {}),
        (JAPANESE, {"bleu": UNBROKEN, "rouge": LETTERS, **COUNTING_WORDS}),
    ],
)
def test_what_the_references_say_against_a_metric(references, expected) -> None:
    actual = {metric.name: metric.unsuited(references) for metric in EVERY}
    scenes = {} if "circle" in references[0][0] else SCENES
    assert {name: reason for name, reason in actual.items() if reason} == expected | scenes
    assert notes(EVERY, references) == [*dict.fromkeys(reason for reason in actual.values() if reason)]


THAI = [["ฝนจะตกหนักในกรุงเทพวันนี้"]]


@pytest.mark.parametrize(
    ("tokenizer", "references", "reason"),
    [
        ("zh", THAI, "looks for words between blanks"),
        ("intl", JAPANESE, "looks for words between blanks"),
        ("char", THAI, None),
        ("zh", JAPANESE, None),
        ("13a", [["今天 从 早上 开始 下雨"]], None),  # somebody has cut it
        ("13a", [["ང་ཚོ་དེ་རིང་ཁྲོམ་ལ་འགྲོ་གི་ཡིན"]], "looks for words between blanks"),
    ],
)
def test_what_a_tokenizer_cannot_cut(tokenizer, references, reason):
    for result in (Bleu(Settings(None, tokenizer)), Rouge(Settings(rouge=RougeProtocol(tokenizer=tokenizer)))):
        objection = result.unsuited(references)
        assert (objection is None) if reason is None else reason in objection and f"tokenizer {tokenizer} " in objection
