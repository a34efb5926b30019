"""Every encoder trains under both decoders."""

import pytest
import torch

from mt.models.attention.energy import ConcatConfig
from mt.models.attention.global_ import GlobalConfig
from mt.models.decoders import DECODERS
from mt.models.encoders import ENCODERS
from mt.models.frontends.embedding import EmbeddingConfig
from mt.models.seq2seq import ModelConfig, Seq2Seq
from mt.ops.cross_entropy import token_loss


@pytest.mark.parametrize("decoder", DECODERS)
@pytest.mark.parametrize("encoder", ENCODERS)
def test_every_parameter_learns(encoder: str, decoder: str, mask):
    config = ModelConfig(
        embedding=EmbeddingConfig(embedding_dim=6),
        encoder=ENCODERS[encoder].Config(hidden_size=4),
        decoder=DECODERS[decoder].Config(hidden_size=5, readout_size=6, num_layers=2),
        attention=GlobalConfig(energy=ConcatConfig(attention_dim=3)),
    )
    torch.manual_seed(1)
    model = Seq2Seq(config, 20, 14)
    source = torch.randint(1, 20, mask.shape).masked_fill(~mask, 0)
    target = torch.randint(1, 14, (len(mask), 7))
    features, _ = model(source, mask, target[:, :-1])
    token_loss(model.decoder.output, features, target[:, 1:], target[:, 1:] > 0).backward()
    silent = [
        name for name, parameter in model.named_parameters() if parameter.grad is None or not parameter.grad.any()
    ]
    assert silent == []
