"""The final state of recurrent encoders and their cells; and the encoder without any."""

import pytest
import torch
from torch import Tensor

from mt.data.batches import Batch
from mt.models.encoders import ENCODERS
from mt.models.encoders.none import NoEncoder, NoEncoderConfig
from mt.models.encoders.recurrent import Recurrent
from mt.models.seq2seq import Seq2Seq
from tests.models.small import small

RECURRENT = [name for name, kind in ENCODERS.items() if issubclass(kind, Recurrent)]


@pytest.mark.parametrize("num_layers", [1, 2])
@pytest.mark.parametrize("name", RECURRENT)
def test_the_final_state_is_where_each_direction_of_the_top_layer_ends(name, num_layers, vectors, mask, shake):
    kind = ENCODERS[name]
    encoder = shake(kind(kind.Config(hidden_size=8, num_layers=num_layers), 6), scale=0.4)
    encoded = encoder(vectors, mask)
    size = 8 // kind.directions
    ends = encoded.values[torch.arange(5), mask.sum(1) - 1, :size]
    if name.startswith("bi"):
        ends = torch.cat((ends, encoded.values[:, 0, size:]), -1)
    torch.testing.assert_close(encoded.final_state, ends)


@pytest.mark.parametrize("name", ["lstm", "bilstm"])
def test_forget_gates_begin_open(name: str):
    """torch has the biases of input, forget, cell and output gates one after another, in two vectors that are added."""
    kind = ENCODERS[name]

    def biases(forget_bias: float) -> list[Tensor]:
        torch.manual_seed(0)
        encoder = kind(kind.Config(hidden_size=8, num_layers=2, forget_bias=forget_bias), 6)
        return [one for name, one in encoder.named_parameters() if "bias" in name]

    before = biases(0.0)
    after = biases(2.0)
    sums = [
        sum((new - old).chunk(4)[gate].sum().item() for new, old in zip(after, before, strict=True))
        for gate in range(4)
    ]
    cells = sum(map(len, before)) / 8  # of all layers and directions; each has two vectors of four gates
    assert sums == pytest.approx([0, 2 * cells, 0, 0], abs=1e-4)


@pytest.mark.parametrize("hidden_size", [None, 4])
def test_without_an_encoder_values_are_word_vectors_and_the_final_state_is_their_mean(hidden_size, vectors, mask):
    encoder = NoEncoder(NoEncoderConfig(hidden_size=hidden_size), 6)
    encoded = encoder(vectors, mask)
    expected = vectors if hidden_size is None else torch.einsum("bse,he->bsh", vectors, encoder.project.weight)
    torch.testing.assert_close(encoded.values[mask], expected[mask])
    for row, length in enumerate(mask.sum(1).tolist()):
        torch.testing.assert_close(encoded.final_state[row], expected[row, :length].mean(0))


# Weights between states that are dropped in training, in every encoder and decoder that has the option.
DROPPING = [
    *(("encoder", name) for name, kind in ENCODERS.items() if "recurrent_dropout" in kind.Config.model_fields),
    ("decoder", "luong"),
    ("decoder", "gnmt"),
]


@pytest.mark.parametrize(("group", "name"), DROPPING)
def test_it_is_a_function_of_the_seed_in_training_alone(group: str, name: str) -> None:
    source = torch.randint(4, 11, (3, 9), generator=torch.Generator().manual_seed(4))
    ones = torch.ones(3, 9, dtype=torch.bool)

    def model(p: float) -> Seq2Seq:
        parts = {"encoder": {"name": "gru"}, "decoder": {"name": "luong"}} | {group: {"name": name}}
        parts[group] |= {"recurrent_dropout": p, "dropout": 0.0}
        torch.manual_seed(2)
        return small(11, 11, **parts)

    def loss(model: Seq2Seq, seed: int) -> Tensor:
        torch.manual_seed(seed)
        return model(Batch(source, ones, source, source.roll(1, 1), ones)).sum

    dropping = model(0.4)
    assert loss(dropping, 1) == loss(dropping, 1) != loss(dropping, 2)
    dropping.eval()
    assert loss(dropping, 1) == loss(dropping, 2)
    torch.testing.assert_close(loss(dropping, 1), loss(model(0.0), 1))
