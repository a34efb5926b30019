"""What SSRU's encoder goes on from."""

from mt.models.encoders.ssru import SSRU


def test_what_it_goes_on_from_does_not_grow(vectors, mask, shake) -> None:
    encoder = shake(SSRU(SSRU.Config(hidden_size=4), 6))
    state = None
    for step in range(vectors.shape[1]):
        _, state = encoder.extend(vectors[:, step : step + 1], mask[:, step : step + 1], state, mask[:, step])
        assert [tuple(part.shape) for part in state] == [(5, 4), (5, 4)]
