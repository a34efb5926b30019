"""Every encoder trains under both decoders."""

import torch

from mt.data.batches import Batch
from mt.models.attention.global_ import BahdanauAttentionConfig
from mt.models.config import ModelConfig
from mt.models.decoders import DECODERS
from mt.models.encoders import ENCODERS
from mt.models.frontends.embedding import EmbeddingConfig
from mt.models.seq2seq import Seq2Seq
from tests.marks import combined


@combined(encoder=ENCODERS, decoder=DECODERS)
def test_every_parameter_learns(encoder: str, decoder: str, mask):
    config = ModelConfig(
        embedding=EmbeddingConfig(embedding_dim=6),
        encoder=ENCODERS[encoder].Config(hidden_size=4),
        decoder=DECODERS[decoder].Config(hidden_size=5, readout_size=6, num_layers=2),
        attention=BahdanauAttentionConfig(attention_dim=3),
    )
    torch.manual_seed(1)
    model = Seq2Seq(config, 20, 14)
    source = torch.randint(1, 20, mask.shape).masked_fill(~mask, 0)
    target = torch.randint(1, 14, (len(mask), 7))
    model(Batch(source, mask, target[:, :-1], target[:, 1:], target[:, 1:] > 0)).sum.backward()
    silent = [
        name for name, parameter in model.named_parameters() if parameter.grad is None or not parameter.grad.any()
    ]
    assert silent == []
