"""Pictures of scenes, by numpy alone."""

import zlib

import numpy as np

from data_prep.generated.scenes.scene import Scene, Thing

SIDE = 64
"""Pixels of the side of a picture."""
_SAMPLES = 4
"""Points on a side of each pixel whose mean is its colour, which smooths edges."""
_COLOURS = {
    "red": (215, 40, 40),
    "green": (40, 160, 60),
    "blue": (45, 80, 215),
    "yellow": (235, 205, 30),
    "purple": (150, 50, 180),
    "black": (25, 25, 25),
}
_TILT = 0.25
"""The most radians by which an object is turned."""
_NOISE = 6.0
"""Standard deviation of the noise, in 255ths."""


def render(source: str, side: int = SIDE) -> np.ndarray:
    """Draws a scene, [side, side, 3] uint8: a pure function of its arguments. source: `str` of the scene.

    The background is light, colours differ a little from picture to picture, and there is some noise.
    """
    rng = np.random.default_rng(zlib.crc32(source.encode()))
    picture = np.full((side, side, 3), rng.uniform(205, 250)) + rng.uniform(-8, 8, 3)
    for thing in Scene.of(source).things:
        colour = np.array(_COLOURS[thing.colour]) + rng.uniform(-15, 15, 3)
        window = tuple(slice(low * side // 100, -(-high * side // 100)) for low, high in _spans(thing))
        cover = _cover(thing, side, window, rng.uniform(-_TILT, _TILT))[..., None]
        picture[window] = picture[window] * (1 - cover) + colour * cover
    return np.clip(np.rint(picture + rng.normal(0, _NOISE, picture.shape)), 0, 255).astype(np.uint8)


def _spans(thing: Thing) -> tuple[tuple[int, int], tuple[int, int]]:
    """Returns where its box begins and ends, from top to bottom and from left to right."""
    return (thing.top, thing.bottom), (thing.left, thing.right)


def _cover(thing: Thing, side: int, window: tuple[slice, ...], angle: float) -> np.ndarray:
    """Returns the share of each pixel of the window that the object, which lies within its box, covers."""
    # Points of the picture, where the box is from -1 to 1.
    y, x = (
        ((np.arange(pixels.start * _SAMPLES, pixels.stop * _SAMPLES) + 0.5) / (side * _SAMPLES) * 200 - low - high)
        / (high - low)
        for pixels, (low, high) in zip(window, _spans(thing), strict=True)
    )
    x, y = np.meshgrid(x, y)
    inside = _inside(thing.shape, x * np.cos(angle) + y * np.sin(angle), y * np.cos(angle) - x * np.sin(angle))
    return inside.reshape(len(y) // _SAMPLES, _SAMPLES, -1, _SAMPLES).mean((1, 3))


def _inside(shape: str, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Returns whether points are in the shape, which lies in the unit circle; y grows downwards."""
    radius = np.hypot(x, y)
    angle = np.arctan2(x, -y)
    if shape == "circle":
        return radius <= 1
    if shape == "square":
        return np.maximum(np.abs(x), np.abs(y)) <= 0.8
    if shape == "cross":
        return (np.minimum(np.abs(x), np.abs(y)) <= 0.3) & (np.maximum(np.abs(x), np.abs(y)) <= 0.95)
    if shape == "triangle":
        return _in_polygon(radius, angle, 3, np.cos(np.pi / 3))
    return _in_polygon(radius, angle, 5, 0.4)


def _in_polygon(radius: np.ndarray, angle: np.ndarray, points: int, inner: float) -> np.ndarray:
    """Returns whether points are in a star with corners at radius 1, the first at angle 0, and as many at radius
    `inner` between them."""
    half = np.pi / points
    off = np.abs((angle + half) % (2 * half) - half)  # from the nearest corner
    # The edge from the corner (1, 0) to `inner` at the angle `half`, in polar coordinates.
    edge = inner * np.sin(half) / (inner * np.sin(half - off) + np.sin(off))
    return radius <= edge
