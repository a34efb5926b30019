"""Exact hard attention against the sum over all alignments, which are enumerated in float64."""

import itertools
import math
from functools import partial
from typing import Any

import pytest
import torch
from torch import Tensor

from mt.batch import Batch
from mt.data.fields import TEXT
from mt.decoding import torch_network
from mt.models.decoders import mixture
from mt.models.ensemble import Ensemble
from mt.models.losses import Loss, Objective
from mt.models.seq2seq import Seq2Seq
from mt.search.config import BeamConfig, SampleConfig
from mt.step import BOS, EOS
from tests.components import shaken
from tests.decoding.decoded import decode_ids
from tests.models.small import encoded, small

_, MONO, NEAR, _ = MODELS = [
    {"order": order, "monotonic": monotonic, "window": 2} for order in (0, 1) for monotonic in (False, True)
]
SOURCES, TARGETS = 12, 9
every_model = pytest.mark.parametrize("options", MODELS, ids=str)


def build(scale: float = 1.0, attention: str = "marginal", **options: Any) -> Seq2Seq:
    unscaled = {"scaled": False} if "scaled" not in options else {}
    parts = {"embedding": {"tie_output": False}, "encoder": {"name": "bilstm", "dropout": 0.0}}
    model = small(SOURCES, TARGETS, attention={"name": attention, **options, **unscaled}, **parts)
    model = shaken(model.double(), 7)
    for parameter in model.decoder.attention.parameters():
        parameter.data *= scale
    return model


@pytest.fixture
def pairs() -> Batch:
    """Sources of 4, 1 and 3 positions, and targets of 3, 3 and 2 tokens."""
    source = torch.tensor([[4, 5, 6, EOS], [EOS, 0, 0, 0], [9, 4, EOS, 0]])
    target = torch.tensor([[4, 4, EOS], [7, 5, EOS], [6, EOS, 0]])
    shifted = torch.nn.functional.pad(target[:, :-1], (1, 0), value=BOS)
    return Batch(source, source != 0, shifted, target, target != 0)


def transition(model: Seq2Seq, query: Tensor, values: Tensor, before: int) -> Tensor:
    """The equations of the papers: p(a_t = s | a_{t-1} = before) of every s."""
    attention: Any = model.decoder.attention
    options = model.config.attention
    if options.order == 0:
        scores = values @ attention.energy.project.weight.T @ query
        possible = [s >= before or not options.monotonic for s in range(len(values))]
        return scores.masked_fill(~torch.tensor(possible), -math.inf).softmax(0)
    least = 0 if options.monotonic else -options.window
    of_offsets = attention.offset_of_query(query) + attention.offset_of_value(values[before])
    assert len(of_offsets) == 1 + options.window - least
    scores = torch.full((len(values),), -math.inf, dtype=values.dtype)
    for number, score in enumerate(of_offsets):
        if 0 <= before + least + number < len(values):
            scores[before + least + number] = score
    return scores.softmax(0)


def enumerated(model: Seq2Seq, pairs: Batch, row: int) -> tuple[Tensor, Tensor, Tensor]:
    """p(y | x), the posterior of each position [T, S], and p(y_t | y_<t, x) of all tokens, [T, C]."""
    source = pairs.source[row, pairs.source_mask[row]]
    target = pairs.target_out[row, pairs.target_mask[row]]
    memory = model.encode(source[None], torch.ones_like(source[None], dtype=torch.bool))
    decoder: Any = model.decoder
    recurrent = model.init_state(memory).recurrent[:-1]
    queries = decoder.recurrence(decoder.embedding(pairs.target_in[row : row + 1, : len(target)]), recurrent)[0][0]
    values = memory.values[0]
    matrix = [[transition(model, query, values, before) for before in range(len(values))] for query in queries]
    joined = [[torch.cat((value, query)) for value in values] for query in queries]
    predicted = [
        [decoder.output(torch.tanh(decoder.combine(each))).softmax(0) for each in of_step] for of_step in joined
    ]
    posterior = torch.zeros(len(target), len(values), dtype=torch.float64)
    of_tokens = torch.zeros(len(target), TARGETS, dtype=torch.float64)
    for steps in range(1, len(target) + 1):
        for alignment in itertools.product(range(len(values)), repeat=steps):
            p = torch.ones((), dtype=torch.float64)
            for t, (before, s) in enumerate(itertools.pairwise((0, *alignment))):
                p = p * matrix[t][before][s] * (predicted[t][s][target[t]] if t < steps - 1 else 1)
            of_tokens[steps - 1] = of_tokens[steps - 1] + p * predicted[steps - 1][alignment[-1]]
            if steps == len(target):
                for t, s in enumerate(alignment):
                    posterior[t, s] = posterior[t, s] + p * predicted[-1][alignment[-1]][target[-1]]
    return posterior[0].sum(), posterior / posterior[0].sum(), of_tokens / of_tokens.sum(1, keepdim=True)


