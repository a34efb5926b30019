"""The scores of forced targets are sums over their tokens, however many these are."""

import math
from pathlib import Path

import numpy as np
import pytest

import mt
from mt.decoding.forced import forced_rows
from mt.decoding.torch_network import TorchNetwork, torch_translator
from mt.decoding.translation import Translation
from mt.decoding.translator import Translator
from mt.errors import UserError
from mt.evaluation.likelihood import likelihoods
from mt.search.config import BeamConfig, GreedyConfig
from mt.step import EOS
from tests.components import shaken
from tests.decoding.decoded import decode_ids, random_model
from tests.models.small import small

VOCABULARY = 50


@pytest.mark.parametrize("copy", [False, True])
@pytest.mark.parametrize("attention", ["general", "mocha"])
def test_of_150_tokens_a_beam_s_score_is_the_forced_one(attention: str, copy: bool) -> None:
    """Summed in float32, it would be off by more than 1e-4."""
    decoder = {"hidden_size": 12, "readout_size": 8, "copy": copy}
    parts = {"embedding": {"embedding_dim": 8}, "encoder": {"hidden_size": 12}, "decoder": decoder}
    model = shaken(small(VOCABULARY, VOCABULARY, attention={"name": attention}, **parts), 1, 0.2)
    model.decoder.output.bias.data[EOS] = -100.0
    sources = [np.arange(4, 4 + length) for length in (7, 20)]
    search = BeamConfig(beam_size=4, n_best=4, max_length=150, length_penalty=0.0, no_repeat_ngram_size=2)
    decoded = decode_ids(model, sources, search, vocab_size=VOCABULARY)
    pairs = [(source, found) for source, of_source in zip(sources, decoded, strict=True) for found in of_source]
    assert {len(found.tokens) for _, found in pairs} == {150}
    rows, targets = [source for source, _ in pairs], [found.tokens for _, found in pairs]
    network = TorchNetwork(model, vocab_size=VOCABULARY)
    for indices, loss in forced_rows(network, rows, targets, GreedyConfig(batch_tokens=1000)):
        for i, forced in zip(indices, -loss.token_losses.double().sum(1), strict=True):
            assert pairs[i][1].score == pytest.approx(float(forced), abs=1e-5)


def test_an_alignment_s_score_is_the_likelihood_of_a_long_target(trained: Path) -> None:
    """And that of a shorter one in the same batch."""
    translator = mt.load(trained, device="cpu")
    sources, targets = ["two dogs find bridges", "birds"], ["zwei Hunde finden Brücken " * 40, "Hunde finden"]
    texts = likelihoods(translator, sources, targets, length_penalty=0)
    assert [len(text.tokens) for text in texts] == [161, 3]
    scores = [aligned.score for aligned in translator.align(sources, targets)]
    assert scores == pytest.approx([text.log_prob for text in texts], abs=1e-9)
    assert likelihoods(translator, [], []) == []


# Scores of hypotheses with penalties of their attention, computed again from what a translation says of itself.

SEARCH = BeamConfig(beam_size=4, n_best=4, coverage_penalty=0.3, summary_penalty=0.7)


def cost(translation: Translation) -> float:
    received = translation.alignment.astype(float).sum(0).tolist()
    return sum(0.7 * max(c - 1, 0) - 0.3 * math.log(min(c, 1)) for c in received)


def likelihood(translator: Translator, source: str, result: list[Translation]) -> list[float]:
    """The scores without penalties."""
    given = likelihoods(translator, [source] * len(result), [one.ids for one in result], length_penalty=0.6)
    return [each.score for each in given]


@pytest.mark.parametrize("kind", ["fp32", "int8", "ensemble"])
def test_a_score_is_that_of_its_tokens_and_its_attention(kind: str, trained: Path, texts: Path) -> None:
    """Sentences of different lengths, in one batch."""
    precision = "int8" if kind == "int8" else None
    translator = mt.load([trained, trained] if kind == "ensemble" else trained, device="cpu", precision=precision)
    plain = mt.load(trained, device="cpu")
    sources = [*(texts / "test.en").read_text().splitlines()[:6], "cats", "the big cats see two green houses"]
    changed = 0
    for source, actual in zip(sources, translator.n_best(sources, search=SEARCH), strict=True):
        assert [one.score for one in actual] == sorted((one.score for one in actual), reverse=True)
        # Rounded products give other probabilities, which an evaluation in float32 does not see.
        near = 0.3 if kind == "int8" else 1e-4
        expected = [score - cost(one) for score, one in zip(likelihood(plain, source, actual), actual, strict=True)]
        assert [one.score for one in actual] == pytest.approx(expected, abs=near)
        free = translator.n_best(source, search=BeamConfig(beam_size=4, n_best=4))
        changed += [one.ids for one in free] != [one.ids for one in actual]
    assert changed


# Options of alignments.


@pytest.mark.parametrize(("decoder", "later"), [("luong", 1), ("bahdanau", 2)])
def test_a_shift_is_as_many_steps_as_the_query_is_behind_its_token(decoder, later, configure, translator):
    config = configure({"decoder": {"name": decoder, "hidden_size": 8, "readout_size": 32}})
    model = random_model(config, translator.tokenizers)
    aligned = torch_translator(model, translator.tokenizers, config).align("two cats see", "zwei Katzen", shift=True)
    assert aligned.linking.shift == later


@pytest.mark.parametrize("extract", [0.0, 1.5])
def test_a_weight_for_links_is_a_share(extract: float, translator: Translator) -> None:
    with pytest.raises(UserError, match=rf"^extract={extract:g} is no weight: give a number above 0, and at most 1$"):
        translator.align("two cats", "zwei Katzen", extract=extract)
