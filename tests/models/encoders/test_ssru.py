"""What SSRU's encoders are given says where it stands."""

import pytest
import torch

from mt.models.encoders.ssru import SSRU, BiSSRU
from mt.models.ssru import Positions


@pytest.mark.parametrize("kind", [SSRU, BiSSRU])
def test_positions_are_added_to_the_vectors(kind: type[SSRU], vectors, mask, shake) -> None:
    size = vectors.shape[2]
    encoder, plain = (
        shake(kind(kind.Config(hidden_size=size, positions=positions), size)) for positions in ("sinusoidal", "none")
    )
    plain.load_state_dict(encoder.state_dict())
    encoded = encoder(vectors, mask)
    assert torch.equal(plain(Positions("sinusoidal", size)(vectors), mask).values, encoded.values)
    assert not torch.equal(plain(vectors, mask).values, encoded.values)


def test_what_it_goes_on_from_does_not_grow(vectors, mask, shake) -> None:
    encoder = shake(SSRU(SSRU.Config(hidden_size=4), 6))
    state = None
    for step in range(vectors.shape[1]):
        _, state = encoder.extend(vectors[:, step : step + 1], mask[:, step : step + 1], state, mask[:, step])
        assert [tuple(part.shape) for part in state] == [(5,), (5, 4), (5, 4)]
    assert torch.equal(state[0], mask.sum(1))
