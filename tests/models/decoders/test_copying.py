"""Copying against the paper's mixture, summed token by token in float64 for every decoder and every attention."""

import math

import pytest
import torch
from torch import Tensor

from mt.data.batches import Batch
from mt.models.attention import ATTENTIONS
from mt.models.attention.base import AttentionOutput, AttentionStep
from mt.models.decoders import DECODERS
from mt.models.losses import Objective
from mt.models.seq2seq import Seq2Seq
from mt.step import Attended
from tests.components import CASES
from tests.marks import combined
from tests.models.small import small

VOCABULARY = 13


def built(attention, decoder: str = "luong", **options) -> Seq2Seq:
    decoding = {"name": decoder, "copy": True, "readout_size": 4, **options}
    return small(VOCABULARY, VOCABULARY, embedding={"embedding_dim": 4}, attention=attention, decoder=decoding)


@pytest.fixture
def pairs(batch) -> Batch:
    """Sources with tokens that stand in them several times, and targets some of whose tokens stand in the source."""
    generator = torch.Generator().manual_seed(4)
    shape = batch.mask.shape
    source = torch.randint(4, VOCABULARY - 3, shape, generator=generator).masked_fill(~batch.mask, 0)
    target = torch.randint(1, VOCABULARY, (len(source), 5), generator=generator)
    mask = torch.arange(5) < torch.tensor([5, 1, 3, 5, 2, 4, 5, 5])[:, None]
    return Batch(source, batch.mask, target.roll(1, 1), target.masked_fill(~mask, 0), mask)


def summed(model: Seq2Seq, readout: Tensor, context: Tensor, weights: Tensor, source: Tensor) -> Tensor:
    """The probability of each token at one step: equations 8 and 9 of See et al. (2017), with what the weights lack of
    1 generated."""
    gate = model.decoder.copying.gate
    output = model.decoder.output
    g = 1 / (1 + math.exp(-float(gate.weight[0].double() @ torch.cat((readout, context)) + gate.bias.double()[0])))
    lost = 1 - sum(weights.tolist())
    p = (g + (1 - g) * lost) * (output.weight.double() @ readout + output.bias.double()).softmax(-1)
    for weight, token in zip(weights.tolist(), source.tolist(), strict=True):
        p[token] += (1 - g) * weight
    return p


@combined(str, case=CASES, decoder=[*DECODERS, "gated"])
def test_it_is_the_mixture_of_the_paper(decoder, case, pairs, shake) -> None:
    """What training minimises, and the log-probabilities of steps, for every token of the vocabulary."""
    kind = ATTENTIONS[case.config.name]
    if not kind.learns_weights or kind.mixes_predictions:
        pytest.skip("refused")
    name, options = ("bahdanau", {"gate": True}) if decoder == "gated" else (decoder, {})
    model = shake(built(case.config, name, **options), scale=0.5)
    smoothed = 0.0
    with torch.no_grad():
        memory = model.encode(pairs.source, pairs.source_mask)
        readouts, attended = model.decoder(pairs.target_in, memory, hard=case.hard)
        loss = model(pairs, hard=case.hard, objective=Objective(0.2))
        state = model.init_state(memory, hard=case.hard)
        for step, token in enumerate(pairs.target_in.unbind(1)):
            prediction = model.step(token, memory, state, hard=case.hard)
            state = prediction.state
            for row, source in enumerate(pairs.source):
                parts = [part[row, step].double() for part in (readouts, attended.contexts, attended.weights)]
                p = summed(model, *parts, source)
                assert float(p.sum()) == pytest.approx(1, abs=1e-9)
                torch.testing.assert_close(prediction.logits[row].double(), p.log(), atol=2e-5, rtol=1e-5)
                assert torch.equal(prediction.log_probs(), prediction.logits)  # normalised again, they would be others
                if pairs.target_mask[row, step]:
                    exact = -math.log(p[pairs.target_out[row, step]])
                    assert float(loss.token_losses[row, step]) == pytest.approx(exact, abs=2e-5)
                    generator = -model.decoder.output(readouts[row, step]).log_softmax(-1).mean()
                    smoothed += 0.8 * exact + 0.2 * float(generator)
    assert float(loss.sum) == pytest.approx(smoothed, rel=1e-5)


def dense_loss(model: Seq2Seq, pairs: Batch, smoothing: float) -> Tensor:
    """The loss by a tensor of the probabilities of all tokens, differentiated by autograd."""
    decoder = model.decoder
    memory = model.encode(pairs.source, pairs.source_mask)
    readouts, attended = decoder(pairs.target_in, memory)
    log_probs = decoder.output(readouts).log_softmax(-1)
    g = decoder.copying.gate(torch.cat((readouts, attended.contexts), -1)).sigmoid()
    lost = 1 - attended.weights.sum(-1, keepdim=True)
    sources = pairs.source[:, None].expand_as(attended.weights)
    copies = torch.zeros_like(log_probs).scatter_add(2, sources, attended.weights.to(log_probs.dtype))
    p = (g + (1 - g) * lost) * log_probs.exp() + (1 - g) * copies
    exact = p.gather(2, pairs.target_out[..., None])[..., 0].log()
    return -((1 - smoothing) * exact + smoothing * log_probs.mean(-1))[pairs.target_mask].sum()


