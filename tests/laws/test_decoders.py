"""The law of decoders, for every decoder, every attention and every switch: `forward` is `step` in a loop."""

import itertools
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import Tensor

from mt.models.attention import ATTENTIONS, build_attention
from mt.models.attention.base import Memory
from mt.models.decoders import DECODERS, Decoder, DecoderParts
from mt.models.encoders import Encoded
from mt.models.frontends.embedding import Embedding, EmbeddingConfig
from tests.components import CASES, FIRST, dense, together
from tests.marks import combined

SIZE = 6
FINAL_STATE = 5
VOCABULARY = 13


def variants() -> Iterator[tuple[str, dict[str, Any]]]:
    """Every decoder with all switches off, and with all of them on; with as few layers as it may have, of an LSTM, and
    with more, of another cell. So input feeding is there in both of the ways in which it is computed."""
    for name, kind in DECODERS.items():
        fields = kind.Config.model_fields.items()
        # Copying mixes into predictions what is no readout's: it has tests of its own.
        switches = [option for option, field in fields if field.annotation is bool and option != "copy"]
        for deep, cells, on in ((False, "lstm", False), (False, "lstm", True), (True, "gru", True)):
            if on and not (switches or deep):
                continue
            layers = kind.Config().num_layers + deep
            first = "zeros" if deep else "final_state"
            options: dict[str, Any] = {"num_layers": layers, "init_hidden": first}
            options |= {"cell": cells} if "cell" in kind.Config.model_fields else {}
            yield name, options | dict.fromkeys(switches, on)


def pairs(*, mixing: bool) -> list[Any]:
    """Attentions with the decoders that they may have. mixing: those that mix predictions, or the others."""
    cases = [case for case in CASES if ATTENTIONS[case.config.name].mixes_predictions == mixing]
    able = [(name, each) for name, each in variants() if together(cases[0].config.name, {"name": name, **each})]
    rest = itertools.product((case for case in cases if case not in FIRST), able)
    short = combined(case=[case for case in cases if case in FIRST], variant=able).args[1]
    return [*short, *(pytest.param(*pair, marks=pytest.mark.exhaustive) for pair in rest)]


every_pair = pytest.mark.parametrize(("case", "variant"), pairs(mixing=False) + pairs(mixing=True), ids=str)


@pytest.fixture
def decoder(variant, case, shake) -> Decoder:
    name, options = variant
    kind = DECODERS[name]
    config = kind.Config(hidden_size=SIZE, readout_size=4, dropout=0.5, **options)
    embedding = Embedding(EmbeddingConfig(embedding_dim=4, dropout=0.5), VOCABULARY)
    attention = build_attention(case.config, SIZE, SIZE)
    # Small enough weights that rounding does not grow from step to step.
    return shake(kind(config, DecoderParts(embedding, attention, SIZE, FINAL_STATE, tied=True)), scale=0.5)


@pytest.fixture
def encoded(batch) -> Encoded:
    values = batch.values.masked_fill(~batch.mask[..., None], 0.0)
    final_state = torch.randn(8, FINAL_STATE, generator=torch.Generator().manual_seed(3))
    return Encoded(values, batch.mask, final_state)


@pytest.fixture
def tokens() -> Tensor:
    return torch.randint(1, VOCABULARY, (8, 5), generator=torch.Generator().manual_seed(4))


def at_once(decoder: Decoder, tokens: Tensor, memory: Memory, hard: bool) -> tuple[Tensor, Tensor]:
    """Logits and weights; where predictions are mixed, the log-probability of each next token."""
    readouts, attended = decoder(tokens, memory, hard=hard)
    if attended.log_weights is None:
        return decoder.output(readouts), attended.weights
    return (attended.log_weights + attended.log_likelihoods).logsumexp(-1, keepdim=True)[:, :-1], attended.weights


