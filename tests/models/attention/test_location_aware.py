import pytest
import torch

from mt.models.attention.location_aware import LocationAware, LocationAwareConfig
from mt.models.encoders import Encoded
from tests.ops import oracle

SIZE = 6


@pytest.mark.parametrize("reach", [0, 1, 4, 15])
def test_weights_are_those_of_the_paper(reach: int, batch, shake):
    config = LocationAwareConfig(attention_dim=5, filters=3, filter_reach=reach)
    attention = shake(LocationAware(config, SIZE, SIZE))
    memory = attention.init_memory(batch.encoded)
    actual = attention(batch.queries, memory).weights
    queries = batch.queries @ attention.project_query.weight.T
    keys = batch.values @ attention.project_value.weight.T + attention.project_value.bias
    expected = oracle.location_aware_attention(
        queries,
        keys,
        batch.mask,
        attention.locate.weight[:, 0],
        attention.project_location.weight,
        attention.direction,
    )
    torch.testing.assert_close(actual.double(), expected, atol=2e-6, rtol=1e-5)


def test_it_can_move_on_by_location_alone():
    """A filter that shifts the weights by one position walks through a source whose places are all alike."""
    attention = LocationAware(LocationAwareConfig(attention_dim=1, filters=1, filter_reach=1), 1, 1)
    with torch.no_grad():
        for parameter in attention.parameters():
            parameter.zero_()
        attention.locate.weight[0, 0] = torch.tensor([1.0, 0.0, 0.0])  # of the position before
        attention.project_location.weight.fill_(3.0)
        attention.direction.fill_(30.0)
    values = torch.zeros(1, 6, 1)
    mask = torch.ones(1, 6, dtype=torch.bool)
    memory = attention.init_memory(Encoded(values, values, mask, values[:, 0]))
    state = (torch.eye(6)[:1],)
    for position in range(1, 6):
        step = attention.step(torch.zeros(1, 1), memory, state)
        assert step.attended.weights.argmax() == position and step.attended.weights.max() > 0.99
        state = step.state
