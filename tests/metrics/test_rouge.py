from importlib.metadata import version

import pytest

from mt.errors import UserError
from mt.metrics.rouge import rouge


def scores(hypotheses, references, stem=True):
    return {kind: score.score for kind, score in rouge(hypotheses, references, stem=stem).items()}


def test_by_hand():
    # 5 of 6 words in common, 3 of 5 bigrams, and a common subsequence of 5 words.
    found = scores(["the cat sat on the mat"], [["the cat lay on the mat"]])
    assert found == pytest.approx({"rouge1": 500 / 6, "rouge2": 60, "rougeL": 500 / 6, "rougeLsum": 500 / 6})


def test_f1_weighs_precision_and_recall_alike():
    # Precision 2/2, recall 2/4.
    assert scores(["red fox"], [["the red fox ran"]])["rouge1"] == pytest.approx(100 * 2 * 1 * 0.5 / 1.5)


def test_the_best_reference_counts_for_each_kind_by_itself():
    # The first has all the words in another order, the second one bigram only.
    found = scores(["a b c d"], [["d c b a", "a b x y"]])
    assert found["rouge1"] == pytest.approx(100)
    assert found["rouge2"] == pytest.approx(100 / 3)
    assert found["rougeL"] == pytest.approx(50)


def test_the_score_is_the_mean_over_examples():
    assert scores(["a b", "c d"], [["a b"], ["e f"]])["rouge2"] == pytest.approx(50)


def test_only_newlines_separate_the_sentences_of_lsum():
    one_line = scores(["c d. a b."], [["a b. c d."]])
    assert one_line["rougeLsum"] == one_line["rougeL"] == pytest.approx(50)
    found = scores(["c d.\na b."], [["a b.\nc d."]])
    assert found["rougeLsum"] == pytest.approx(100)
    assert found["rougeL"] == pytest.approx(50)


def test_stems():
    assert scores(["she walked"], [["she walks"]])["rouge1"] == pytest.approx(100)
    assert scores(["she walked"], [["she walks"]], stem=False)["rouge1"] == pytest.approx(50)


def test_letters_beyond_a_to_z_separate_words():
    # "Größe" is "gr" and "e", so it shares a word with "Grüße"; Japanese has none.
    assert scores(["Größe"], [["Grüße"]])["rouge1"] == pytest.approx(100)
    assert scores(["日本"], [["日本"]])["rouge1"] == 0


def test_signature():
    signature = rouge(["a", "b"], [["a", "c"], ["b"]])["rouge1"].signature
    expected = "nrefs:var|measure:f1|multi:max|tok:a-z0-9|stem:yes|lsum:newline|n:2|version:rouge-score."
    assert signature == expected + version("rouge-score")
    assert "|stem:no|" in rouge(["a"], [["a"]], stem=False)["rougeL"].signature


def test_refusals():
    with pytest.raises(UserError, match=r"^there are 1 hypotheses but 2 references: "):
        rouge(["a"], [["a"], ["b"]])
    with pytest.raises(UserError, match=r"^there is nothing to score: "):
        rouge([], [])
    with pytest.raises(UserError, match=r"^sentence 1 has no reference: "):
        rouge(["a"], [[]])
    with pytest.raises(TypeError, match="not a string"):
        rouge(["a"], ["a"])
