"""Attention drawn on what its source is: over a picture word by word, and with a sound below."""

import numpy as np
import pytest
from matplotlib.patches import Rectangle

from data_prep.generated import morse, scenes
from mt.common.backdrop import Picture, Sound
from mt.data.fields import AudioConfig, AudioField, ImageConfig, ImageField
from mt.plots import heatmap, over_picture

COLOURS = np.zeros((60, 90, 3), np.uint8)
COLOURS[..., 0] = 200
PICTURE = Picture(COLOURS, (2, 3))
SOUND = Sound(np.random.default_rng(0).normal(size=(200, 40)), 2.0, [0.5, 1.25])


def shown(axes) -> np.ndarray:
    """[height, width, 3], 0 to 1."""
    return np.asarray(axes.images[0].get_array())


def coloured(pixels: np.ndarray) -> np.ndarray:
    """Where red is more than grey."""
    return pixels[..., 0] - pixels[..., 1] > 0.4


def test_the_picture_comes_first_and_then_a_panel_for_each_word():
    figure = over_picture(np.full((2, 6), 1 / 6), ["▁a", "▁"], PICTURE, title="a $ title")
    assert [axes.get_title() for axes in figure.axes] == ["", "a", "▁"]
    assert coloured(shown(figure.axes[0])).all()
    assert [text.get_text() for text in figure.texts] == ["a $ title"]
    height, width = shown(figure.axes[0]).shape[:2]
    assert (height, width) == (120, 180)
    box = figure.axes[1].get_window_extent()
    assert box.width / box.height == pytest.approx(1.5, rel=0.02)


@pytest.mark.parametrize("place", range(6))
def test_light_falls_on_the_place_that_is_attended_to(place: int):
    figure = over_picture(np.eye(6)[[place]], ["word"], PICTURE)
    lit = coloured(shown(figure.axes[1]))
    down, across = np.nonzero(lit)
    row, column = divmod(place, 3)
    assert lit[60 * row + 30, 60 * column + 30]
    assert 60 * row - 20 <= down.min() and down.max() < 60 * row + 80
    assert 60 * column - 20 <= across.min() and across.max() < 60 * column + 80
    assert abs(down.mean() - (60 * row + 30)) < 25 and abs(across.mean() - (60 * column + 30)) < 25


def test_even_attention_lights_nothing_more_than_anything_else():
    places = Picture(COLOURS, (6, 9))
    even = shown(over_picture(np.full((1, 54), 1 / 54), ["word"], places).axes[1])
    assert np.ptp(even, axis=(0, 1)).max() < 1e-9 and not coloured(even).all()
    faint = np.full((1, 54), 1 / 54) * 1e-3  # of an attention that is lost
    np.testing.assert_allclose(shown(over_picture(faint, ["word"], places).axes[1]), even)
    nothing = shown(over_picture(np.zeros((1, 54)), ["word"], places).axes[1])
    assert not coloured(nothing).any() and np.isfinite(nothing).all()


def test_the_place_that_was_chosen_is_boxed():
    figure = over_picture(np.eye(6)[[4, 0, 1]], ["a", "b", "c"], PICTURE, stops=[4, -1, 1])
    boxes = [[patch for patch in axes.patches if isinstance(patch, Rectangle)] for axes in figure.axes]
    assert [len(result) for result in boxes] == [0, 1, 0, 1]
    assert boxes[1][0].get_bbox().bounds == (1, 1, 1, 1) and boxes[3][0].get_bbox().bounds == (1, 0, 1, 1)


def test_of_very_many_words_the_first_are_drawn():
    figure = over_picture(np.full((70, 6), 1 / 6), [f"w{i}" for i in range(70)], PICTURE, title="long")
    assert len(figure.axes) == 61
    assert figure.texts[0].get_text() == "long (the first 60 of 70 tokens)"


@pytest.mark.parametrize(
    ("weights", "stops"), [(np.ones((2, 5)), None), (np.ones((0, 6)), None), (np.ones((2, 6)), [6, 0])]
)
def test_what_does_not_fit_is_refused(weights: np.ndarray, stops: list[int] | None):
    with pytest.raises(ValueError, match="must be"):
        over_picture(weights, ["a", "b"][: len(weights)], PICTURE, stops=stops)


def test_under_a_sound_are_its_spectrogram_and_seconds():
    labels = [f"{0.04 * i:.2f}" for i in range(50)]
    figure = heatmap(np.full((3, 50), 0.02), labels, ["a", "b", "c"], backdrop=SOUND, stops=[3, 9, 49])
    figure.draw_without_rendering()
    [axes] = [axes for axes in figure.axes if axes.images]
    below = axes.child_axes[-1]
    assert [text.get_text() for text in axes.get_xticklabels()] == []
    assert [text.get_text() for text in below.get_xticklabels()][:3] == ["0", "0.1", "0.2"]
    assert below.get_xlabel() == "seconds"
    np.testing.assert_allclose(below.get_xticks()[[0, -1]], [-0.5, 49.5])
    assert np.array_equal(below.images[0].get_array(), SOUND.energies.T)
    assert below.get_xlim() == axes.get_xlim() == (-0.5, 49.5)
    edges = below.get_window_extent()
    above = axes.get_window_extent()
    assert (edges.x0, edges.x1) == pytest.approx((above.x0, above.x1)) and edges.y1 < above.y0
    assert axes.get_legend().get_window_extent().y1 < edges.y0
    for part in (axes, below):
        assert [line.get_xdata()[0] for line in part.lines] == pytest.approx([12, 30.75])
    assert axes.images[0].get_clim() == (0, 0.05)


def test_a_sound_tells_its_seconds():
    example = morse.generate(1, {"test": 1})["test"][0]
    field = AudioField(AudioConfig(rate=morse.RATE))
    [row] = field.encode([morse.render(example.source)], None)
    result = field.backdrop(row, 10, None)
    assert result.seconds == pytest.approx(len(row) / 100)
    assert abs(len(result.energies) - len(row)) <= 1 and np.isfinite(result.energies).all()


def test_a_picture_is_drawn_on_where_its_places_are_a_square():
    field = ImageField(ImageConfig(size=scenes.SIDE))
    pixels = scenes.render(str(scenes.generate(1, {"test": 1})["test"][0].source))
    result = field.backdrop(pixels, 64, None)
    assert result is not None and result.grid == (8, 8) and np.array_equal(result.pixels, pixels)
    assert field.backdrop(pixels, 60, None) is None and field.backdrop(pixels, 0, None) is None
    described = field.describe(pixels, 64, None, "word", None)
    assert described.backdrop is not None and described.backdrop().grid == (8, 8)
