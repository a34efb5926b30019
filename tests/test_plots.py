from itertools import pairwise

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import PatchCollection

from mt.common.palette import colour
from mt.errors import UserError
from mt.plots import heatmap, png, save, style
from mt.plots.curves import learning_curves
from tests.marks import exhaustive


def pixels(figure):
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    return np.asarray(canvas.buffer_rgba())


def labels(figure):
    axes = figure.axes[0]
    return [text.get_text() for text in axes.get_xticklabels()], [text.get_text() for text in axes.get_yticklabels()]


def outlines(figure):
    return [result for result in figure.axes[0].collections if isinstance(result, PatchCollection)]


def boxes(figure):
    """(left, right, row) in source positions, both included, of each outline; one list per kind of outline."""
    corners = [[path.get_extents() for path in collection.get_paths()] for collection in outlines(figure)]
    return [[(box.x0 + 0.5, box.x1 - 0.5, box.y0 + 0.5) for box in group] for group in corners]


def uniform(steps, length):
    return np.full((steps, length), 1 / length)


def test_source_runs_along_the_top_and_target_downwards():
    weights = [[0.0, 1.0, 0.0], [0.25, 0.5, 0.25]]
    figure = heatmap(weights, ["▁Die", "▁Straße", "</s>"], ["▁the", "▁street"])
    assert labels(figure) == (["▁Die", "▁Straße", "</s>"], ["▁the", "▁street"])
    axes = figure.axes[0]
    assert axes.images[0].get_array().tolist() == weights
    assert axes.images[0].get_clim() == (0, 1)
    assert axes.xaxis.get_ticks_position() == "top"
    image = pixels(figure)
    height = image.shape[0]

    def darkness(row, column):
        x, y = axes.transData.transform((column, row))
        return 255 * 3 - int(image[height - 1 - int(y), int(x), :3].astype(int).sum())

    assert darkness(0, 1) > darkness(1, 1) > darkness(1, 0) > darkness(0, 0)


@pytest.mark.parametrize(
    "text", ["彼女は毎朝コーヒーを飲みます。", "▁Übergrößenträger ß é", "Ελληνικά Язык עברית ابجد"]
)
def test_scripts_are_drawn_and_not_replaced(text):
    # Warnings are errors here, that of a missing glyph among them.
    figure = heatmap([[1.0]], [text], [text], title=text)
    assert labels(figure) == ([text], [text])
    assert figure.axes[0].get_title(loc="left") == text
    pixels(figure)


@pytest.fixture
def bare(monkeypatch):
    """A system without any font but the bundled ones."""
    monkeypatch.setattr(style, "_installed", lambda: ())
    monkeypatch.setattr(style, "_warned", set())
    style.family_of.cache_clear()
    yield
    style.family_of.cache_clear()


@pytest.mark.parametrize(
    ("text", "missing"),
    [
        ("한국어", "some Hangul characters"),
        ("ไทย", "some Thai characters"),
        ("🙂🚲", "some of the symbols"),
        ("\n", ""),
    ],
)
def test_a_script_without_a_font_is_said_once(bare, capsys, text, missing):
    for _ in range(2):
        assert labels(heatmap([[1.0]], [text], ["a"])) == (["□" * len(text)], ["a"])
    remedy = "so that heatmaps show □ in their place: install one, for example of the Noto family"
    assert capsys.readouterr() == ("", f"warning: no installed font has {missing}, {remedy}\n" if missing else "")


def test_installed_fonts_are_used_for_what_the_bundled_ones_lack(capsys):
    """matplotlib brings a font of mathematics, which stands for any that is installed."""
    ours = set().union(*map(style._charmap, style._bundled()))
    letters = [chr(code) for code in sorted(style._charmap("STIXGeneral") - ours) if chr(code).isalpha()]
    text = "".join(letters[:5])
    assert text and style.family_of(text[0]) not in {None, *style._bundled()}
    figure = heatmap([[1.0]], [text], [f"a{text}"], title=text)
    assert labels(figure) == ([text], [f"a{text}"])
    pixels(figure)  # Warnings are errors here, that of a missing glyph among them.
    assert capsys.readouterr() == ("", "")


def test_combining_marks_stay_with_their_letter(bare):
    # Composed where there is such a character, kept where the font has the mark, left out where it has not.
    figure = heatmap([[1.0]], ["e\u0301 q\u0323 a\u1ab0"], ["q\u0323" * 25])
    assert labels(figure) == (["é q\u0323 a"], ["q\u0323" * 23 + "…"])
    pixels(figure)
    assert labels(heatmap([[1.0]], ["ไ\u0e49ไ\u0e49"], ["a"]))[0] == ["□□"]


