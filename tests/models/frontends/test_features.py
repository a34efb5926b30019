import pytest
import torch

from mt.models.frontends.features import FeatureGrid, FeatureGridConfig


@pytest.fixture
def batches() -> list[tuple[torch.Tensor, torch.Tensor]]:
    generator = torch.Generator().manual_seed(0)
    spread = torch.rand(112, generator=generator) + 0.5
    features = [(torch.randn(3, 196, 112, generator=generator) * spread + 2).half() for _ in range(2)]
    return [(batch, torch.ones(3, 196, dtype=torch.bool)) for batch in features]


@pytest.mark.parametrize("channels", [None, 24])
def test_features_are_normalised_over_the_training_set_and_projected(channels, batches):
    frontend = FeatureGrid(FeatureGridConfig(channels=channels)).eval()
    frontend.fit(iter(batches))
    everything = torch.cat([batch for batch, _ in batches]).double().flatten(0, 1)
    vectors, mask = frontend(*batches[0])
    assert mask is batches[0][1] and vectors.shape == (3, 196, channels or 112) == (*mask.shape, frontend.output_size)
    expected = (batches[0][0].double() - everything.mean(0)) / everything.std(0, correction=0)
    if channels:
        expected = expected @ frontend.project.weight.double().T + frontend.project.bias
    torch.testing.assert_close(vectors, expected.float(), atol=1e-4, rtol=1e-4)
    assert frontend.output_lengths(torch.tensor([196])).tolist() == [196] and not frontend.ordered
    assert {"mean", "std"} <= frontend.state_dict().keys(), "what was fitted is part of the weights"
