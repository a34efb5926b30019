"""Two passes whose predictions are to agree, against the two distributions of every token in float64."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn.functional import cross_entropy

from mt.config import Config
from mt.data.batches import Batch, collate
from mt.data.corpus import Corpus
from mt.models.attention import ATTENTIONS
from mt.models.decoders import DECODERS
from mt.models.seq2seq import Seq2Seq
from mt.training.loop import BatchLoss
from tests.marks import chosen

DROPPING: dict[str, Any] = {
    "general": {"embedding": {"embedding_dim": 32, "dropout": 0.2, "word_dropout": 0.2}, "coverage_weight": 0.5},
    "mocha": {"attention": {"name": "mocha", "chunk_size": 2, "noise_std": 1.0}, "encoder": {"name": "lstm"}},
    "feeding": {"decoder": {"input_feeding": True, "dropout": 0.3}, "ctc_weight": 0.3},
    "own table": {"embedding": {"embedding_dim": 32, "tie_output": False}, "decoder": {"dropout": 0.3}},
}
COPYING: dict[str, Any] = {
    "decoder": {"copy": True, "hidden_size": 32, "readout_size": 32, "dropout": 0.3},
    "training": {"r_drop": 3.0},
}


def batch_of(corpus: Corpus) -> Batch:
    split = corpus.split("train")
    return collate(split.read(np.arange(4)).pairs, split.source)


def module(config: Config, corpus: Corpus) -> BatchLoss:
    torch.manual_seed(3)
    return BatchLoss(Seq2Seq(config, *corpus.tokenizers.sizes), config)


@pytest.mark.parametrize("name", list(DROPPING))
def test_half_the_loss_of_the_paper(name: str, configure: Callable[..., Config], corpus: Corpus) -> None:
    """What the decoder has read out in both passes gives it, token by token."""
    config = configure({**DROPPING[name], "training": {"r_drop": 3.0, "label_smoothing": 0.1}})
    one = module(config, corpus)
    read_out: list[torch.Tensor] = []
    one.model.decoder.register_forward_hook(lambda *arguments: read_out.append(arguments[-1][0].detach().double()))
    batch = batch_of(corpus)
    total, sums = one(batch, 5)
    [readouts] = read_out
    layer = one.model.decoder.output
    log_probs = torch.nn.functional.linear(readouts, layer.weight.double(), layer.bias.double()).log_softmax(-1)
    log_p, log_q = (half[batch.target_mask] for half in log_probs.chunk(2))
    targets = batch.target_out[batch.target_mask]
    apart = 3.0 / 2 * (log_p.exp() - log_q.exp()).mul(log_p - log_q).sum()
    smoothed = [cross_entropy(half, targets, label_smoothing=0.1, reduction="sum") for half in (log_p, log_q)]
    expected = sum(smoothed) + apart
    torch.testing.assert_close(sums[1].double(), expected / 2, rtol=1e-5, atol=0)
    torch.testing.assert_close(total, sums[1] + sums[2])
    plain = sum(cross_entropy(half, targets, reduction="sum") for half in (log_p, log_q)) / 2
    torch.testing.assert_close(sums[0].double(), plain, rtol=1e-5, atol=0)
    # Each pass has its own dropout, and what depends on the seed alone.
    assert (log_p - log_q).abs().max() > 0.01
    assert one(batch, 5)[0] == total != one(batch, 6)[0]


COMPARED = [name for name, kind in ATTENTIONS.items() if not kind.mixes_predictions]
EVERY = [*(("luong", name) for name in COMPARED), *((name, "general") for name in DECODERS)]


@pytest.mark.parametrize(("decoder", "attention"), chosen(EVERY, ("luong", "mocha"), ("gnmt", "general")))
def test_without_dropout_it_is_the_usual_loss(decoder, attention, configure, corpus):
    """Of every decoder and attention, with its gradient."""
    still = {"dropout": 0.0}
    quiet = {"noise_std": 0.0} if "noise_std" in ATTENTIONS[attention].Config.model_fields else {}
    quiet |= {"sample_ratio": 0.0} if attention == "stochastic" else {}
    parts = {
        "embedding": {"embedding_dim": 32, **still},
        "encoder": {"name": "gru", "hidden_size": 32, **still},
        "decoder": {"name": decoder, "hidden_size": 32, "readout_size": 32, **still},
        "attention": {"name": attention, **quiet},
    }
    batch = batch_of(corpus)
    result = []
    for alpha in (0.0, 5.0):
        one = module(configure({**parts, "training": {"r_drop": alpha}}), corpus)
        total, sums = one(batch, 5)
        total.backward()
        gradients = [parameter.grad for parameter in one.parameters() if parameter.grad is not None]
        result.append([total.detach(), sums, *gradients])
    for usual, twice in zip(*result, strict=True):
        torch.testing.assert_close(twice, usual, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("attention", ["general", "mocha"])
def test_of_copies_what_differs_is_where_a_token_is_from(attention, configure, corpus):
    """In float64, of each step: the tokens that are generated, and the positions that are copied."""
    config = configure({**COPYING, "attention": {"name": attention}})
    one = module(config, corpus).double()
    decoder = one.model.decoder
    assert decoder.copying is not None
    seen: list[Any] = []
    decoder.register_forward_hook(lambda *arguments: seen.append(arguments[-1]))
    batch = batch_of(corpus)
    total, _ = one(batch, 5)
    [(readouts, attended)] = seen
    logit = decoder.copying.gate(torch.cat((readouts, attended.contexts), -1))
    log_probs = decoder.output(readouts).log_softmax(-1)
    generated = logit.sigmoid() + (-logit).sigmoid() * (1 - attended.weights.sum(-1, keepdim=True)).clamp(min=0)
    origins = torch.cat((generated * log_probs.exp(), (-logit).sigmoid() * attended.weights), -1)
    assert torch.allclose(origins.sum(-1), torch.ones((), dtype=origins.dtype), atol=1e-6)
    p, q = (half[batch.target_mask] for half in origins.chunk(2))
    further = p.clamp(min=1e-9).log() - q.clamp(min=1e-9).log()
    apart = 3.0 / 2 * ((p - q) * further).sum()
    without = configure({**COPYING, "attention": {"name": attention}, "training": {}})
    plain = BatchLoss(one.model, without)(batch.twice(), 5)[0]
    torch.testing.assert_close(total, (plain + apart) / 2, rtol=1e-5, atol=1e-5)
    assert apart > 0.01
    parameters = [*one.parameters()]
    options: Any = {"allow_unused": True, "materialize_grads": True}
    expected = torch.autograd.grad((plain + apart) / 2, parameters, retain_graph=True, **options)
    for actual, wanted in zip(torch.autograd.grad(total, parameters, **options), expected, strict=True):
        torch.testing.assert_close(actual, wanted, rtol=1e-4, atol=2e-5)


def test_a_batch_of_nothing_counts_for_nothing(configure: Callable[..., Config], corpus: Corpus) -> None:
    total, sums = module(configure({"training": {"r_drop": 1.0}}), corpus)(None, None)
    assert total == 0 and total.requires_grad and not sums.any()
