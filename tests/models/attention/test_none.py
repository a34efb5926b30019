import torch

from mt.models.attention.none import NoAttention, NoneConfig


def test_with_zeros_nothing_is_read(batch):
    attention = NoAttention(NoneConfig(), 6, 6)
    contexts, weights = attention(batch.queries, attention.remember(batch.values, batch.mask))
    assert attention.blind
    assert contexts.shape == (8, 7, 6) and weights.shape == (8, 7, 11)
    assert not contexts.any() and not weights.any()


def test_with_last_every_step_reads_the_end_of_its_sentence(batch):
    attention = NoAttention(NoneConfig(context="last"), 6, 6)
    contexts, weights = attention(batch.queries, attention.remember(batch.values, batch.mask))
    assert not attention.blind
    for row, length in enumerate(batch.mask.sum(1).tolist()):
        assert torch.equal(weights[row], torch.eye(11)[length - 1].expand(7, 11))
        assert torch.equal(contexts[row], batch.values[row, length - 1].expand(7, 6))


def test_there_is_nothing_to_learn():
    for context in ("zeros", "last"):
        assert not list(NoAttention(NoneConfig(context=context), 6, 6).parameters())
