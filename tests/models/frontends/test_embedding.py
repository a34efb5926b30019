import pytest
import torch

from mt.models.frontends.embedding import PAD, Embedding, EmbeddingConfig


def test_vectors_leave_larger_than_the_table_by_the_root_of_their_size():
    embedding = Embedding(EmbeddingConfig(embedding_dim=9), 4).eval()
    with torch.no_grad():
        embedding.table.weight[2] = torch.arange(9.0)
    torch.testing.assert_close(embedding(torch.tensor([[2]]))[0, 0], 3 * torch.arange(9.0))


def test_vectors_begin_at_unit_variance_and_padding_at_zero():
    torch.manual_seed(0)
    embedding = Embedding(EmbeddingConfig(embedding_dim=64), 500).eval()
    assert embedding(torch.arange(1, 500)).std().item() == pytest.approx(1.0, abs=0.02)
    assert not embedding(torch.tensor([PAD])).any()


def test_looking_padding_up_teaches_nothing():
    embedding = Embedding(EmbeddingConfig(embedding_dim=3), 5)
    embedding(torch.tensor([[PAD, 2]])).sum().backward()
    gradient = embedding.table.weight.grad
    assert gradient is not None
    assert gradient.any(-1).tolist() == [False, False, True, False, False]


def test_dropout_is_on_vectors_in_training_alone():
    embedding = Embedding(EmbeddingConfig(embedding_dim=400, dropout=0.25), 5)
    torch.manual_seed(0)
    dropped = (embedding.train()(torch.tensor([3])) == 0).float().mean().item()
    assert 0.15 < dropped < 0.35
    assert embedding.eval()(torch.tensor([3])).all()
