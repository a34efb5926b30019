import struct
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import torch

from mt.data.fields import AudioConfig, ImageConfig, ImageField, SourceError, build_field
from tests.refusals.sentences import require_refusal

Image = pytest.importorskip("PIL.Image", reason="needs the extra `images`")
ImageFile = pytest.importorskip("PIL.ImageFile")

RED = (255, 0, 0)
BLUE = (0, 0, 255)


@pytest.fixture
def field() -> ImageField:
    return ImageField(ImageConfig(size=16))


def encoded(field: ImageField, source) -> np.ndarray:
    [row] = field.encode([source], None)
    assert row.shape == (16, 16, 3) and row.dtype == np.uint8
    return row


def close(row: np.ndarray, colour: tuple[int, int, int], tolerance: int = 4) -> bool:
    return bool((abs(row.astype(int) - colour) <= tolerance).all())


@pytest.mark.parametrize("size", [(16, 16), (64, 32), (1, 50), (50, 1), (1, 1)])
def test_any_size_is_stretched_to_the_square(field: ImageField, tmp_path: Path, size: tuple[int, int]) -> None:
    Image.new("RGB", size, RED).save(tmp_path / "red.png")
    assert close(encoded(field, tmp_path / "red.png"), RED)


def test_every_kind_of_colour_becomes_red_green_and_blue(field: ImageField, tmp_path: Path) -> None:
    clear = Image.new("RGBA", (20, 20), (255, 0, 0, 0))
    clear.paste((0, 0, 255, 255), (0, 0, 20, 10))
    clear.save(tmp_path / "clear.png")
    row = encoded(field, tmp_path / "clear.png")
    assert close(row[:6], BLUE) and close(row[10:], (255, 255, 255)), "what is transparent stands on white"
    Image.new("CMYK", (20, 20), (0, 255, 255, 0)).save(tmp_path / "print.jpg")
    assert close(encoded(field, tmp_path / "print.jpg"), RED, 12)
    Image.new("L", (20, 20), 128).save(tmp_path / "grey.png")
    assert close(encoded(field, tmp_path / "grey.png"), (128, 128, 128))
    Image.new("RGB", (20, 20), RED).convert("P").save(tmp_path / "palette.gif")
    assert close(encoded(field, tmp_path / "palette.gif"), RED)


def test_of_an_animated_picture_the_first_frame_is_taken(field: ImageField, tmp_path: Path) -> None:
    frames = [Image.new("RGB", (20, 20), colour) for colour in (RED, BLUE)]
    frames[0].save(tmp_path / "moving.gif", save_all=True, append_images=frames[1:])
    assert close(encoded(field, tmp_path / "moving.gif"), RED)


def bmp_of(side: int) -> bytes:
    """Returns the header of a picture that has no pixels."""
    return struct.pack("<2sI4xIIiiHHI24x", b"BM", 54, 54, 40, side, side, 1, 24, 0)[:54]


@pytest.mark.parametrize(
    ("name", "saved"),
    [
        ("one.png", lambda path: Image.new("1", (13_000, 13_000)).save(path, compress_level=1)),
        ("one.tif", lambda path: Image.new("1", (7_000, 7_000)).save(path, compression="group4")),
        ("one.gif", lambda path: Image.new("P", (7_000, 7_000)).save(path)),
        ("one.webp", lambda path: Image.new("RGB", (9_000, 4_100)).save(path, lossless=True, method=0)),
        ("slow.jpg", lambda path: Image.new("L", (7_000, 7_000)).save(path, progressive=True)),
        ("one.ppm", lambda path: path.write_bytes(b"P6 7000 7000 255\n")),
        ("one.bmp", lambda path: path.write_bytes(bmp_of(7_000))),
        ("bomb.bmp", lambda path: path.write_bytes(bmp_of(60_000))),
    ],
)
def test_what_would_take_the_memory_is_not_decoded(field, tmp_path, name, saved, monkeypatch):
    saved(tmp_path / name)
    monkeypatch.setattr(ImageFile.ImageFile, "load", lambda *_: pytest.fail("it is decoded"))
    most = "more than the 36 million that are read: make it smaller|too many pixels"
    for source in (tmp_path / name, (tmp_path / name).read_bytes()):
        with pytest.raises(SourceError, match=most):
            field.encode([source], None)


def test_a_large_jpeg_is_read_at_a_fraction(field: ImageField, tmp_path: Path) -> None:
    Image.new("L", (11_000, 9_100), 255).save(tmp_path / "large.jpg")
    assert close(encoded(field, tmp_path / "large.jpg"), (255, 255, 255))


def test_numbers_of_12_bits_are_not_near_black(field: ImageField, tmp_path: Path) -> None:
    for level, grey in ((65_535, 255), (32_768, 128), (4_095, 255), (2_048, 128), (255, 255), (0, 0)):
        for name in ("deep.png", "deep.tif"):
            Image.fromarray(np.full((20, 20), level, np.uint16)).save(tmp_path / name)
            assert close(encoded(field, tmp_path / name), (grey, grey, grey))


def test_bad_files_are_one_sentence(field: ImageField, tmp_path: Path) -> None:
    noise = np.random.default_rng(0).integers(0, 255, (64, 64, 3), np.uint8)
    for name in ("whole.png", "whole.jpg"):
        Image.fromarray(noise).save(tmp_path / name)
        (tmp_path / f"cut-{name}").write_bytes((tmp_path / name).read_bytes()[:1500])
    (tmp_path / "text.png").write_text("no picture at all")
    (tmp_path / "empty.png").touch()
    for name in ("cut-whole.png", "cut-whole.jpg", "text.png", "empty.png"):
        with pytest.raises(SourceError, match=f"{name} is no picture, or broken "):
            field.encode([tmp_path / name], None)
    with pytest.raises(SourceError, match=r"missing.png cannot be read \(No such file or directory\)"):
        field.encode([tmp_path / "missing.png"], None)
    with pytest.raises(SourceError, match=r"a picture of shape \[4, 4\] and type float64 has another form"):
        field.encode([np.zeros((4, 4))], None)


