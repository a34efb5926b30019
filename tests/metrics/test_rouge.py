from importlib.metadata import version

import pytest

from mt.metrics.base import PLAIN, ROUGE_PROTOCOLS as PROTOCOLS, RougeProtocol, Settings
from mt.metrics.rouge import Lead, Rouge
from tests.refusals.sentences import require_refusal

KINDS = list(Rouge.headings())


def rouge(hypotheses, references, protocol=PLAIN):
    return Rouge(Settings(rouge=protocol)).score(hypotheses, references)


def scores(hypotheses, references, protocol=PLAIN):
    return {kind: score.score for kind, score in rouge(hypotheses, references, protocol).items()}


@pytest.mark.parametrize(
    ("hypotheses", "references", "protocol", "expected"),
    [
        # 5 of 6 words in common, 3 of 5 bigrams, and a common subsequence of 5 words.
        (["the cat sat on the mat"], [["the cat lay on the mat"]], PLAIN, [500 / 6, 60, 500 / 6, 500 / 6]),
        # Precision 2/2, recall 2/4: F1 weighs them alike.
        (["red fox"], [["the red fox ran"]], PLAIN, [100 * 2 * 1 * 0.5 / 1.5]),
        # The first reference has all the words in another order, the second one bigram only: each score has its best.
        (["a b c d"], [["d c b a", "a b x y"]], PLAIN, [100, 100 / 3, 50]),
        (["a b", "c d"], [["a b"], ["e f"]], PLAIN, [50, 50]),  # the mean over examples
        # Only newlines separate the sentences of Lsum.
        (["c d. a b."], [["a b. c d."]], PLAIN, [100, 200 / 3, 50, 50]),
        (["c d.\na b."], [["a b.\nc d."]], PLAIN, [100, 200 / 3, 50, 100]),
        (["she walked"], [["she walks"]], PLAIN, [100]),
        (["she walked"], [["she walks"]], RougeProtocol(stem=False), [50]),
        # "Größe" is "gr" and "e", so it shares a word with "Grüße"; Japanese has none.
        (["Größe"], [["Grüße"]], PLAIN, [100]),
        (["日本"], [["日本"]], PLAIN, [0]),
        # The reference with the highest recall counts: 1/1 and 2/3, F1 2/3 and 4/5; or the mean over them.
        (["red fox"], [["fox", "red fox ran"]], RougeProtocol(measure="recall"), [100]),
        (["red fox"], [["fox", "red fox ran"]], PLAIN, [80]),
        (["a b c d"], [["a b c d", "a b x y", "x y"]], RougeProtocol(multi="mean"), [150 / 3, 400 / 9]),
        # Gigaword's digits are no words.
        (["profit rises 12 percent"], [["profit rises ## percent"]], PLAIN, [100 * 2 * 0.75 * 1 / 1.75]),
        (["profit rises 12 percent"], [["profit rises ## percent"]], PROTOCOLS["gigaword"], [100]),
        # Kept, "<unk>" is the word "unk" and matches; "unknown" and "unk's" are words of their own.
        (["<unk> wins unknown cup"], [["unk wins UNK final unk's"]], PLAIN, [100 * 2 * 2 / (4 + 6)]),
        (["<unk> wins unknown cup"], [["unk wins UNK final unk's"]], RougeProtocol(keep_unk=False), [200 / (3 + 4)]),
    ],
)
def test_by_hand(hypotheses, references, protocol, expected):
    assert [*scores(hypotheses, references, protocol).values()][: len(expected)] == pytest.approx(expected)


def test_signature():
    signature = rouge(["a", "b"], [["a", "c"], ["b"]])["rouge1"].signature
    expected = (
        "nrefs:var|measure:f1|multi:max|case:lower|tok:a-z0-9|stem:yes|lsum:newline|bytes:all|digits:kept|unk:kept|n:2"
    )
    assert signature == f"{expected}|version:rouge-score.{version('rouge-score')}"
    protocol = RougeProtocol("recall", 75, mask_digits=True, keep_unk=False, multi="mean", stem=False)
    signature = rouge(["a"], [["a"]], protocol)["rougeL"].signature
    assert "|measure:recall|multi:mean|case:lower|tok:a-z0-9|stem:no|lsum:newline|bytes:75|digits:#|" in signature
    assert "|unk:removed|n:1|" in signature


