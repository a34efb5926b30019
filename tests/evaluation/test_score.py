import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import sacrebleu

from mt.config import Config
from mt.data.corpus import Corpus
from mt.errors import UserError
from mt.evaluation.attention_stats import AttentionStats
from mt.evaluation.score import (
    alignment_error,
    dev_scores,
    evaluate,
    forced_links,
    teacher_forced,
    word_links,
)
from mt.inference import Translator, load
from mt.models.seq2seq import Seq2Seq
from mt.search.config import SearchConfig


def test_dev_scores_are_greedy_and_those_of_sacrebleu(trained: Path, corpus: Corpus) -> None:
    translator, split = load(trained, device="cpu"), corpus.split("dev")
    scores, translations, health = dev_scores(translator, split, None)
    hypotheses = [translation.text for translation in translations]
    greedy = translator.translate(split.column("source"), SearchConfig(name="greedy"))
    assert hypotheses == [translation.text for translation in greedy] and len(hypotheses) == 12
    assert scores["bleu"] == pytest.approx(sacrebleu.corpus_bleu(hypotheses, [split.column("target")]).score)
    assert scores["chrf"] == pytest.approx(sacrebleu.corpus_chrf(hypotheses, [split.column("target")]).score)
    assert list(scores) == ["loss", "perplexity", "bleu", "chrf"]
    assert list(health) == ["entropy", "normalized_entropy", "at_first", "at_last", "jump"]


def test_only_the_first_sentences_are_decoded(trained: Path, corpus: Corpus) -> None:
    translator, split = load(trained, device="cpu"), corpus.split("dev")
    scores, translations, health = dev_scores(translator, split, 5)
    everything = dev_scores(translator, split, None)
    assert len(translations) == 5
    assert scores["loss"] == everything.scores["loss"] and health == everything.health
    expected = sacrebleu.corpus_bleu([t.text for t in translations], [split.column("target")[:5]]).score
    assert scores["bleu"] == pytest.approx(expected)


def test_loss_is_that_of_forced_targets(trained: Path, corpus: Corpus) -> None:
    translator, split = load(trained, device="cpu"), corpus.split("dev")
    forced = translator.align(split.column("source"), split.column("target"))
    nats = -sum(pair.score for pair in forced) / sum(len(pair.tokens) for pair in forced)
    measured = teacher_forced(translator, split)
    assert measured["loss"] == pytest.approx(nats, rel=1e-5)
    assert measured["perplexity"] == pytest.approx(math.exp(nats), rel=1e-4)
    assert list(measured) == ["loss", "perplexity"]


def test_soft_hard_and_the_gap_between_them(trained_hard: Path, corpus: Corpus) -> None:
    translator, split = load(trained_hard, device="cpu"), corpus.split("dev")
    scores, translations, health = dev_scores(translator, split, None)
    pairs = {f"{name}_{mode}" for name in ("loss", "bleu", "chrf") for mode in ("soft", "hard")}
    gaps = {"gap_loss", "gap_bleu", "gap_chrf"}
    assert scores.keys() == {"loss", "perplexity", "bleu", "chrf"} | pairs | gaps
    for name in ("loss", "bleu", "chrf"):
        assert scores[f"gap_{name}"] == pytest.approx(scores[f"{name}_hard"] - scores[f"{name}_soft"])
    assert scores["loss"] == scores["loss_soft"] == teacher_forced(translator, split)["loss"]
    assert scores["loss_hard"] == teacher_forced(translator, split, hard=True)["loss"]
    assert scores["bleu"] == scores["bleu_hard"]
    for mode in ("soft", "hard"):
        decoded = evaluate(translator, split, SearchConfig(name="greedy", mode=mode))
        assert scores[f"chrf_{mode}"] == decoded.scores["chrf"].score
    assert all(translation.stops is not None for translation in translations)
    assert {"lost_mass", "saturation", "disagreement"} < health.keys()


def test_health_is_that_of_forced_targets(trained_hard: Path, corpus: Corpus) -> None:
    translator, split = load(trained_hard, device="cpu"), corpus.split("dev")
    sources, targets = split.column("source"), split.column("target")
    measured = dev_scores(translator, split, None).health
    soft, hard = (translator.align(sources, targets, hard=hard) for hard in (False, True))
    entropies = [-sum(w * math.log(w) for w in row if w > 0) for pair in soft for row in pair.alignment.tolist()]
    assert measured["entropy"] == pytest.approx(sum(entropies) / len(entropies), rel=1e-4)
    # A chunk that is read hard ends where the head stopped.
    stops = [int(np.flatnonzero(row)[-1]) for pair in hard for row in pair.alignment]
    health = AttentionStats()
    teacher_forced(translator, split, hard=True, health=health)
    assert health.scores()["at_first"] == pytest.approx(np.mean(np.array(stops) == 0))


def test_an_attention_that_reads_nothing_has_no_health(configure: Callable[..., Config], corpus: Corpus) -> None:
    config = configure({"attention": {"name": "none"}})
    translator = Translator(Seq2Seq(config, *(len(side) for side in corpus.tokenizers)), corpus.tokenizers, config)
    assert dev_scores(translator, corpus.split("dev"), 2).health == {}


def test_blank_lines_do_not_spoil_latency(trained_hard: Path, corpus: Corpus) -> None:
    class Blank:
        def column(self, name: str) -> list:
            column = corpus.split("dev").column(name)
            return [" " if name == "source" else column[0], *column[1:]]

    evaluation = evaluate(load(trained_hard, device="cpu"), Blank(), SearchConfig(name="online"))
    assert evaluation.scores["al"].signature.startswith("n:11|")


def test_word_links_of_pieces() -> None:
    source, target = ["▁twen", "ty", "▁cats", ".", "</s>"], ["▁zwan", "zig", "▁Ka", "tzen", ".", "</s>"]
    weights = np.zeros((6, 5))
    for row, column in enumerate([0, 1, 2, 4, 3, 4]):
        weights[row, column] = 1
    # The end of the source is read by a piece of `Katzen`, which brings no link.
    assert word_links(weights, source, target) == "0-0 1-1 2-2"


def test_word_links_of_unknown_and_decomposed_pieces() -> None:
    weights = np.eye(4, 3)
    assert word_links(weights, ["▁a", "▁b", "</s>"], ["<unk>", "▁u", "\u0308ber", "</s>"]) == "0-0 1-1"


def test_forced_links_of_a_blank_pair_are_blank(trained: Path) -> None:
    links = forced_links(load(trained, device="cpu"), ["", "two cats"], ["", "zwei Katzen"], hard=False)
    assert len(links) == 2 and links[0] == ""


def test_alignment_error() -> None:
    score = alignment_error(["0-0 1-1"], ["0-0 1-2 1p1"])
    # One of two sure ones is found, and both are possible: 1 - (1 + 2) / (2 + 2).
    assert score.score == pytest.approx(25)
    with pytest.raises(UserError, match=r"gold\.txt, line 1: 'x' is not a link"):
        alignment_error(["0-0"], ["x"], "gold.txt")
