from pathlib import Path

import pytest
import sacrebleu

from mt.common.links import to_pharaoh
from mt.data.corpus import Corpus
from mt.data.split import Split
from mt.decoding.load import load
from mt.decoding.translation import Timing, Translation
from mt.decoding.translator import Translator
from mt.evaluation.drawings import alignment_error
from mt.evaluation.score import dev_scores, evaluate, simultaneous
from mt.evaluation.teacher_forcing import teacher_forced_pass
from mt.metrics.latency import score_latency
from mt.search.config import BeamConfig, GreedyConfig, OnlineConfig
from mt.search.hypothesis import EMPTY
from tests.refusals.sentences import require_refusal

ONLINE = {"search": OnlineConfig()}


@pytest.fixture
def split(corpus: Corpus) -> Split:
    return corpus.split("dev")


def test_dev_scores_are_greedy_and_those_of_sacrebleu(translator: Translator, split: Split) -> None:
    scores, translations, stats = dev_scores(translator, split, None)
    hypotheses = [translation.text for translation in translations]
    greedy = translator.translate(split.column("source"), GreedyConfig())
    assert hypotheses == [translation.text for translation in greedy] and len(hypotheses) == 12
    assert scores["bleu"] == pytest.approx(sacrebleu.corpus_bleu(hypotheses, [split.column("target")]).score)
    assert scores["chrf"] == pytest.approx(sacrebleu.corpus_chrf(hypotheses, [split.column("target")]).score)
    assert list(scores) == ["loss", "perplexity", "bleu", "chrf"]
    assert list(stats) == ["entropy", "normalized_entropy", "at_first", "at_last", "jump"]


@pytest.mark.parametrize("run", ["trained", "trained_hard"])
def test_dev_scores_of_a_beam(run: str, split: Split, request: pytest.FixtureRequest) -> None:
    translator = load(request.getfixturevalue(run), device="cpu")
    greedy = dev_scores(translator, split, None)
    training = translator.config.training.model_copy(update={"validate_beam": 4})
    search = BeamConfig(length_penalty=1.2, n_best=3, coverage_penalty=0.3, max_length=9)
    translator.config = translator.config.model_copy(update={"training": training, "search": search})
    scores, translations, _ = dev_scores(translator, split, None)
    expected = translator.translate(split.column("source"), BeamConfig(beam_size=4, length_penalty=1.2, max_length=9))
    assert [(t.text, t.score) for t in translations] == [(t.text, t.score) for t in expected]
    assert scores.keys() == greedy.scores.keys() and scores["loss"] == greedy.scores["loss"]
    assert [t.score for t in translations] != [t.score for t in greedy.translations]


def test_only_the_first_sentences_are_decoded(translator: Translator, split: Split) -> None:
    scores, translations, stats = dev_scores(translator, split, 5)
    everything = dev_scores(translator, split, None)
    assert len(translations) == 5
    assert scores["loss"] == everything.scores["loss"] and stats == everything.attention_stats
    expected = sacrebleu.corpus_bleu([t.text for t in translations], [split.column("target")[:5]]).score
    assert scores["bleu"] == pytest.approx(expected)


def test_soft_hard_and_the_gap_between_them(hard: Translator, split: Split) -> None:
    scores, translations, stats = dev_scores(hard, split, None)
    pairs = {f"{name}_{mode}" for name in ("loss", "bleu", "chrf") for mode in ("soft", "hard")}
    gaps = {"gap_loss", "gap_bleu", "gap_chrf"}
    assert scores.keys() == {"loss", "perplexity", "bleu", "chrf"} | pairs | gaps
    for name in ("loss", "bleu", "chrf"):
        assert scores[f"gap_{name}"] == pytest.approx(scores[f"{name}_hard"] - scores[f"{name}_soft"])
    assert scores["loss"] == scores["loss_soft"] == teacher_forced_pass(hard, split).loss
    assert scores["loss_hard"] == teacher_forced_pass(hard, split, GreedyConfig(mode="hard")).loss
    assert scores["bleu"] == scores["bleu_hard"]
    for mode in ("soft", "hard"):
        decoded = evaluate(hard, split, GreedyConfig(mode=mode))
        assert scores[f"chrf_{mode}"] == decoded.scores["chrf"].score
    assert all(translation.stops is not None for translation in translations)
    assert {"lost_mass", "saturation", "disagreement"} < stats.keys()