CHOSEN = {"general": {}, "local_p": {}, "monotonic": {"mass_preservation": False}, "mocha": {"chunk_size": 2}}


@pytest.mark.parametrize(
    ("decoder", "options"), [*((name, {}) for name in DECODERS), ("luong", {"input_feeding": True})], ids=str
)
@pytest.mark.parametrize("name", CHOSEN)
def test_its_gradients_are_those_of_the_dense_mixture(name, decoder, options, pairs, shake) -> None:
    """In float64, of all parameters: through the gate, the weights of the attention and the lost mass."""
    model = shake(built(ATTENTIONS[name].Config(**CHOSEN[name]), decoder, **options), scale=0.5).double()
    parameters = [*model.parameters()]
    losses = model(pairs, objective=Objective(0.1)).sum, dense_loss(model, pairs, 0.1)
    torch.testing.assert_close(*losses, atol=1e-5, rtol=1e-7)
    actual, expected = (
        torch.autograd.grad(loss, parameters, allow_unused=True, materialize_grads=True) for loss in losses
    )
    gate = model.decoder.copying.gate.weight
    assert any(parameter is gate and gradient.any() for parameter, gradient in zip(parameters, expected, strict=True))
    for ours, theirs in zip(actual, expected, strict=True):
        torch.testing.assert_close(ours, theirs, atol=2e-5, rtol=1e-4)


def test_training_makes_no_tensor_of_the_vocabulary_more(pairs, largest, shake) -> None:
    model = shake(built(ATTENTIONS["general"].Config()))
    memory = model.encode(pairs.source, pairs.source_mask)
    readouts, attended = model.decoder(pairs.target_in, memory)
    with largest() as made:
        model.decoder.copying.mixture(readouts, attended, memory, pairs.target_out)
    batch, steps, size = attended.weights.shape
    assert made.elements <= batch * steps * size < batch * steps * VOCABULARY


@pytest.mark.parametrize("bias", [-16.0, -300.0, 300.0])
@pytest.mark.parametrize("name", ["general", "coverage", "local_m", "monotonic", "mocha", "milk"])
def test_an_extreme_gate_leaves_every_score_a_number_that_is_the_same_in_steps(name, bias, pairs, shake) -> None:
    """Where weights sum to 1 but for rounding, the rounding is not generated: near -16 it would be most of the gate. Of
    a share that is rounded to 0 the logarithm is not, nor the sum with that of a token that is not copied."""
    model = shake(built(ATTENTIONS[name].Config()))
    gate = model.decoder.copying.gate
    gate.weight.data.zero_()
    gate.bias.data.fill_(bias)
    losses = model(pairs)
    losses.sum.backward()
    # Where only generating could have been right, the gate is told so.
    assert gate.bias.grad.isfinite().all() and (bias > 0 or float(gate.bias.grad) < -1)
    with torch.no_grad():
        memory = model.encode(pairs.source, pairs.source_mask)
        state = model.init_state(memory)
        for step, (before, token) in enumerate(zip(pairs.target_in.unbind(1), pairs.target_out.unbind(1), strict=True)):
            prediction = model.step(before, memory, state)
            state = prediction.state
            real = pairs.target_mask[:, step]
            forced = -losses.token_losses[real, step]
            assert prediction.log_probs().isfinite().all() and forced.isfinite().all()
            torch.testing.assert_close(prediction.log_probs()[real, token[real]], forced, atol=1e-5, rtol=1e-6)
            generated = ~(pairs.source[real] == token[real, None]).any(1)
            assert bias > 0 or (forced[generated] < -16).all()


@pytest.mark.parametrize("name", ["monotonic", "mocha"])
def test_where_weights_sum_to_more_than_1_by_rounding_the_generator_keeps_its_share(name, pairs, shake) -> None:
    """An absorbing attention that selects all but surely, with a gate near -25: a share must not fall to 0 or below."""
    model = shake(built(ATTENTIONS[name].Config(mass_preservation=False)))
    copying = model.decoder.copying
    generator = torch.Generator().manual_seed(3)
    weights = torch.rand(200, 7, generator=generator)
    weights = weights / weights.sum(-1, keepdim=True) * (1 + 1e-7 * torch.arange(-2, 3).repeat(40)[:, None])
    assert (weights.sum(-1) > 1).any() and (weights.sum(-1) < 1).any()
    with torch.no_grad():
        copying.gate.weight.zero_()
        copying.gate.bias.fill_(-25.0)
        zeros = torch.zeros(200, copying.gate.in_features)
        memory = model.encode(pairs.source[:1], pairs.source_mask[:1])
        memory = memory._replace(keys=(pairs.source[:1, :7].expand(200, -1),))
        step = AttentionStep(zeros[:, 4:], Attended(weights), ())
        log_probs = copying.log_probs(torch.zeros(200, VOCABULARY), zeros[:, :4], step, memory)
        output = AttentionOutput(zeros[:, None, 4:], weights[:, None])
        share, other, *_ = copying.mixture(zeros[:, None, :4], output, memory, torch.full((200, 1), VOCABULARY - 1))
    assert log_probs.isfinite().all() and (share >= torch.tensor(-25.0).sigmoid()).all() and not other.any()
