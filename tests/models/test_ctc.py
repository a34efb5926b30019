"""The encoder's own loss, against its definition: the sum over all paths that collapse to the labels."""

import itertools
import math

import pytest
import torch

from mt.data.batches import Batch
from mt.models.config import ModelConfig
from mt.models.encoders.recurrent import BiLSTMConfig
from mt.models.seq2seq import Seq2Seq

SOURCES = (5, 4, 6)


def model(weight: float, transcripts: int | None = None) -> Seq2Seq:
    torch.manual_seed(1)
    config = ModelConfig(encoder=BiLSTMConfig(hidden_size=6, dropout=0.0), ctc_weight=weight)
    return Seq2Seq(config, 20, 6, transcripts).eval()


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
    values = network.encoded(batch.source, batch.source_mask).values[row, : SOURCES[row]]
    log_probs = network.ctc(values).double().log_softmax(-1).tolist()
    classes = len(log_probs[0])
    total = 0.0
    for path in itertools.product({*labels, classes - 1}, repeat=len(log_probs)):
        if [symbol for symbol, _ in itertools.groupby(path) if symbol != classes - 1] == labels:
            total += math.exp(sum(each[symbol] for each, symbol in zip(log_probs, path, strict=True)))
    return -math.log(total) if total else 0.0


def test_it_is_added_with_its_weight_and_leaves_the_rest_as_it_is():
    batch = pairs([4, 2, 3])
    batch.target_out[2, :2] = 4  # which need a blank between
    plain = model(0.0)
    with_ctc = model(0.3)
    with_ctc.load_state_dict(plain.state_dict(), strict=False)
    before = plain(batch)
    after = with_ctc(batch)
    assert torch.equal(before.sum, after.sum) and not before.auxiliary
    labels = [row[mask].tolist()[:-1] for row, mask in zip(batch.target_out, batch.target_mask, strict=True)]
    losses = [by_definition(with_ctc, batch, row, wanted) for row, wanted in enumerate(labels)]
    assert min(losses) > 0 and after.auxiliary.item() == pytest.approx(0.3 * sum(losses), rel=1e-5)
    assert {name for name, _ in with_ctc.named_parameters()} - {name for name, _ in plain.named_parameters()} == {
        "ctc.weight",
        "ctc.bias",
    }


def test_it_teaches_the_encoder_and_not_the_decoder():
    network = model(1.0)
    network(pairs([4, 2, 3])).auxiliary.backward()
    taught = {name.split(".")[0] for name, parameter in network.named_parameters() if parameter.grad is not None}
    assert taught == {"frontend", "encoder", "ctc"}
    assert all(p.grad.any() for name, p in network.named_parameters() if name.startswith(("encoder.", "ctc.")))


def test_targets_of_nothing_but_eos_and_targets_without_any_path():
    loss = model(1.0)(pairs([1, 1, 1])).auxiliary
    assert loss > 0 and loss.isfinite()
    network = model(1.0)
    batch = pairs([4, 2, 3])
    short = batch._replace(source=batch.source[:, :2], source_mask=batch.source_mask[:, :2])
    short.target_out[2, :2] = 4
    loss = network(short).auxiliary
    loss.backward()
    expected = by_definition(network, short, 1, short.target_out[1, :1].tolist())
    assert loss.item() == pytest.approx(expected, rel=1e-5), "the others have more labels and blanks than positions"
    assert all(p.grad is None or p.grad.isfinite().all() for p in network.parameters())


def test_transcripts_are_what_it_is_of_where_there_are_any():
    network = model(0.5, 9)
    assert network.ctc is not None and network.ctc.out_features == 10
    batch = pairs([4, 2, 3])
    assert network(batch).auxiliary == 0, "none is known"
    transcript = torch.tensor([[4, 5, 3, 0], [3, 0, 0, 0], [8, 6, 7, 3]])
    mask = torch.arange(4) < torch.tensor([3, 1, 4])[:, None]
    result = network(batch._replace(transcript=transcript, transcript_mask=mask)).auxiliary
    expected = by_definition(network, batch, 0, [4, 5]) + by_definition(network, batch, 2, [8, 6, 7])
    assert result.item() == pytest.approx(0.5 * expected, rel=1e-5), "the second has none"
