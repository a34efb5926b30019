"""Hypotheses of a model, as the tests ask for them."""

from collections.abc import Sequence

from mt.data.fields import TEXT, Field, Row
from mt.decoding.modes import DecodableModel
from mt.decoding.network import decode_rows
from mt.decoding.torch_network import TorchNetwork
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
) -> list[Sequence[Hypothesis]]:
    return decode_rows(TorchNetwork(model, field, vocab_size=vocab_size, precision=precision), rows, search)
