"""The encoder's own loss."""

import pytest
import torch

from mt.data.batches import Batch
from mt.device import autocast
from mt.models.config import ModelConfig
from mt.models.encoders.recurrent import BiLSTMConfig
from mt.models.seq2seq import Seq2Seq
from mt.ops.losses import ctc_losses


def model(weight: float) -> Seq2Seq:
    torch.manual_seed(1)
    config = ModelConfig(encoder=BiLSTMConfig(hidden_size=6, dropout=0.0), ctc_weight=weight)
    return Seq2Seq(config, 20, 14).eval()


def pairs(target_lengths: list[int]) -> Batch:
    """Targets with EOS, which is 3."""
    generator = torch.Generator().manual_seed(1)
    source = torch.randint(1, 20, (3, 9), generator=generator)
    source_mask = torch.arange(9) < torch.tensor([9, 4, 6])[:, None]
    mask = torch.arange(5) < torch.tensor(target_lengths)[:, None]
    target_out = torch.randint(4, 14, (3, 5), generator=generator)
    target_out[range(3), [n - 1 for n in target_lengths]] = 3
    return Batch(source * source_mask, source_mask, target_out, target_out * mask, mask)


def test_it_is_added_with_its_weight_and_leaves_the_rest_as_it_is():
    batch = pairs([5, 2, 4])
    plain = model(0.0)
    with_ctc = model(0.3)
    with_ctc.load_state_dict(plain.state_dict(), strict=False)
    before = plain(batch)
    after = with_ctc(batch)
    assert torch.equal(before.sum, after.sum) and not before.auxiliary
    encoded = with_ctc.encoder(*with_ctc.frontend(batch.source, batch.source_mask))
    expected = 0.0
    for values, mask, out, length in zip(encoded.values, batch.source_mask, batch.target_out, [5, 2, 4], strict=True):
        logits = with_ctc.ctc(values[mask])[None]
        ones = torch.ones(1, length - 1, dtype=torch.bool)
        expected += 0.3 * ctc_losses(logits, mask[mask][None], out[None, : length - 1], ones).item()
    assert after.auxiliary.item() == pytest.approx(expected, rel=1e-5)
    assert {name for name, _ in with_ctc.named_parameters()} - {name for name, _ in plain.named_parameters()} == {
        "ctc.weight",
        "ctc.bias",
    }


def test_it_teaches_the_encoder_and_not_the_decoder():
    network = model(1.0)
    network(pairs([5, 2, 4])).auxiliary.backward()
    taught = {name.split(".")[0] for name, parameter in network.named_parameters() if parameter.grad is not None}
    assert taught == {"frontend", "encoder", "ctc"}
    assert all(p.grad.any() for name, p in network.named_parameters() if name.startswith(("encoder.", "ctc.")))


def test_targets_of_nothing_but_eos():
    loss = model(1.0)(pairs([1, 1, 1])).auxiliary
    assert loss > 0 and loss.isfinite()


def test_autocast_computes_it_in_float32():
    with autocast(torch.device("cpu"), "bf16"):
        loss = model(1.0)(pairs([5, 2, 4])).auxiliary
    assert loss.dtype == torch.float32
    assert loss.item() == pytest.approx(model(1.0)(pairs([5, 2, 4])).auxiliary.item(), rel=0.02)


def test_transcripts_are_what_it_is_of_where_there_are_any():
    torch.manual_seed(1)
    config = ModelConfig(encoder=BiLSTMConfig(hidden_size=6, dropout=0.0), ctc_weight=0.5)
    network = Seq2Seq(config, 20, 14, 9).eval()
    assert network.ctc is not None and network.ctc.out_features == 10
    batch = pairs([5, 2, 4])
    assert network(batch).auxiliary == 0, "none is known"
    transcript = torch.tensor([[4, 5, 3, 0], [3, 0, 0, 0], [8, 6, 7, 3]])
    mask = torch.arange(4) < torch.tensor([3, 1, 4])[:, None]
    encoded = network.encoder(*network.frontend(batch.source, batch.source_mask))
    logits = torch.nn.functional.linear(encoded.values, network.ctc.weight, network.ctc.bias)
    each = ctc_losses(logits, batch.source_mask, transcript[:, :-1], mask[:, 1:])
    result = network(batch._replace(transcript=transcript, transcript_mask=mask)).auxiliary
    assert result.item() == pytest.approx(0.5 * (each[0] + each[2]).item(), rel=1e-5), "the second has none"