@every_model
@pytest.mark.parametrize("scale", [1.0, 30.0])
def test_it_is_the_sum_over_all_alignments(options: dict[str, Any], scale: float, pairs: Batch) -> None:
    """With its posterior and its gradient. Scaled by 30, one position has nearly all the probability."""
    model = build(scale, **options)
    parameters = [*model.parameters()]
    loss = model(pairs)
    sums = [enumerated(model, pairs, row) for row in range(3)]
    expected = -torch.stack([p.log() for p, _, _ in sums])
    torch.testing.assert_close(loss.token_losses.sum(1), expected.detach(), rtol=1e-10, atol=1e-10)
    for row, (_, posterior, _) in enumerate(sums):
        found = loss.attention.posterior[row, : posterior.shape[0]]
        torch.testing.assert_close(found[:, : posterior.shape[1]], posterior.detach(), rtol=1e-8, atol=1e-12)
        assert not found[:, posterior.shape[1] :].any()
    usual = {"allow_unused": True, "materialize_grads": True}
    ours = torch.autograd.grad(loss.sum, parameters, **usual)
    theirs = torch.autograd.grad(expected.sum(), parameters, **usual)
    assert any(gradient.any() for gradient in theirs)
    for gradient, wanted in zip(ours, theirs, strict=True):
        torch.testing.assert_close(gradient, wanted, rtol=1e-7, atol=1e-9)


@every_model
def test_each_step_predicts_by_the_alignments_of_the_tokens_before(options: dict[str, Any], pairs: Batch) -> None:
    model = build(3.0, **options)
    memory = model.encode(pairs.source, pairs.source_mask)
    state = model.init_state(memory)
    for step, tokens in enumerate(pairs.target_in.unbind(1)):
        prediction = model.step(tokens, memory, state)
        state = prediction.state
        for row in range(3):
            if pairs.target_mask[row, step]:
                p = enumerated(model, pairs, row)[2][step]
                torch.testing.assert_close(prediction.logits[row].exp(), p, rtol=1e-9, atol=1e-12)
        torch.testing.assert_close(prediction.logits.exp().sum(1), torch.ones(3, dtype=torch.float64))


def test_smoothing_spreads_over_the_prediction_of_each_position(pairs: Batch) -> None:
    model = build(**MONO)
    plain = model(pairs)
    smoothed = model(pairs, objective=Objective(label_smoothing=0.3)).sum
    attended = plain.attention
    spread = -(attended.weights * attended.mean_log_probs).sum(-1)[pairs.target_mask].sum()
    torch.testing.assert_close(smoothed, 0.7 * plain.sum + 0.3 * spread)


@every_model
def test_no_probability_leaks_and_no_gradient_is_nan(options: dict[str, Any], pairs: Batch) -> None:
    """Of energies of thousands, and of positions that cannot be reached."""
    model = build(2000.0, **options).float()
    loss = model(pairs)
    (loss.sum + (loss.attention.weights**2).sum()).backward()
    assert loss.sum.isfinite()
    assert all(p.grad is None or p.grad.isfinite().all() for p in model.parameters())
    weights = loss.attention.weights
    assert not weights[~pairs.source_mask[:, None].expand_as(weights)].any()
    torch.testing.assert_close(weights.sum(-1), torch.ones(3, 3))
    if options["order"]:  # the first step begins at the first position
        assert not weights[0, 0, 3]


def test_what_monotonic_attention_has_passed_is_gone(pairs: Batch) -> None:
    """To the last digit: the last position is followed by itself alone."""
    model = build(**MONO)
    last = torch.full((1, 4), -1e9, dtype=torch.float64)
    last[0, 3] = 0.0
    memory = model.encode(pairs.source[:1], pairs.source_mask[:1])
    attention = model.decoder.attention
    for query in torch.randn(3, 1, 6, dtype=torch.float64):
        step = attention.step(query, memory, (last, torch.ones(1, dtype=torch.int64)))
        assert step.attended.weights.tolist() == [[0, 0, 0, 1]]


