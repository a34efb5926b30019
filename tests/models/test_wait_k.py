"""Wait-k: a step sees what has been read, and nothing else, whatever model is trained or decoded with it."""

import pytest
import torch
from torch import Tensor

from mt.data.batches import Batch
from mt.models.attention import ATTENTIONS
from mt.models.attention.energy import ENERGIES
from mt.models.attention.local import LocalMConfig
from mt.models.attention.marginal import MarginalConfig
from mt.models.encoders import ENCODERS
from mt.models.seq2seq import Seq2Seq
from mt.step import BOS
from tests.components import together
from tests.models.small import small

SOFT = {name: kind.Config() for name, kind in ATTENTIONS.items() if kind.supports_wait_k}
SOFT |= {f"local_m-{name}": LocalMConfig(window=2, energy=kind.Config()) for name, kind in ENERGIES.items()}
SOFT["marginal-1"] = MarginalConfig(order=1, monotonic=False, window=2)
CAUSAL = [name for name, kind in ENCODERS.items() if kind.incremental]
T = 9
FED = [name for name, options in SOFT.items() if together(options.name, {"name": "bahdanau"})]


@pytest.fixture
def pairs(batch) -> Batch:
    """Sources of 1 to 11 tokens, and more target steps than some of them have tokens."""
    generator = torch.Generator().manual_seed(1)
    source = torch.randint(1, 20, batch.mask.shape, generator=generator).masked_fill(~batch.mask, 0)
    target_out = torch.randint(1, 14, (len(source), T), generator=generator)
    target_in = torch.nn.functional.pad(target_out[:, :-1], (1, 0), value=BOS)
    return Batch(source, batch.mask, target_in, target_out, torch.ones_like(target_in, dtype=torch.bool))


def prefixes(model: Seq2Seq, pairs: Batch, k: int) -> tuple[Tensor, list[Tensor]]:
    """By another way: step by step, with the source that has been read by then, and nothing behind it, encoded anew.

    Returns the losses of the tokens, [B, T], and the attention weights of each step, [B, read]. The state is carried.
    """
    state = None
    losses = []
    weights = []
    for step, token in enumerate(pairs.target_in.unbind(1)):
        read = min(k + step, pairs.source.shape[1])
        memory = model.encode(pairs.source[:, :read], pairs.source_mask[:, :read])
        state = model.init_state(memory) if state is None else state
        prediction = model.step(token, memory, state)
        state = prediction.state
        losses.append(-prediction.logits.log_softmax(-1).gather(1, pairs.target_out[:, step, None])[:, 0])
        weights.append(prediction.attended.weights)
    return torch.stack(losses, 1), weights


@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize(
    ("attention", "encoder", "decoder"),
    [
        *((attention, "lstm", "luong") for attention in SOFT),
        *((attention, "lstm", decoder) for attention in FED for decoder in ("luong-fed", "bahdanau")),
        *(("general", encoder, "luong") for encoder in CAUSAL if encoder != "lstm"),
    ],
)
def test_a_step_is_that_of_the_source_read_so_far(attention: str, encoder: str, decoder: str, k: int, pairs, shake):
    decoding = {"name": decoder.removesuffix("-fed"), "init_hidden": "zeros"}
    decoding |= {"input_feeding": True} if decoder == "luong-fed" else {}
    model = shake(small(attention=SOFT[attention], encoder={"name": encoder}, decoder=decoding), scale=0.5)
    assert model.supports_wait_k
    actual = model(pairs, wait_k=k)
    (losses, weights) = prefixes(model, pairs, k)
    torch.testing.assert_close(actual.token_losses, losses, atol=1e-5, rtol=1e-5)
    for step, expected in enumerate(weights):
        torch.testing.assert_close(actual.attention.weights[:, step, : expected.shape[1]], expected, atol=3e-6, rtol=0)
        assert not actual.attention.weights[:, step, expected.shape[1] :].any()
    usual = model(pairs).token_losses
    assert (actual.token_losses - usual).abs().max() > 1e-3, "a mask without effect tests nothing"
    assert torch.equal(model(pairs, wait_k=40).token_losses, usual)
