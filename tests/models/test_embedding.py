import torch

from mt.models.embedding import PAD, Embedding, EmbeddingConfig


def test_looking_padding_up_teaches_nothing():
    embedding = Embedding(5, EmbeddingConfig(size=3))
    embedding(torch.tensor([[PAD, 2]])).sum().backward()
    gradient = embedding.table.weight.grad
    assert gradient is not None
    assert gradient.any(-1).tolist() == [False, False, True, False, False]


def test_dropout_is_on_vectors_in_training_alone():
    embedding = Embedding(5, EmbeddingConfig(size=400, dropout=0.25))
    torch.manual_seed(0)
    dropped = (embedding.train()(torch.tensor([3])) == 0).float().mean().item()
    assert 0.15 < dropped < 0.35
    assert embedding.eval()(torch.tensor([3])).all()
