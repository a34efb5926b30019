"""The embedded data set of speech recognition: Morse code as sound, and what was sent.

A sound is written down as a text, from which `render` makes it: what is sent, and how. Hands are as on the air: they
send 12 to 35 words a minute, speed and pitch drift, and strength fades. Noise is 0 to 20 dB below the tone in train,
10 to 20 dB in dev and test. More than half of train is of one character or two. No text of one split occurs in another.
"""

from collections.abc import Mapping
from random import Random

from data_prep.generated.morse.sending import Sending
from data_prep.generated.morse.sound import RATE, render
from data_prep.generated.morse.texts import draw_short, draw_text
from mt.data.corpus import Example

__all__ = ["RATE", "SHORT", "SIZES", "Example", "generate", "render"]

SIZES: Mapping[str, int] = {"train": 14_000, "dev": 300, "test": 600}
SHORT = 0.6
"""The share of train that is of one character or two: from those one learns the code soon."""
DECIBELS = {"train": (0.0, 20.0), "dev": (10.0, 20.0), "test": (10.0, 20.0)}


def generate(seed: int = 1, sizes: Mapping[str, int] = SIZES) -> dict[str, list[Example]]:
    """Returns the splits named in `sizes`, each with that many examples: a pure function of its arguments.

    A source is for `render`: `CQ DE W1AW; 23.1 wpm; 612 Hz; 12.4 dB; fading 0.31; seed 8213`. Its links are the
    milliseconds in which each letter lasts: `211-722 890-1254 ...`.
    """
    rng = Random(seed)
    splits: dict[str, list[Example]] = {split: [] for split in sizes}
    sent: set[str] = set()
    for split, size in sizes.items():
        while len(splits[split]) < size:
            short = split == "train" and rng.random() < SHORT
            text = draw_short(rng) if short else draw_text(rng)
            if short or text not in sent:
                sent.add(text)
                sending = _draw(text, DECIBELS[split], rng)
                splits[split].append(Example(str(sending), text, sending.keyed().times))
    return splits


def _draw(text: str, decibels: tuple[float, float], rng: Random) -> Sending:
    return Sending(
        text,
        wpm=round(rng.uniform(12, 35), 1),
        hertz=rng.randint(400, 900),
        decibels=round(rng.uniform(*decibels), 1),
        fading=round(rng.uniform(0, 0.6), 2),
        seed=rng.randrange(1 << 32),
    )
