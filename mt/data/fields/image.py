"""Pictures: squares of pixels of one size.

First come grids of positions over a picture, then the field. It reads files by Pillow; `_bytes` converts grey of more
than 8 bits.
"""

from __future__ import annotations

import io
import math
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import numpy as np
import pyarrow as pa
from pydantic import Field as Option, field_validator

from mt.common.about import required
from mt.common.backdrop import Picture
from mt.common.options import Options
from mt.data.arrow import numbers
from mt.data.fields.base import ArrayField, Raw, Row, SourceError
from mt.data.tokenizer import Tokenizer
from mt.errors import UserError, message_of

if TYPE_CHECKING:
    from PIL.Image import Image

PATCH = 16
"""The side, in pixels, of a square that counts as one position in the size of a batch, as in VGG's grid of 14 x 14."""
_WHITE = 255
_BITS_PER_SAMPLE = 258  # a tag of TIFF
_MOST_PIXELS = 36_000_000
"""The most pixels that are decoded, for which some 0.9 GiB of memory are enough. A JPEG is read at a fraction of its
size, and only the pixels of the fraction count, unless it is progressive."""
_BITS = (8, 12, 16)
"""The bits of grey that a file of 16 bits may use. Cameras with 12 bits leave the upper ones empty."""
_FORMATS = ("JPEG", "PNG", "GIF", "BMP", "TIFF", "WEBP", "PPM")


class ImageConfig(Options):
    name: Literal["image"] = "image"
    size: Annotated[int, "pixels"] = Option(128, ge=PATCH, le=1_024)
    """Pixels of the side of the square that every picture is stretched to; a multiple of 16."""

    @field_validator("size")
    @classmethod
    def _has_whole_patches(cls, size: int) -> int:
        if size % PATCH:
            raise UserError(
                f"dataset.field.size={size} is no multiple of {PATCH}: choose {size // PATCH * PATCH + PATCH}"
            )
        return size


def grid_labels(positions: int) -> list[str]:
    """Names each place of a square grid by its row and column, from 0."""
    side = max(math.isqrt(positions), 1)
    return [f"{place // side},{place % side}" for place in range(positions)]


