import pytest
import torch

from mt.data.fields import ImageConfig, ImageField
from mt.models.frontends.image import ImageGrid, ImageGridConfig


@pytest.mark.parametrize("local", [False, True])
@pytest.mark.parametrize(("size", "stages", "side"), [(16, 1, 8), (64, 3, 8), (48, 5, 2), (112, 4, 7)])
def test_a_picture_becomes_a_grid(size: int, stages: int, side: int, local: bool):
    frontend = ImageGrid(ImageGridConfig(stages=stages, channels=20, local=local))
    pixels = torch.zeros(2, size, size, 3, dtype=torch.uint8)
    vectors, mask = frontend(pixels, torch.ones(2, size, dtype=torch.bool))
    assert vectors.shape == (2, side * side, 20) and mask.shape == (2, side * side) and mask.all()
    length = ImageField(ImageConfig(size=size)).length(pixels[0].numpy())
    assert frontend.output_lengths(torch.tensor([length])).tolist() == [side * side]


def test_a_picture_alone_gives_what_it_gives_in_any_batch():
    frontend = ImageGrid(ImageGridConfig(channels=16)).eval()
    pixels = torch.randint(0, 256, (3, 32, 32, 3), generator=torch.Generator().manual_seed(0)).byte()
    mask = torch.ones(3, 32, dtype=torch.bool)
    together, _ = frontend(pixels, mask)
    for row in range(3):
        torch.testing.assert_close(frontend(pixels[row : row + 1], mask[:1])[0][0], together[row], atol=1e-5, rtol=1e-4)


def test_places_run_row_by_row_from_the_upper_left():
    frontend = ImageGrid(ImageGridConfig(stages=2, channels=16, dropout=0.0))
    pixels = torch.zeros(1, 32, 32, 3, dtype=torch.uint8)
    changed = pixels.clone()
    changed[:, 30:, :2] = 255  # lower left
    mask = torch.ones(1, 32, dtype=torch.bool)
    with torch.no_grad():
        difference = (frontend(changed, mask)[0] - frontend(pixels, mask)[0]).square().sum(-1)
    row, column = divmod(int(difference.argmax()), 8)
    assert row == 7 and column <= 1


@pytest.mark.parametrize("coordinates", [False, True])
def test_vectors_tell_where_they_are_if_they_are_told(coordinates: bool):
    frontend = ImageGrid(ImageGridConfig(stages=2, channels=16, dropout=0.0, coordinates=coordinates))
    with torch.no_grad():
        result, _ = frontend(torch.zeros(1, 64, 64, 3, dtype=torch.uint8), torch.ones(1, 64, dtype=torch.bool))
    grid = result.unflatten(1, (16, 16))[0, 4:12, 4:12]  # away from the padding
    for other in (grid.roll(1, 0), grid.roll(1, 1)):
        assert torch.allclose(grid, other, atol=1e-5) != coordinates


def test_local_convolutions_look_as_far_on_all_sides():
    frontend = ImageGrid(ImageGridConfig(stages=3, channels=64, local=True, dropout=0.0))
    planes = torch.randn(1, 3, 64, 64, generator=torch.Generator().manual_seed(1)).requires_grad_()
    frontend.stages(planes)[0, :, 4, 3].sum().backward()
    looked = planes.grad[0].abs().sum(0)
    rows, columns = (looked.sum(axis).nonzero()[:, 0] for axis in (1, 0))
    assert (rows.min(), rows.max(), columns.min(), columns.max()) == (36 - 11, 36 + 10, 28 - 11, 28 + 10)
