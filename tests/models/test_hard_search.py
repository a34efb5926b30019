"""Hard attention in whole models: searches of long sources."""

from functools import partial
from types import SimpleNamespace

import pytest
import torch

from mt.models.attention import ATTENTIONS
from tests.models.small import small
from tests.search.searches import greedy

SIZES = {"hidden_size": 8, "readout_size": 8, "init_hidden": "zeros"}


@pytest.mark.parametrize("name", [name for name, kind in ATTENTIONS.items() if kind.monotonic])
def test_a_search_makes_nothing_as_long_as_the_source(name, largest, shake):
    """Of a source of 20,000 tokens; MILk's windows reach from its beginning to each stop."""
    parts = {"embedding": {"embedding_dim": 8}, "encoder": {"hidden_size": 8}, "decoder": SIZES}
    model = small(20, 12, attention={"name": name} | ({"chunk_size": 3} if name == "mocha" else {}), **parts)
    shake(model).requires_grad_(False)
    model.decoder.attention.energy.bias.fill_(-1.0)
    model.decoder.output.bias[3] -= 100.0
    length = 20_000
    source = torch.randint(4, 20, (1, length), generator=torch.Generator().manual_seed(3))
    memory = model.encode(source, torch.ones(1, length, dtype=torch.bool))
    verbs = SimpleNamespace(init_state=partial(model.init_state, hard=True), step=partial(model.step, hard=True))
    with largest(*memory.keys, memory.values, memory.mask) as made:
        (result,) = greedy(verbs, memory, 1, max_lengths=[40])
    assert len(result.tokens) == 40
    assert result.windows.stops.max() > 40 or name != "monotonic"
    assert 0 < made.elements < length
    assert len(result.windows.weights) <= 40 * (int(result.windows.stops.max()) + 1)