def looped(decoder: Decoder, tokens: Tensor, memory: Memory, hard: bool) -> tuple[Tensor, Tensor]:
    """What `at_once` returns."""
    state = decoder.init_state(memory, hard=hard)
    logits = []
    weights = []
    for token in tokens.unbind(1):
        prediction = decoder.step(token, memory, state, hard=hard)
        state = prediction.state
        logits.append(prediction.logits)
        weights.append(dense(prediction.attended, memory.mask.shape[1]))
    stacked = torch.stack(logits, 1)
    if decoder.attention.mixes_predictions:
        stacked = stacked[:, :-1].gather(2, tokens[:, 1:, None])
    return stacked, torch.stack(weights, 1)


@every_pair
def test_forward_is_step_in_a_loop_with_its_gradients(decoder, case, encoded, tokens):
    outcomes = []
    for fast in (True, False):
        values = encoded.values.clone().requires_grad_()
        memory = decoder.init_memory(encoded._replace(values=values))
        if fast:
            logits, weights = at_once(decoder, tokens, memory, case.hard)
        else:
            logits, weights = looped(decoder, tokens, memory, case.hard)
        upstream = torch.randn(logits.shape, generator=torch.Generator().manual_seed(5))
        leaves = [values, *decoder.parameters()]
        gradients = torch.autograd.grad((logits * upstream).sum(), leaves, allow_unused=True, materialize_grads=True)
        outcomes.append((logits, weights, gradients))
    (logits, weights, gradients), (expected_logits, expected_weights, expected_gradients) = outcomes
    assert weights.any() == decoder.attention.uses_source
    torch.testing.assert_close(logits, expected_logits, atol=3e-6, rtol=1e-5)
    torch.testing.assert_close(weights, expected_weights, atol=1e-6, rtol=0)
    has_relu = decoder.Config.model_fields["name"].default == "ssru"
    for ours, theirs in zip(gradients, expected_gradients, strict=True):
        if has_relu:  # one whose argument is 0 but for rounding has the one gradient or the other
            assert (ours - theirs).norm() <= 1e-2 * theirs.norm() + 1e-3
        else:
            torch.testing.assert_close(ours, theirs, atol=1e-5 * max(1.0, float(theirs.abs().max())), rtol=1e-4)


@every_pair
def test_a_sentence_alone_is_decoded_as_in_any_batch(decoder, case, encoded, batch, tokens):
    readouts, attended = decoder(tokens, decoder.init_memory(encoded), hard=case.hard)
    for row, length in enumerate(batch.mask.sum(1).tolist()):
        one = slice(row, row + 1)
        values = encoded.values[one, :length]
        memory = decoder.init_memory(Encoded(values, batch.mask[one, :length], encoded.final_state[one]))
        alone, of_one = decoder(tokens[one], memory, hard=case.hard)
        torch.testing.assert_close(readouts[row], alone[0], atol=3e-6, rtol=1e-5)
        torch.testing.assert_close(attended.weights[row, :, :length], of_one.weights[0], atol=3e-6, rtol=0)


@every_pair
@torch.no_grad()
def test_steps_go_on_from_what_an_encoder_makes_under_autocast(decoder, case, encoded, tokens):
    """LSTMs have values and a final state in bfloat16, linear recurrences a final state in float32."""
    decoder.eval()
    logits = {}
    for kind in (torch.bfloat16, torch.float32):
        values = encoded.values.to(torch.bfloat16)
        made = encoded._replace(values=values, final_state=encoded.final_state.bfloat16().to(kind))
        with torch.autocast("cpu", torch.bfloat16):
            memory = decoder.init_memory(made)
            logits[kind], _ = looped(decoder, tokens, memory, case.hard)
    # Decisions of hard attention may differ by rounding, in which all else is then different.
    assert logits[torch.bfloat16].isfinite().all()
    if not case.hard:
        torch.testing.assert_close(*(each.float() for each in logits.values()), atol=0.1, rtol=0.1)
