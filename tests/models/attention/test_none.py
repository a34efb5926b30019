import torch

from mt.models.attention.none import NoAttention, NoneConfig


def test_with_zeros_nothing_is_attended_to(batch):
    attention = NoAttention(NoneConfig(), 6, 6)
    output = attention(batch.queries, attention.init_memory(batch.encoded))
    assert not attention.uses_source
    assert output.contexts.shape == (8, 7, 6) and output.weights.shape == (8, 7, 11)
    assert not output.contexts.any() and not output.weights.any()


def test_with_last_every_step_attends_to_the_end_of_its_sentence(batch):
    attention = NoAttention(NoneConfig(context="last"), 6, 6)
    output = attention(batch.queries, attention.init_memory(batch.encoded))
    assert attention.uses_source
    for row, length in enumerate(batch.mask.sum(1).tolist()):
        assert torch.equal(output.weights[row], torch.eye(11)[length - 1].expand(7, 11))
        assert torch.equal(output.contexts[row], batch.values[row, length - 1].expand(7, 6))


def test_there_is_nothing_to_learn():
    for context in ("zeros", "last"):
        assert not list(NoAttention(NoneConfig(context=context), 6, 6).parameters())
