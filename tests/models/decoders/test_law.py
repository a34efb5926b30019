"""The law of decoders, for every decoder, every attention and every switch: `forward` is `step` in a loop."""

import pytest
import torch
from torch import Tensor

from mt.models.attention import build_attention
from mt.models.decoders import DECODERS, Decoder, DecoderMemory
from mt.models.encoders import Encoded
from mt.models.frontends.embedding import Embedding, EmbeddingConfig

SIZE, SUMMARY, VOCABULARY = 6, 5, 13
VARIANTS = [
    ("luong", {"num_layers": 1, "input_feeding": False, "init_hidden": "final_state"}),
    ("luong", {"num_layers": 2, "input_feeding": True, "init_hidden": "zeros", "cell": "gru"}),
    ("bahdanau", {"num_layers": 1, "cell": "gru", "init_hidden": "final_state"}),
    ("bahdanau", {"num_layers": 2, "cell": "lstm", "init_hidden": "zeros"}),
]


def test_every_decoder_is_tried():
    assert {name for name, _ in VARIANTS} == set(DECODERS)


@pytest.fixture(params=VARIANTS, ids=str)
def decoder(request, case, shake) -> Decoder:
    name, options = request.param
    kind = DECODERS[name]
    config = kind.Config(hidden_size=SIZE, readout_size=4, dropout=0.5, **options)
    embedding = Embedding(VOCABULARY, EmbeddingConfig(embedding_dim=4, dropout=0.5))
    attention = build_attention(case.config, SIZE, SIZE)
    # Small enough weights that rounding does not grow from step to step.
    return shake(kind(config, embedding, attention, value_size=SIZE, final_state_size=SUMMARY, tied=True), scale=0.5)


@pytest.fixture
def encoded(batch) -> Encoded:
    summary = torch.randn(8, SUMMARY, generator=torch.Generator().manual_seed(3))
    return Encoded(batch.values.masked_fill(~batch.mask[..., None], 0.0), summary)


@pytest.fixture
def tokens() -> Tensor:
    return torch.randint(1, VOCABULARY, (8, 5), generator=torch.Generator().manual_seed(4))


def looped(decoder: Decoder, tokens: Tensor, memory: DecoderMemory, hard: bool) -> tuple[Tensor, Tensor]:
    """Logits and weights."""
    state, logits, weights = decoder.init_hidden(memory), [], []
    for token in tokens.unbind(1):
        prediction = decoder.step(token, memory, state, hard=hard)
        state = prediction.state
        logits.append(prediction.logits)
        weights.append(prediction.weights)
    return torch.stack(logits, 1), torch.stack(weights, 1)


def test_forward_is_step_in_a_loop_with_its_gradients(decoder, case, encoded, batch, tokens):
    outcomes = []
    for fast in (True, False):
        values = encoded.values.clone().requires_grad_()
        memory = decoder.remember(Encoded(values, encoded.summary), batch.mask)
        if fast:
            features, reads = decoder(tokens, memory, hard=case.hard)
            logits, weights = decoder.output(features), reads.weights
        else:
            logits, weights = looped(decoder, tokens, memory, case.hard)
        upstream = torch.randn(logits.shape, generator=torch.Generator().manual_seed(5))
        leaves = [values, *decoder.parameters()]
        gradients = torch.autograd.grad((logits * upstream).sum(), leaves, allow_unused=True, materialize_grads=True)
        outcomes.append((logits, weights, gradients))
    (logits, weights, gradients), (expected_logits, expected_weights, expected_gradients) = outcomes
    assert weights.any() != decoder.attention.uses_source
    torch.testing.assert_close(logits, expected_logits, atol=3e-6, rtol=1e-5)
    torch.testing.assert_close(weights, expected_weights, atol=1e-6, rtol=0)
    for ours, theirs in zip(gradients, expected_gradients, strict=True):
        torch.testing.assert_close(ours, theirs, atol=1e-5 * max(1.0, float(theirs.abs().max())), rtol=1e-4)


def test_a_sentence_alone_is_decoded_as_in_any_batch(decoder, case, encoded, batch, tokens):
    features, reads = decoder(tokens, decoder.remember(encoded, batch.mask), hard=case.hard)
    for row, length in enumerate(batch.mask.sum(1).tolist()):
        one = slice(row, row + 1)
        memory = decoder.remember(Encoded(encoded.values[one, :length], encoded.summary[one]), batch.mask[one, :length])
        alone, read = decoder(tokens[one], memory, hard=case.hard)
        torch.testing.assert_close(features[row], alone[0], atol=3e-6, rtol=1e-5)
        torch.testing.assert_close(reads.weights[row, :, :length], read.weights[0], atol=3e-6, rtol=0)


def test_what_was_said_cannot_depend_on_what_follows(decoder, case, encoded, batch, tokens):
    memory, changed = decoder.remember(encoded, batch.mask), tokens.clone()
    changed[:, 3:] = tokens[:, 3:] % (VOCABULARY - 1) + 1
    before, after = (decoder(t, memory, hard=case.hard)[0] for t in (tokens, changed))
    assert torch.equal(before[:, :3], after[:, :3])
    assert not torch.equal(before[:, 3:], after[:, 3:])