def test_a_picture_is_turned_as_its_camera_says(field: ImageField, tmp_path: Path) -> None:
    picture = Image.new("RGB", (40, 20), BLUE)
    exif = Image.Exif()
    picture.paste(RED, (0, 0, 20, 20))  # the left
    exif[0x0112] = 6  # to be turned a quarter to the right
    picture.save(tmp_path / "turned.jpg", exif=exif, quality=100, subsampling=0)
    row = encoded(field, tmp_path / "turned.jpg")
    assert close(row[:6], RED, 12) and close(row[10:], BLUE, 12)
    picture.save(tmp_path / "upright.jpg", quality=100, subsampling=0)
    row = encoded(field, tmp_path / "upright.jpg")
    assert close(row[:, :6], RED, 12) and close(row[:, 10:], BLUE, 12)


@pytest.mark.parametrize("ending", ["jpg", "png", "gif", "tif", "webp", "bmp"])
def test_whatever_is_broken_is_read_or_one_sentence(field: ImageField, tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"picture.{ending}"
    draw = np.random.default_rng(1)
    Image.fromarray(draw.integers(0, 255, (24, 24, 3), np.uint8)).save(path)
    whole = np.frombuffer(path.read_bytes(), np.uint8)
    outcomes = set()
    for _ in range(40):
        broken = whole[: draw.integers(len(whole) // 4, len(whole) + 1)].copy()
        broken[draw.integers(0, len(broken), 4)] = draw.integers(0, 256, 4)
        path.write_bytes(broken.tobytes())
        try:
            encoded(field, path)
            outcomes.add("read")
        except SourceError as error:
            assert str(path) in str(error) and "\n" not in str(error)
            outcomes.add("refused")
    assert "refused" in outcomes


def test_places_count_by_patches_and_are_named_by_row_and_column(field: ImageField) -> None:
    rows = [np.full((16, 16, 3), value, np.uint8) for value in (1, 2)]
    column = pa.chunked_array([field.array([rows[0], None, rows[1]])])
    assert field.lengths(column).tolist() == [1, 1, 1] and field.length(rows[0]) == 1
    pixels, mask = field.collate(rows)
    assert (pixels.shape, pixels.dtype) == ((2, 16, 16, 3), torch.uint8) and mask.shape == (2, 16) and mask.all()
    assert field.labels(rows[0], 4, None) == ["0,0", "0,1", "1,0", "1,1"]
    assert not field.blank(rows[0])


def test_a_size_without_whole_patches_is_refused() -> None:
    require_refusal(lambda: ImageConfig(size=100), r"dataset.field.size=100 is no multiple of 16: choose 112")


@pytest.mark.parametrize(
    ("modules", "config", "sentence"),
    [
        (["PIL", "PIL.Image"], ImageConfig(), r"^pictures are read by Pillow, which is not installed: .*\[images\]'$"),
        (["soundfile"], AudioConfig(), r"^sound is read by soundfile, which is not installed: .*\[speech\]'$"),
    ],
)
def test_without_the_library_one_sentence_names_the_extra(modules, config, sentence, monkeypatch) -> None:
    for name in modules:
        monkeypatch.setitem(sys.modules, name, None)
    require_refusal(lambda: build_field(config).encode(["any"], None), sentence)


def test_floating_point_grey_is_between_black_and_white(field: ImageField, tmp_path: Path) -> None:
    for level, grey in ((0, 0), (0.5, 128), (1, 255)):
        Image.fromarray(np.full((4, 4), level, np.float32)).save(tmp_path / "grey.tif")
        assert close(encoded(field, tmp_path / "grey.tif"), (grey, grey, grey))


@pytest.mark.parametrize(
    ("pixels", "sentence"),
    [
        (np.array([[0, 200]], np.float32), r"has floating-point grey from 0 to 200, and between 0 \(black\) and 1"),
        (np.array([[0, np.nan]], np.float32), "has floating-point grey from nan to nan"),
        (np.array([[0, -1]], np.float32), "has floating-point grey from -1 to 0"),
        (np.array([[0, 300]], np.int32), "has grey of 32 bits, from 0 to 300, and nothing says which number is white"),
        (np.array([[-5, 2**30]], np.int32), "has grey of 32 bits, from -5 to 1,073,741,824"),
    ],
)
def test_grey_without_a_known_white_is_refused(field, tmp_path, pixels, sentence):
    Image.fromarray(pixels).save(tmp_path / "grey.tif")
    with pytest.raises(SourceError, match=rf"grey\.tif {sentence}.*"):
        field.encode([tmp_path / "grey.tif"], None)


def test_pixels_of_other_types_are_refused(field: ImageField) -> None:
    for kind in (np.float32, np.int64, np.uint16, bool):
        with pytest.raises(SourceError, match="has another form than"):
            field.encode([np.ones((4, 4, 3), kind)], None)
    assert close(encoded(field, torch.full((4, 4, 3), 9, dtype=torch.uint8)), (9, 9, 9))
    with pytest.raises(SourceError, match="a source given as object is neither"):
        field.encode([object()], None)
