"""When the key is down: the code, and a hand that is not quite even (ITU-R M.1677-1, part 1)."""

import re
from typing import NamedTuple, Self

import numpy as np

_TABLE = """
    A .-  B -...  C -.-.  D -..  E .  F ..-.  G --.  H ....  I ..  J .---  K -.-  L .-..  M --  N -.  O ---
    P .--.  Q --.-  R .-.  S ...  T -  U ..-  V ...-  W .--  X -..-  Y -.--  Z --..  1 .----  2 ..---  3 ...--
    4 ....-  5 .....  6 -....  7 --...  8 ---..  9 ----.  0 -----  / -..-.  ? ..--..  = -...-
""".split()  # noqa: SIM905 - a table
CODE = dict(zip(_TABLE[::2], _TABLE[1::2], strict=True))
_DOT = 1.2
"""Seconds, at one word a minute: the word PARIS takes 50 dots."""
_DRIFT = 0.12
"""Most that the speed differs from its mean, as a share, in waves of some seconds."""
_JITTER = 0.05
"""Standard deviation of the length of each mark and gap, as a share."""
_TEXT = re.compile(
    r"(?P<text>[^;]+); (?P<wpm>[\d.]+) wpm; (?P<hertz>\d+) Hz; (?P<decibels>-?[\d.]+) dB; fading (?P<fading>[\d.]+); "
    r"seed (?P<seed>\d+)"
)


class Keying(NamedTuple):
    """When the key is down, in seconds from the beginning of the sound."""

    marks: np.ndarray
    """[M, 2]: when each dot and dash begins and ends."""
    letters: list[tuple[float, float]]
    """When each character but the blanks begins and ends."""
    duration: float

    @property
    def times(self) -> str:
        """Writes the times of the letters in whole milliseconds; see `Example.links` of `mt.data.corpus`."""
        return " ".join(f"{round(1000 * begin)}-{round(1000 * end)}" for begin, end in self.letters)


class Sending(NamedTuple):
    """A text as it is sent and received."""

    text: str
    wpm: float
    """Words a minute."""
    hertz: int
    """The pitch of the tone."""
    decibels: float
    """How much louder the tone is than the noise up to 2 kHz."""
    fading: float
    """The share of the amplitude that comes and goes."""
    seed: int
    """The seed of everything else."""

    def __str__(self) -> str:
        return (
            f"{self.text}; {self.wpm} wpm; {self.hertz} Hz; {self.decibels} dB; fading {self.fading}; seed {self.seed}"
        )

    @classmethod
    def of(cls, text: str) -> Self:
        """Parses what `str` gives."""
        match = _TEXT.match(text)
        if match is None:
            raise ValueError(f"{text!r} is not what `str` gives of a sending")
        fields = match.groupdict()
        numbers = (float(fields["wpm"]), int(fields["hertz"]), float(fields["decibels"]), float(fields["fading"]))
        return cls(fields["text"], *numbers, int(fields["seed"]))

    def keyed(self) -> Keying:
        """Returns when the key is down. A dash is as long as three dots. Gaps between marks are one
        dot long, between letters three, between words seven."""
        rng = np.random.default_rng([self.seed, 0])
        period = rng.uniform(3, 8)
        phase = rng.uniform(0, 2 * np.pi)
        now = rng.uniform(0.1, 0.4)

        def lasting(dots: int) -> float:
            drift = 1 + _DRIFT * np.sin(2 * np.pi * now / period + phase)
            jitter = np.clip(1 + _JITTER * rng.standard_normal(), 0.8, 1.2)
            return float(dots * _DOT / self.wpm * drift * jitter)

        marks: list[tuple[float, float]] = []
        letters: list[tuple[float, float]] = []
        for word in self.text.split():
            for letter in word:
                begin = now
                for mark in CODE[letter]:
                    marks.append((now, now + lasting(3 if mark == "-" else 1)))
                    now = marks[-1][1]
                    now += lasting(1)
                letters.append((begin, marks[-1][1]))
                now += lasting(2)
            now += lasting(4)
        return Keying(np.array(marks), letters, now + rng.uniform(0, 0.3))
