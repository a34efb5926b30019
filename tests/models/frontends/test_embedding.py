import pytest
import torch

from mt.models.frontends.embedding import Embedding, EmbeddingConfig


def test_vectors_leave_larger_than_the_table_by_the_root_of_their_size():
    embedding = Embedding(EmbeddingConfig(embedding_dim=9), 4).eval()
    with torch.no_grad():
        embedding.table.weight[2] = torch.arange(9.0)
    torch.testing.assert_close(embedding(torch.tensor([[2]]))[0, 0], 3 * torch.arange(9.0))


def test_word_dropout_zeroes_whole_vectors_of_each_position_by_itself_and_keeps_the_mean():
    embedding = Embedding(EmbeddingConfig(embedding_dim=7, dropout=0.0, word_dropout=0.25), 5)
    torch.manual_seed(0)
    with torch.no_grad():
        whole = embedding.eval()(torch.tensor([[3]]))
        shares = embedding.train()(torch.full((40, 60), 3)) / whole
    # All numbers of a vector, or none.
    torch.testing.assert_close(shares, shares[..., :1].expand_as(shares))
    zeroed = (shares[..., 0] == 0).float()
    torch.testing.assert_close(shares.amax().item(), 1 / 0.75)
    assert zeroed.mean().item() == pytest.approx(0.25, abs=0.03)
    # The same word is zeroed in some places of a sentence and not in others: a share of 0.25 in each row and column.
    assert zeroed.mean(0).std().item() < 0.15 and zeroed.mean(1).std().item() < 0.15
