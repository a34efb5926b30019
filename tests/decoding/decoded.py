"""Random models, and hypotheses of a model as the tests ask for them."""

from collections.abc import Sequence

import torch

from mt.config import Config
from mt.constraints.processor import TokenConstraints
from mt.data.fields import TEXT, Field, Row
from mt.data.tokenizer import Tokenizers
from mt.decoding.lexical import ConstrainedPart
from mt.decoding.modes import DecodableModel
from mt.decoding.network import decode_rows
from mt.decoding.torch_network import TorchNetwork
from mt.models.seq2seq import Seq2Seq
from mt.search.config import Precision, SearchConfig
from mt.search.hypothesis import Hypothesis


def decode_ids(
    model: DecodableModel,
    rows: Sequence[Row],
    search: SearchConfig,
    *,
    vocab_size: int,
    precision: Precision,
    field: Field = TEXT,
    asked: Sequence[TokenConstraints | None] | None = None,
) -> list[Sequence[Hypothesis]]:
    network = TorchNetwork(model, field, vocab_size=vocab_size, precision=precision)
    return decode_rows(network, rows, search, [] if asked is None else [ConstrainedPart(asked)])


def random_model(config: Config, tokenizers: Tokenizers, seed: int = 1, scale: float = 3.0) -> Seq2Seq:
    """scale: makes its next tokens less alike in probability than those of a model that has learnt nothing."""
    torch.manual_seed(seed)
    model = Seq2Seq(config, *tokenizers.sizes).eval()
    for parameter in model.parameters():
        parameter.data *= scale
    return model