@pytest.mark.parametrize("token", ["$x^2$", "$\\frac{1$", "\\$5 $", "{}%_&"])
def test_tokens_are_literal(token):
    figure = heatmap([[1.0]], [token], [token], title=token)
    pixels(figure)  # a broken formula would raise if it were parsed
    assert labels(figure) == ([token], [token])
    axes = figure.axes[0]
    assert not any(text.get_parse_math() for text in [*axes.get_xticklabels(), *axes.get_yticklabels()])


LONG = ["a long summary of what was said " * 200, "要約" * 3000, "x" * 9000, ""]


def test_stops_and_windows():
    source = list("abcde")
    target = list("vwxyz")
    stops = np.array([0, 2, 2, -1, 4])  # the fourth selected nothing
    (stop_boxes,) = boxes(heatmap(uniform(5, 5), source, target, stops=stops))
    assert stop_boxes == [(0, 0, 0), (2, 2, 1), (2, 2, 2), (4, 4, 4)]
    figure = heatmap(uniform(5, 5), source, target, stops=stops, chunk_size=3)
    assert boxes(figure) == [stop_boxes, [(0, 0, 0), (0, 2, 1), (0, 2, 2), (2, 4, 4)]]
    assert [text.get_text() for text in figure.axes[0].get_legend().get_texts()] == ["stop", "chunk of 3"]
    assert boxes(heatmap(uniform(5, 5), source, target)) == []
    pixels(heatmap(uniform(1, 2), ["a", "b"], ["c"], stops=[-1], chunk_size=2))  # nothing to mark at all


def test_reads_and_writes_are_a_staircase_over_what_was_not_read():
    figure = heatmap(uniform(4, 5), list("abcde"), list("wxyz"), delays=np.array([2, 2, 3, 5]))
    (line,) = figure.axes[0].lines
    axes = figure.axes[0]
    corners = [(0, 0), (2, 0), (2, 1), (2, 1), (2, 2), (3, 2), (3, 3), (5, 3), (5, 4)]
    assert [(x + 0.5, y + 0.5) for x, y in line.get_xydata()] == corners
    image = pixels(figure)

    def seen(row, column):
        x, y = axes.transData.transform((column + 0.3, row + 0.3))
        return tuple(image[image.shape[0] - 1 - int(y), int(x), :3])

    grey = {seen(row, column) for row, read in enumerate([2, 2, 3, 5]) for column in range(read, 5)}
    others = {seen(row, column) for row, read in enumerate([2, 2, 3, 5]) for column in range(read)}
    assert len(grey) == 1 and grey.isdisjoint(others)
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["reads and writes", "not read yet"]
    assert (axes.get_xlim(), axes.get_ylim()) == ((-0.5, 4.5), (3.5, -0.5))
    assert not heatmap(uniform(4, 5), list("abcde"), list("wxyz")).axes[0].lines
    marked = heatmap(uniform(1, 1), ["a"], ["b"], stops=[0], delays=[1])
    legend = marked.axes[0].get_legend()
    (stop,) = outlines(marked)
    assert [text.get_text() for text in legend.get_texts()] == ["stop", "reads and writes", "not read yet"]
    assert marked.axes[0].lines[0].zorder > stop.zorder  # whole where a stop lies at it


@pytest.mark.parametrize(
    ("steps", "length", "title"),
    [
        *((steps, length, "longer than one cell") for steps, length in ((1, 1), (2, 30), (60, 60))),
        *((3, 4, title) for title in LONG),
        *exhaustive(*((100, 400, title) for title in LONG)),
    ],
)
def test_everything_lies_on_the_page_and_labels_have_room(steps, length, title):
    names = [f"▁wort{n}" for n in range(length)], [f"▁word{n}" for n in range(steps)]
    marks = {"stops": [0] * steps, "chunk_size": 2, "delays": [length] * steps}
    figure = heatmap(uniform(steps, length), *names, **marks, title=title)
    image = pixels(figure)
    assert max(image.shape) < 2200
    edges = (image[0], image[-1], image[:, 0], image[:, -1])
    assert all((edge == 255).all() for edge in edges)
    shown = figure.axes[0].get_yticklabels()
    assert len(shown) == steps
    boxes_down = [label.get_window_extent() for label in shown]
    assert all(above.y0 > below.y1 for above, below in pairwise(boxes_down))
    columns = labels(figure)[0]
    every = 1 if length <= 100 else 4
    assert columns == names[0][::every]


