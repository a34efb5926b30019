"""Random models, and hypotheses of a model as the tests ask for them."""

from typing import Any

import torch

from mt.config import Config
from mt.data.fields import TEXT
from mt.data.tokenizer import Tokenizers
from mt.decoding.lexical import ConstrainedPart
from mt.decoding.network import decode_rows
from mt.decoding.torch_network import TorchNetwork
from mt.models.seq2seq import Seq2Seq


def decode_ids(model, rows, search, *, field=TEXT, precision="fp32", asked=None, **options) -> list[Any]:
    """Returns the hypotheses of each row, best first. asked: constraints of each row, or None."""
    network = TorchNetwork(model, field, precision=precision, **options)
    return decode_rows(network, rows, search, [] if asked is None else [ConstrainedPart(asked)])


def random_model(config: Config, tokenizers: Tokenizers, seed: int = 1, scale: float = 3.0) -> Seq2Seq:
    """scale: makes its next tokens less alike in probability than those of a model that has learnt nothing."""
    torch.manual_seed(seed)
    model = Seq2Seq(config, *tokenizers.sizes).eval()
    for parameter in model.parameters():
        parameter.data *= scale
    return model
