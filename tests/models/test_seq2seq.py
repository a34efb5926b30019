"""The losses beside the cross entropy: CTC by its definition, and the penalties of weights, of every attention whose
weights can be trained."""

import itertools
import math
from typing import Any

import pytest
import torch

from mt.data.batches import Batch
from mt.models.attention import ATTENTIONS
from mt.models.seq2seq import Seq2Seq
from mt.ops.losses import coverage_loss, doubly_stochastic_loss
from tests.marks import combined
from tests.models.small import small_config

SOURCES = (5, 4, 6)
PENALTIES = {"doubly_stochastic_weight": doubly_stochastic_loss, "coverage_weight": coverage_loss}
TRAINED = [name for name, kind in ATTENTIONS.items() if kind.learns_weights]


def model(transcripts: int | None = None, **options: Any) -> Seq2Seq:
    """Of 6 target words; transcripts: of so many words are what CTC is of."""
    torch.manual_seed(1)
    return Seq2Seq(small_config(encoder={"name": "bilstm"}, **options), 20, 6, transcripts).eval()


def pairs(target_lengths: list[int]) -> Batch:
    """Targets with EOS, which is 3."""
    generator = torch.Generator().manual_seed(1)
    source = torch.randint(1, 20, (3, 6), generator=generator)
    source_mask = torch.arange(6) < torch.tensor(SOURCES)[:, None]
    mask = torch.arange(4) < torch.tensor(target_lengths)[:, None]
    target_out = torch.randint(4, 6, (3, 4), generator=generator)
    target_out[range(3), [n - 1 for n in target_lengths]] = 3
    return Batch(source * source_mask, source_mask, target_out, target_out * mask, mask)


def by_definition(network: Seq2Seq, batch: Batch, row: int, labels: list[int]) -> float:
    """- log p(labels), over all CTC paths; 0 where there is none."""
    assert network.ctc is not None
    values = network.encode(batch.source, batch.source_mask).values[row, : SOURCES[row]]
    log_probs = network.ctc(values).double().log_softmax(-1).tolist()
    classes = len(log_probs[0])
    total = 0.0
    for path in itertools.product({*labels, classes - 1}, repeat=len(log_probs)):
        if [symbol for symbol, _ in itertools.groupby(path) if symbol != classes - 1] == labels:
            total += math.exp(sum(each[symbol] for each, symbol in zip(log_probs, path, strict=True)))
    return -math.log(total) if total else 0.0


def test_ctc_is_added_with_its_weight_and_teaches_the_encoder_alone():
    batch = pairs([4, 2, 3])
    batch.target_out[2, :2] = 4  # which need a blank between
    plain = model()
    with_ctc = model(ctc_weight=0.3)
    with_ctc.load_state_dict(plain.state_dict(), strict=False)
    before = plain(batch)
    after = with_ctc(batch)
    assert torch.equal(before.sum, after.sum) and not before.auxiliary
    labels = [row[mask].tolist()[:-1] for row, mask in zip(batch.target_out, batch.target_mask, strict=True)]
    losses = [by_definition(with_ctc, batch, row, wanted) for row, wanted in enumerate(labels)]
    assert min(losses) > 0 and after.auxiliary.item() == pytest.approx(0.3 * sum(losses), rel=1e-5)
    assert with_ctc.state_dict().keys() - plain.state_dict().keys() == {"ctc.weight", "ctc.bias"}
    after.auxiliary.backward()
    taught = {name.split(".")[0] for name, each in with_ctc.named_parameters() if each.grad is not None}
    assert taught == {"frontend", "encoder", "ctc"} and with_ctc.encoder.cells.all_weights[0][0].grad.any()


def test_ctc_of_targets_of_nothing_but_eos_and_of_targets_without_any_path():
    network = model(ctc_weight=1.0)
    loss = network(pairs([1, 1, 1])).auxiliary
    assert loss > 0 and loss.isfinite()
    batch = pairs([4, 2, 3])
    short = batch._replace(source=batch.source[:, :2], source_mask=batch.source_mask[:, :2])
    short.target_out[2, :2] = 4
    loss = network(short).auxiliary
    loss.backward()
    expected = by_definition(network, short, 1, short.target_out[1, :1].tolist())
    assert loss.item() == pytest.approx(expected, rel=1e-5), "the others have more labels and blanks than positions"
    assert all(p.grad is None or p.grad.isfinite().all() for p in network.parameters())


def test_ctc_is_of_transcripts_where_there_are_any():
    network = model(9, ctc_weight=0.5)
    assert network.ctc is not None and network.ctc.out_features == 10
    batch = pairs([4, 2, 3])
    assert network(batch).auxiliary == 0, "none is known"
    transcript = torch.tensor([[4, 5, 3, 0], [3, 0, 0, 0], [8, 6, 7, 3]])
    mask = torch.arange(4) < torch.tensor([3, 1, 4])[:, None]
    result = network(batch._replace(transcript=transcript, transcript_mask=mask)).auxiliary
    expected = by_definition(network, batch, 0, [4, 5]) + by_definition(network, batch, 2, [8, 6, 7])
    assert result.item() == pytest.approx(0.5 * expected, rel=1e-5), "the second has none"


@combined(attention=TRAINED, options=[*([name] for name in PENALTIES), [*PENALTIES]])
def test_penalties_are_added_with_their_weights_and_leave_the_rest_as_it_is(attention: str, options: list[str]):
    batch = pairs([4, 2, 3])
    priced = model(attention={"name": attention}, **dict.fromkeys(options, 0.5))
    before = model(attention={"name": attention})(batch)
    after = priced(batch)
    assert torch.equal(before.sum, after.sum) and torch.equal(before.attention.weights, after.attention.weights)
    # In evaluation no mechanism samples.
    weights = after.attention.weights
    penalty = sum(PENALTIES[name](weights, batch.source_mask, batch.target_mask).sum() for name in options)
    assert penalty > 0.1
    torch.testing.assert_close(after.auxiliary, before.auxiliary + 0.5 * penalty)
    (after.auxiliary - before.auxiliary.detach()).backward()
    assert any(p.grad is not None and p.grad.any() for p in priced.parameters())


@pytest.mark.parametrize("option", PENALTIES)
def test_of_samples_the_probabilities_are_priced(option: str):
    batch = pairs([4, 2, 3])
    sampling = {"name": "stochastic", "sample_ratio": 1.0, "reinforce_weight": 0.0, "entropy_weight": 0.0}
    loss = model(attention=sampling, **{option: 1.0}).train()(batch)
    assert ((loss.attention.weights == 0) | (loss.attention.weights == 1)).all()
    expected = PENALTIES[option](loss.attention.alpha, batch.source_mask, batch.target_mask).sum()
    torch.testing.assert_close(loss.auxiliary, expected)
    assert loss.auxiliary.requires_grad
