"""Word vectors as they are."""

import torch

from mt.models.encoders.none import NoEncoder, NoEncoderConfig


def test_values_are_the_word_vectors_and_the_final_state_is_their_mean(vectors, mask):
    encoded = NoEncoder(NoEncoderConfig(), 6)(vectors, mask)
    assert torch.equal(encoded.values[mask], vectors[mask])
    assert encoded.keys is encoded.values
    for row, length in enumerate(mask.sum(1).tolist()):
        torch.testing.assert_close(encoded.final_state[row], vectors[row, :length].mean(0))


def test_with_a_size_of_their_own_each_goes_through_one_matrix(vectors, mask):
    encoder = NoEncoder(NoEncoderConfig(hidden_size=4), 6)
    encoded = encoder(vectors, mask)
    expected = torch.einsum("bse,he->bsh", vectors, encoder.project.weight)
    torch.testing.assert_close(encoded.values[mask], expected[mask])
    torch.testing.assert_close(encoded.final_state[0], expected[0].mean(0))