@every_model
def test_positions_that_have_come_since_were_no_alignment(options: dict[str, Any]) -> None:
    """A memory that grows between two steps; and a row without a position has no weight."""
    attention = build(**options).decoder.attention
    draw = partial(torch.randn, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    values, queries, log_likelihoods = draw(2, 5, 6), draw(2, 2, 6), draw(2, 2, 5)
    mask = torch.tensor([[True] * 5, [False] * 5])
    whole, begun = (attention.init_memory(encoded(values[:, :n], mask[:, :n])) for n in (5, 3))
    first = attention.step(queries[:, 0], begun, attention.init_state(begun))
    state = attention.observe(first.state, log_likelihoods[:, 0, :3])
    grown = attention.step(queries[:, 1], whole, state).attended.weights
    log_likelihoods[:, 0, 3:] = -1e30
    expected = attention(queries, whole, log_likelihoods=log_likelihoods).weights[:, 1]
    torch.testing.assert_close(grown, expected)
    assert grown[0, 3:].any() and not grown[1].any() and not expected[1].any()


def test_blocks_change_nothing_and_nothing_of_all_logits_is_kept(pairs: Batch, monkeypatch: Any, largest: Any) -> None:
    model = build(**MONO)
    results = []
    for block in (1 << 20, 50):
        monkeypatch.setattr(mixture, "BLOCK", block)
        with largest(*model.parameters(), *(part for part in pairs if part is not None)) as made:
            loss = model(pairs, objective=Objective(0.1))
            gradients = torch.autograd.grad(loss.sum, [*model.parameters()])
        results.append((loss.sum, made.elements, *gradients))
    (whole, _, *of_whole), (blocks, elements, *of_blocks) = results
    torch.testing.assert_close(blocks, whole)
    for one, other in zip(of_blocks, of_whole, strict=True):
        torch.testing.assert_close(one, other)
    tokens = int(pairs.target_mask.sum())
    assert elements < tokens * 4 * TARGETS


def test_all_positions_of_a_step_share_a_mask_of_dropout() -> None:
    decoder = build().decoder.train()
    decoder.dropout.p = 0.5
    kept = decoder.readouts_of(torch.ones(40, 3, 5)) != 0
    assert torch.equal(kept, kept[:, :1].expand(-1, 3, -1))
    assert len(kept[:, 0].unique(dim=0)) > 8  # of 32 masks; each step draws its own


def test_where_padding_is_computed_too_it_costs_nothing(pairs: Batch, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a GPU, where nobody waits for the number of real tokens."""
    model = build(**MONO)
    expected = model(pairs, objective=Objective(0.1))
    monkeypatch.setattr(mixture, "selects_tokens", lambda device: False)
    actual = model(pairs, objective=Objective(0.1))
    torch.testing.assert_close(actual.sum, expected.sum)
    for name in ("log_likelihoods", "mean_log_probs", "weights", "posterior"):
        torch.testing.assert_close(getattr(actual.attention, name), getattr(expected.attention, name))


# Decoding: the hypotheses of a beam have forward vectors of their own.

ROWS = [[4, 5, 6, 7, EOS], [9, EOS], [8, 4, 10, EOS]]
SEARCHES = [BeamConfig(beam_size=4, n_best=4, max_length=6, length_penalty=0.0), SampleConfig(samples=3, n_best=3)]


def forced(model: Any, row: list[int], tokens: tuple[int, ...]) -> Loss:
    source, target = torch.tensor([row]), torch.tensor([tokens])
    shifted = torch.nn.functional.pad(target[:, :-1], (1, 0), value=BOS)
    with torch.no_grad():
        return model(Batch(source, source != 0, shifted, target, target != 0))


@every_model
@pytest.mark.parametrize("search", SEARCHES, ids=lambda search: search.name)
def test_the_score_of_a_hypothesis_is_its_own(options: dict[str, Any], search: Any) -> None:
    """And its alignment is the posterior of all its tokens."""
    model = build(2.0, **options).float()
    for row, hypotheses in zip(ROWS, decode_ids(model, ROWS, search, vocab_size=TARGETS), strict=True):
        assert len({hypothesis.tokens for hypothesis in hypotheses}) > 1 or search.name == "sample"
        for hypothesis in hypotheses:
            with torch.inference_mode():
                loss = forced(model, row, hypothesis.tokens)
            assert hypothesis.log_prob == pytest.approx(-float(loss.sum), abs=1e-4)
            weights = torch.from_numpy(hypothesis.windows.dense())[:, : len(row)]
            torch.testing.assert_close(weights, loss.attention.posterior[0], atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("other", ["general", "marginal"])
def test_an_ensemble_averages_what_its_models_predict(other: str) -> None:
    models = [build(2.0, **MONO).float(), build(1.0, other, **(NEAR if other == "marginal" else {})).float()]
    ensemble = Ensemble(models)
    found = decode_ids(ensemble, ROWS, SEARCHES[0], vocab_size=TARGETS)
    for row, hypotheses in zip(ROWS, found, strict=True):
        for hypothesis in hypotheses:
            each = torch.stack([-forced(model, row, hypothesis.tokens).token_losses for model in models])
            assert hypothesis.log_prob == pytest.approx(float(each.exp().mean(0).log().sum()), abs=1e-4)
            links = [forced(model, row, hypothesis.tokens).attention.links for model in models]
            weights = torch.from_numpy(hypothesis.windows.dense())[:, : len(row)]
            torch.testing.assert_close(weights, torch.stack(links).mean(0)[0], atol=1e-5, rtol=1e-4)


@every_model
def test_int8_is_near(options: dict[str, Any]) -> None:
    model = build(1.0, **options).float()
    usual, rounded = (decode_ids(model, ROWS, SEARCHES[0], vocab_size=TARGETS, precision=p) for p in ("fp32", "int8"))
    assert rounded[0][0].log_prob == pytest.approx(usual[0][0].log_prob, abs=0.2)


def test_wide_steps_decode_fewer_sentences_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch_network, "MAX_LOGITS", TARGETS * 4 * 5)
    search = BeamConfig(beam_size=4)
    for attention, batches in (("general", 1), ("marginal", 3)):
        network = torch_network.TorchNetwork(build(attention=attention).float(), TEXT, vocab_size=TARGETS)
        assert len(network.batches([torch.tensor(ROWS[0]).numpy()] * 3, search)) == batches