class ImageField(ArrayField):
    """A row is [size, size, 3] uint8: red, green, blue; a batch is [B, size, size, 3] uint8, its mask [B, size] true.

    A source is a file, or pixels [height, width] or [height, width, 3 or 4] uint8. Of an animated picture the first
    frame is taken. Transparent pixels stand on white, and other colours (CMYK, palettes, grey) become red, green and
    blue.
    """

    Config: ClassVar[type[Options]] = ImageConfig
    endings = (".jpg", ".jpeg", ".jfif", ".png", ".gif", ".bmp", ".tif", ".tiff", ".webp", ".ppm")

    def __init__(self, config: ImageConfig) -> None:
        super().__init__(np.uint8, (config.size, 3), config.size)
        self._size_of_side = config.size
        self._positions = (config.size // PATCH) ** 2

    def lengths(self, column: pa.ChunkedArray) -> np.ndarray:
        # Every picture is stretched to the same square.
        return np.full(len(column), self._positions)

    def length(self, row: Row) -> int:
        return self._positions

    def require_sizes(self, counts: pa.ChunkedArray) -> None:
        if (numbers(counts.drop_null()) != self._size_of_side**2 * 3).any():
            raise ValueError(f"source_ids has a row that is no picture of {self._size_of_side} pixels a side")

    def labels(self, row: Row, positions: int, tokenizer: Tokenizer) -> list[str]:
        return grid_labels(positions)

    def backdrop(self, row: Row, positions: int, source: Raw | None) -> Picture | None:
        # A square grid lies over the picture, where the number of positions is a square.
        side = math.isqrt(positions)
        return Picture(np.asarray(row), (side, side)) if positions and side * side == positions else None

    def _row(self, source: Raw) -> np.ndarray:
        # Pixels of the right size are a row already.
        side = self._size_of_side
        if isinstance(source, np.ndarray) and (source.shape, source.dtype) == ((side, side, 3), np.uint8):
            return source
        with required("pictures are read by Pillow", "images"):
            import PIL.Image
        # Other arrays are pictures to be scaled.
        if isinstance(source, np.ndarray):
            if source.dtype != np.uint8 or source.ndim not in (2, 3) or source.shape[2:] not in ((), (3,), (4,)):
                raise SourceError(
                    f"a picture of shape {list(source.shape)} and type {source.dtype} has another form than [height, "
                    "width, 3] of uint8"
                )
            if 0 in source.shape:
                raise SourceError("the picture has no pixels", "without pixels")
            return self._square(PIL.Image.fromarray(source))
        # All others are files.
        path = "the picture" if isinstance(source, bytes) else Path(source)
        file = io.BytesIO(source) if isinstance(source, bytes) else path
        try:
            # Pillow warns of damaged metadata, and from 89 million pixels on. It refuses twice as many.
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                with PIL.Image.open(file, formats=_FORMATS) as picture:
                    if not picture.info.get("progressive"):
                        picture.draft("RGB", (side, side))  # JPEG: a fraction of the pixels
                    _require_few_pixels(picture)
                    return self._square(picture)
        except PIL.Image.DecompressionBombError as error:
            raise SourceError(f"{path} has too many pixels ({error}): make it smaller") from error
        except SourceError as error:
            raise SourceError(f"{path} {error}") from error
        except FileNotFoundError as error:
            raise SourceError(f"{path} cannot be read ({error.strerror})") from error
        except Exception as error:  # a decoder may raise anything for a broken file
            reason = message_of(error).rstrip(".")
            raise SourceError(
                f"{path} is no picture, or broken ({reason}): expected {', '.join(_FORMATS[:-1])} or {_FORMATS[-1]}"
            ) from error

    def _square(self, picture: Image) -> np.ndarray:
        import PIL.Image
        import PIL.ImageOps

        # Turn it as the camera says, convert many bits to 8, put transparent pixels on white, and scale.
        PIL.ImageOps.exif_transpose(picture, in_place=True)  # in place, since otherwise every picture is copied
        if picture.mode.startswith(("I", "F")):
            picture = PIL.Image.fromarray(_bytes(picture))
        if picture.has_transparency_data:
            picture = picture.convert("RGBA")
            picture = PIL.Image.alpha_composite(PIL.Image.new("RGBA", picture.size, "white"), picture)
        side = self._size_of_side
        return np.asarray(picture.convert("RGB").resize((side, side), PIL.Image.Resampling.BICUBIC))


def _require_few_pixels(picture: Image) -> None:
    """Raises SourceError where decoding a picture would take too much memory."""
    width, height = picture.size
    if width * height > _MOST_PIXELS:
        raise SourceError(
            f"has {width:,} x {height:,} pixels, more than the {_MOST_PIXELS // 10**6} million that are read: make it "
            "smaller"
        )


def _bytes(picture: Image) -> np.ndarray:
    """Returns the grey of a picture of more bits, or of floating-point numbers, as [height, width] uint8; white where
    it is transparent. Raises SourceError where nothing says which number is white."""
    # White is 1 in floating-point numbers, else the largest number of the bits.
    levels = np.asarray(picture)
    if picture.mode == "F":
        if not (levels.min() >= 0 and levels.max() <= 1):
            raise SourceError(
                f"has floating-point grey from {levels.min():g} to {levels.max():g}, and between 0 (black) and 1 "
                "(white) is expected: write it as 8 or 16 bits"
            )
        grey = np.rint(levels * _WHITE)
    else:
        bits = int(getattr(picture, "tag_v2", {}).get(_BITS_PER_SAMPLE, (16,))[0])
        lowest = levels.min()
        highest = levels.max()
        if bits > 16 or lowest < 0 or highest >= 1 << bits:
            raise SourceError(
                f"has grey of {bits} bits, from {lowest:,} to {highest:,}, and nothing says which number is "
                "white: write 8 or 16 bits without a sign"
            )
        if bits == 16:
            # The fewest bits that the brightest pixel needs.
            bits = next(filled for filled in _BITS if highest < 1 << filled)
        grey = levels / (1 << (bits - 8))
    # What the file calls transparent is white.
    grey[levels == picture.info.get("transparency", -1)] = _WHITE
    return grey.astype(np.uint8)