def test_a_run_that_is_decoded_online_is_validated_online(trained_hard: Path, split: Split) -> None:
    translator = load(trained_hard, device="cpu")
    greedy, translator.config = dev_scores(translator, split, None), translator.config.model_copy(update=ONLINE)
    scores, translations, _ = dev_scores(translator, split, None)
    assert all(t.timing is not None and len(t.timing.delays) == len(t.tokens) for t in translations)
    assert [t.tokens for t in translations] == [t.tokens for t in greedy.translations]
    latency = evaluate(translator, split, OnlineConfig()).values().keys() - {"bleu", "chrf"}
    assert {"ap", "al", "dal"} <= latency
    assert scores.keys() - greedy.scores.keys() == latency | {f"{name}_hard" for name in latency}
    assert all(scores[name] == scores[f"{name}_hard"] for name in latency)


@pytest.mark.parametrize("hard", [False, True])
def test_one_forced_pass_gives_loss_links_and_statistics(hard: bool, trained_hard: Path, split: Split) -> None:
    translator = load(trained_hard, device="cpu")
    calls: list[object] = []
    translator.model.register_forward_hook(lambda *_: calls.append(_))
    search = GreedyConfig(mode="hard" if hard else "soft")
    forced = teacher_forced_pass(translator, split, search, links=True)
    assert len(calls) == 1  # the split is one batch
    aligned = translator.align(split.column("source"), split.column("target"), hard=hard)
    assert forced.links == [to_pharaoh(pair.links) for pair in aligned]
    without = teacher_forced_pass(translator, split, search)
    assert (without.loss, without.links) == (forced.loss, []) and without.stats.scores() == forced.stats.scores()


def test_links_join_words_where_gold_links_do(trained: Path, split: Split, monkeypatch: pytest.MonkeyPatch) -> None:
    translator = load(trained, device="cpu")
    translator.link_units = ("word", "word")
    words = teacher_forced_pass(translator, split, links=True)
    translator.link_units = ("char", "char")
    assert teacher_forced_pass(translator, split, links=True).links != words.links
    monkeypatch.setattr(Split, "links", lambda self: ["", "0-0", *[""] * (len(self) - 2)])  # of one pair
    gold = teacher_forced_pass(translator, split, links=True)
    assert (gold.links, gold.linkable) == (words.links, words.linkable)


def test_alignment_error() -> None:
    score = alignment_error(["0-0 1-1"], ["0-0 1-2 1p1"])
    assert alignment_error(["0-0", "0-0 1-1"], ["0-0", ""]).signature.startswith("n:1|")  # of the second nobody knows
    # One of two sure ones is found, and both are possible: 1 - (1 + 2) / (2 + 2).
    assert score.score == pytest.approx(25)
    require_refusal(lambda: alignment_error(["0-0"], ["x"]), "the gold alignments, line 1: 'x' is not a link")


def test_a_log_holds_the_reference_that_is_compared() -> None:
    translation = Translation("a b", 0.0, (), (), EMPTY, timing=Timing((1, 2), (1, 2), (1, 2), 2))
    nothing = Translation("", 0.0, (), (), EMPTY)
    instance, blank = simultaneous([translation, nothing], ["x y", " "], [["e\u0301\u00a0f\tg"], ["h"]], "word")
    assert instance.reference == "é f g\n" and (blank.delays, blank.source_length) == ((), 0)
    assert score_latency([instance, blank])["ap"].score == pytest.approx(3 / (2 * 3))


def test_scores_are_without_case_where_the_tokenizer_writes_none(trained: Path, split: Split) -> None:
    translator = load(trained, device="cpu")
    vars(translator.tokenizers.target)["lowercases"] = True
    scores = evaluate(translator, split, GreedyConfig(), limit=2).scores
    assert all("case:lc" in score.signature for score in scores.values())


def test_the_end_is_no_subword_of_a_log() -> None:
    timing = Timing((1, 2, 2), (1, 2, 2), (1, 2), 2)
    translation = Translation("a b", 0.0, ("▁a", "▁b", "</s>"), (), EMPTY, timing=timing)
    (instance,) = simultaneous([translation], ["x y"], [["a b"]], "subword")
    assert (instance.prediction_spm, instance.delays) == (("▁a", "▁b"), (1, 2))
