"""The embedded data set of captions: drawn pictures of one to three shapes, and what there is to see in them.

A picture is written down as a text, from which `render` draws it: its objects with size, colour, shape and box.
Captions name every object, with its size or without, and say where it is, or where it is beside another one. The last
reference is a full description, by which `mt.metrics.truth` judges any caption.
"""

from collections.abc import Mapping
from random import Random

from data_prep.generated.scenes.captions import described, written
from data_prep.generated.scenes.drawing import SIDE, render
from data_prep.generated.scenes.scene import Scene, draw_scene
from mt.data.corpus import Example

__all__ = ["SIDE", "SIZES", "Example", "generate", "render"]

SIZES: Mapping[str, int] = {"train": 12_000, "dev": 500, "test": 1_000}
REFERENCES = 4
"""Captions of a picture besides the first, if so many different ones are written; the full description is the last."""


def generate(seed: int = 1, sizes: Mapping[str, int] = SIZES) -> dict[str, list[Example]]:
    """Returns the splits named in `sizes`, each with that many examples: a pure function of its arguments.

    A source is for `render`: `large red circle 20,6,46,32; small blue star 75,40,87,52`.
    """
    rng = Random(seed)
    scenes: dict[str, Scene] = {}  # by text: none occurs twice
    while len(scenes) < sum(sizes.values()):
        scene = draw_scene(rng)
        scenes.setdefault(str(scene), scene)
    examples = iter([_example(scene, rng) for scene in scenes.values()])
    return {split: [next(examples) for _ in range(size)] for split, size in sizes.items()}


def _example(scene: Scene, rng: Random) -> Example:
    captions = list(dict.fromkeys(written(scene, rng) for _ in range(2 * REFERENCES)))[:REFERENCES]
    full = described(scene)
    more = [caption for caption in captions[1:] if caption != full]
    return Example(str(scene), captions[0], "", (*more, full))