@pytest.mark.parametrize(
    ("weights", "marks", "sentence"),
    [
        (uniform(2, 3), {}, r"^weights \(2, 3\) must be \[T, S\] = \(2, 2\), both at least 1$"),
        (np.zeros((0, 2)), {}, "both at least 1$"),
        *((uniform(2, 2), {"stops": stops}, r"^stops must be 2 .* within -1\.\.1") for stops in ([0], [0, 2], [0, -2])),
        (uniform(2, 2), {"stops": [0, 1], "chunk_size": 0}, "a chunk size at least 1$"),
        (uniform(2, 2), {"chunk_size": 2}, "^a chunk needs the stop that it ends at$"),
        *(
            (uniform(2, 2), {"delays": delays}, r"^delays must be 2 numbers that rise within 0\.\.2$")
            for delays in ([1], [1, 3], [-1, 1], [2, 1])
        ),
        (uniform(2, 2), {"gold": {(0, 2)}}, "within 2 source and 2 target tokens"),
    ],
)
def test_inputs_that_do_not_fit(weights, marks, sentence):
    with pytest.raises(ValueError, match=sentence):
        heatmap(weights, ["a", "b"], ["c", "d"], **marks)


@pytest.mark.parametrize(
    "curve",
    [{5: 0.0}, {0: 7.5}, {1: 1e8, 2: -1e8}, {1: 5e-324, 2: 0.0}, {1: 1.0, 2: 1.0 + 1e-15}, {1: 3.0, 2**53: 3.1}],
)
def test_points_of_any_values_stand_away_from_the_edges(curve) -> None:
    figure = learning_curves("loss on dev", [curve, {}])
    assert png(figure).startswith(b"\x89PNG")
    [axes] = figure.axes
    for point in axes.transLimits.transform([*curve.items()]):
        assert all(0.04 < share < 0.96 for share in point)


def test_a_learning_curve_goes_through_its_values_and_a_run_without_one_keeps_its_colour() -> None:
    [axes] = learning_curves("loss on dev", [{}, {200: 3.0, 100: 5.0}]).axes
    empty, line = axes.get_lines()
    assert [*empty.get_xdata()] == [] and [*zip(*line.get_data(), strict=True)] == [(100, 5.0), (200, 3.0)]
    assert line.get_color() == colour(1) and line.get_marker() != empty.get_marker()


# Files of pictures, and links that are known to be right.


@pytest.mark.parametrize(
    ("ending", "start"), [("png", b"\x89PNG"), ("pdf", b"%PDF"), ("svg", b"<?xml"), ("SVG", b"<?xml")]
)
def test_the_ending_says_what_is_written_and_the_same_picture_is_the_same_file(ending, start, tmp_path):
    paths = [tmp_path / f"{name}.{ending}" for name in ("one", "other")]
    for path in paths:
        save(heatmap(uniform(2, 2), ["日本", "b"], ["c", "d"], stops=[0, 1]), path)
    first, second = (path.read_bytes() for path in paths)
    assert first.startswith(start) and first == second


def test_words_are_text_in_files_of_lines(tmp_path):
    for ending in ("svg", "pdf"):
        save(heatmap(uniform(1, 2), ["größer", "鳥"], ["birds"]), tmp_path / f"one.{ending}")
    for word in ("größer", "鳥", "birds"):
        assert f">{word}</text>" in (tmp_path / "one.svg").read_text(encoding="utf-8")
    written = (tmp_path / "one.pdf").read_bytes()
    assert b"/ToUnicode" in written and b"/Type3" not in written


def test_another_ending_is_refused(tmp_path):
    with pytest.raises(UserError, match=r"one\.jpg ends in \.jpg, and pictures are written as \.png, \.pdf or \.svg"):
        save(heatmap(uniform(1, 1), ["a"], ["b"]), tmp_path / "one.jpg")
    assert not list(tmp_path.iterdir())


def test_gold_links_are_outlined_and_hits_misses_and_false_links_told_apart():
    figure = heatmap(uniform(3, 2), ["a", "b"], ["c", "d", "e"], gold={(1, 0), (0, 2)}, found={(1, 0), (0, 1), (1, 1)})
    axes = figure.axes[0]
    boxes = [path.get_extents() for path in axes.collections[0].get_paths()]
    assert {(round(box.x0 + 0.42), round(box.y0 + 0.42)) for box in boxes} == {(1, 0), (0, 2)}
    marks = {line.get_marker(): {tuple(map(int, point)) for point in line.get_xydata()} for line in axes.get_lines()}
    assert marks == {"o": {(1, 0)}, "X": {(0, 2)}, "^": {(0, 1), (1, 1)}}
    assert len({line.get_markerfacecolor() for line in axes.get_lines()}) == 3
    names = [text.get_text() for text in axes.get_legend().get_texts()]
    assert names == ["gold link", "hit", "miss", "false link"]
    assert heatmap(uniform(3, 2), ["a", "b"], ["c", "d", "e"], found={(1, 0)}).axes[0].get_legend() is None