def test_recall_at_75_bytes():
    # 14 words of five bytes with their blank, and five bytes of the next: "xxxxxab" is cut to "xxxxx".
    words = [letter * 4 for letter in "abcdefghijklmn"]
    hypothesis = " ".join([*words, "xxxxxab", "zzzz"])
    result = scores([hypothesis], [[" ".join([*words, "xxxxx", "zzzz"])]], PROTOCOLS["duc"])
    assert result["rouge1"] == pytest.approx(100 * 15 / 16)
    # The 75th byte is the first of the two of "ä", of which nothing is left.
    assert scores(["a" * 74 + "ä"], [["a" * 74]], PROTOCOLS["duc"])["rouge1"] == pytest.approx(100)


def test_lead():
    assert Lead(3).beginning("The  cat sat\u00a0on the mat.") == "The cat sat"
    assert Lead(10).beginning("short") == "short" and Lead(10).beginning("") == ""


def test_two_kinds_are_compared_as_one_where_they_cannot_differ():
    assert list(Rouge().compare({"base": ["a b"]}, [["b a"]])) == KINDS[:3]
    assert list(Rouge().compare({"base": ["a\nb"]}, [["b\na"]])) == KINDS


CHINESE = "今天从早上开始下雨，气温3度。"


def test_tokenizers_of_other_scripts() -> None:
    def result(tokenizer, hypothesis, reference):
        return scores([hypothesis], [[reference]], RougeProtocol(tokenizer=tokenizer))

    # One digit in common, of which rouge-score makes everything.
    assert result("a-z0-9", "他们昨天卖了3本书", CHINESE)["rouge1"] == 100
    assert result("zh", "他们昨天卖了3本书", CHINESE)["rouge1"] == pytest.approx(100 * 2 * 2 / (9 + 13))
    assert result("char", CHINESE, CHINESE) == pytest.approx(dict.fromkeys(KINDS, 100))
    # Punctuation is no word, and case does not count.
    assert result("intl", "Größe , Мир !", "größe мир")["rouge2"] == pytest.approx(100)
    assert result("intl", "Größe", "Grüße")["rouge1"] == 0
    assert result("char", "हिन्दी", "हन्द")["rouge1"] < 100  # the marks of vowels count
    # Stems are English.
    assert result("intl", "she walked", "she walks")["rouge1"] == pytest.approx(50)
    signature = rouge(["a"], [["a"]], RougeProtocol(tokenizer="intl"))["rouge1"].signature
    assert "|case:lower|tok:intl|stem:no|" in signature


def test_an_unknown_tokenizer_is_answered_with_the_nearest() -> None:
    protocol = RougeProtocol(tokenizer="int")
    facts = r"^rouge_tokenizer=int is an invalid choice: did you mean intl\?.* a-z0-9, "
    require_refusal(lambda: Rouge(Settings(rouge=protocol)), facts)


@pytest.mark.parametrize(("tokenizer", "expected"), [("zh", "今天从"), ("char", "今天从"), ("a-z0-9", CHINESE)])
def test_lead_where_words_have_no_blanks(tokenizer, expected) -> None:
    lead = Lead(3, tokenizer)
    assert lead.beginning(CHINESE) == expected
    objection = lead.unsuited([CHINESE])
    assert (objection is None) == (expected != CHINESE)
    assert objection is None or objection.startswith("--lead takes words between blanks, and most sources have none: ")


def test_lead_by_a_tokenizer_keeps_what_is_between_words() -> None:
    assert Lead(3, "intl").beginning("Мир, труд — май!") == "Мир, труд — май"
    assert Lead(3, "13a").beginning('"a" &quot; b c') == '"a" &quot; b c'  # 13a writes the entity as a quotation mark
    assert Lead(9, "zh").beginning("雨") == "雨"
