"""Several runs that translate together."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import mt
from mt import checkpoint
from mt.config import Config
from mt.data.corpus import Corpus
from mt.data.tokenizer import TokenizerConfig, Tokenizers
from mt.evaluation.likelihood import likelihoods
from mt.models.seq2seq import Seq2Seq
from mt.search.config import BeamConfig, GreedyConfig
from mt.training.start import begin
from mt.training.train import train
from tests.refusals.sentences import require_refusal

SOURCES = ["the big cats see two green houses", "", "two dogs find bridges"]


@pytest.fixture(scope="module")
def other(configure: Callable[..., Config], corpus: Corpus, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of another seed, size and attention on the same corpus."""
    parts = {"encoder": {"name": "bigru", "hidden_size": 16}, "attention": {"name": "bahdanau"}}
    changes = parts | {"seed": 3, "training": {"max_updates": 40, "plots": 0}}
    run = begin(configure(changes), corpus, tmp_path_factory.mktemp("runs") / "other")
    train(run)
    run.close()
    return run.folder


def test_a_run_twice_is_the_run(trained: Path, trained_hard: Path) -> None:
    for folder in (trained, trained_hard):
        one = mt.load(folder, device="cpu")
        twice = mt.load([folder, str(folder)], device="cpu")
        for search in (GreedyConfig(), BeamConfig(beam_size=3), GreedyConfig(mode="soft")):
            for before, after in zip(one.translate(SOURCES, search), twice.translate(SOURCES, search), strict=True):
                assert (before.text, before.ids) == (after.text, after.ids)
                assert before.score == pytest.approx(after.score, abs=1e-5)
                np.testing.assert_allclose(before.alignment, after.alignment, atol=1e-6)


def test_probabilities_are_averaged(trained: Path, other: Path, trained_hard: Path) -> None:
    """Each token's, given those before: of models of any kind, and whichever comes first."""
    for folders in ([trained, other], [other, trained_hard, trained]):
        models = [mt.load(folder, device="cpu") for folder in folders]
        together = mt.load(folders, device="cpu")
        [result] = together.translate(SOURCES[:1])
        log_probs = [likelihoods(model, SOURCES[:1], [result.ids])[0].token_log_probs for model in models]
        [forced] = likelihoods(together, SOURCES[:1], [result.ids])
        np.testing.assert_allclose(np.exp(forced.token_log_probs), np.exp(log_probs).mean(0), atol=1e-6)
        assert result.score == pytest.approx(forced.score, abs=1e-5)


def test_soft_alignments_are_averaged_and_hard_ones_are_those_of_the_first(trained, other, trained_hard):
    pair = mt.load([trained, other], device="cpu")
    [made] = pair.translate(SOURCES[2:])
    target = [made.text]
    runs = [mt.load(folder, device="cpu") for folder in (trained, other, trained_hard)]
    one, two, hard = (run.align(SOURCES[2:], target)[0] for run in runs)
    for both in (made, pair.align(SOURCES[2:], target)[0]):
        np.testing.assert_allclose(both.alignment, (one.alignment + two.alignment) / 2, atol=1e-6)
    mixed = mt.load([trained_hard, trained], device="cpu")
    np.testing.assert_allclose(mixed.align(SOURCES[2:], target)[0].alignment, hard.alignment, atol=1e-6)
    [translation] = mixed.translate(SOURCES[2:])
    assert translation.stops is not None
    first = mt.load([trained, trained_hard], device="cpu")
    assert first.translate(SOURCES[2:])[0].stops is None and first.translate(SOURCES[1]).text == ""


def test_runs_that_do_not_go_together(trained: Path, configure: Callable[..., Config], tmp_path: Path):
    config = configure()
    tokenizers = Tokenizers.train(TokenizerConfig(model_type="char", vocab_size=100), [("ab", "cd")] * 3)
    about = checkpoint.About(update=1, averaged=None, metric="bleu", best=None, corpus="none")
    checkpoint.save(tmp_path / "other", Seq2Seq(config, *tokenizers.sizes), tokenizers, config, about, {}, None)
    folders = [trained, tmp_path / "other"]
    require_refusal(lambda: mt.load(folders), "other has another vocabulary than .*Give runs that were trained on one")
