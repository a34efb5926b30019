"""What recurrent encoders say of a whole sentence."""

import pytest
import torch
from torch import nn

from mt.models.encoders import ENCODERS
from mt.models.encoders.recurrent import Recurrent

RECURRENT = [name for name, kind in ENCODERS.items() if issubclass(kind, Recurrent)]


@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("name", RECURRENT)
def test_the_summary_is_where_each_direction_of_the_top_layer_ends(name: str, layers: int, vectors, mask, shake):
    kind = ENCODERS[name]
    encoder = shake(kind(kind.Config(hidden_size=5, num_layers=layers), 6), scale=0.4)
    values, summary, compared = encoder(vectors, mask)
    assert compared is None
    ends = values[torch.arange(5), mask.sum(1) - 1, :5]
    if name.startswith("bi"):
        ends = torch.cat((ends, values[:, 0, 5:]), -1)
    torch.testing.assert_close(summary, ends)


@pytest.mark.parametrize("name", RECURRENT)
def test_cells_are_what_the_name_says(name: str):
    kind = ENCODERS[name]
    cells = kind(kind.Config(hidden_size=5), 6).cells
    assert type(cells) is (nn.LSTM if name.endswith("lstm") else nn.GRU)
    assert cells.bidirectional == name.startswith("bi")
