"""METEOR of captions, as the evaluation of COCO computes it: by the authors' own program in Java, which `pycocoevalcap`
comes with. The one door to both."""

import re
import shutil
import subprocess
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from mt.errors import UserError
from mt.metrics.advice import share_seen
from mt.metrics.base import References
from mt.metrics.captions import CaptionMetric, tokenize
from mt.metrics.settings import DEFAULT, Settings

ALPHA = 0.85
BETA = 0.2
GAMMA = 0.6
DELTA = 0.75
"""The parameters for English: precision beside recall, the penalty for fragments (its shape and its weight), words of
content beside function words (Denkowski & Lavie 2014, table 4)."""
WEIGHTS = np.array([1.0, 0.6, 0.8, 0.6])
"""Of equal words, stems, synonyms, paraphrases."""
FIELDS = 23
"""Numbers of a sentence that the program tells, from which the score of a corpus is computed by their sums."""
_LATIN = re.compile("[A-Za-z0-9\u00c0-\u024f]+")


class Meteor(CaptionMetric):
    """METEOR 1.5 for English (Denkowski & Lavie 2014), of the best reference, as COCO's evaluation takes it."""

    name = "meteor"
    heading = "METEOR"
    library = "pycocoevalcap"

    def __init__(self, settings: Settings = DEFAULT) -> None:
        """Raises UserError where Java or the package is missing."""
        super().__init__(settings)
        if find_spec("pycocoevalcap") is None or shutil.which("java") is None:
            raise UserError(
                "meteor is computed by a program in Java that pycocoevalcap comes with: install Java and "
                "`pip install 'mt[captions]'`, or leave meteor out of the metrics"
            )

    def _objection(self, texts: Sequence[str]) -> str | None:
        if share_seen(texts, _LATIN.findall) < 0.5:
            return "METEOR is for English, and most letters of the references are not Latin: choose chrf or bleu"
        return super()._objection(texts)

    def signature_fields(self) -> str:
        return f"{super().signature_fields()}|meteor:1.5|lang:en|norm:yes"

    def counts(self, hypotheses: Sequence[str], references: References) -> dict[str, np.ndarray]:
        """[N, 23]: lengths, function words, matches of four kinds, chunks, all matches."""
        groups = [[*wanted, text] for text, wanted in zip(hypotheses, references, strict=True)]
        lines = [" ||| ".join(("SCORE", *(" ".join(tokenize(text)) for text in group))) for group in groups]
        told = _asked(lines)
        if len(told) != len(lines) or any(len(row) != FIELDS for row in told):
            raise UserError(
                f"METEOR's program answered {len(told)} of {len(lines)} captions: see whether Java works here"
            )
        counts = np.array(told)
        # A caption that is its reference, in one chunk, pays nothing for it, and its chunk does not count in a corpus.
        counts[:, 20] *= ~((counts[:, :2] == counts[:, 21:]).all(1) & (counts[:, 20] == 1))
        return {self.name: counts}

    def of_sums(self, sums: np.ndarray) -> np.ndarray:
        """Denkowski & Lavie 2014, section 2: a weighted mean of precision and recall, less a penalty for fragments."""
        length, wanted, function, wanted_function = np.moveaxis(sums[..., :4], -1, 0)
        matches = (WEIGHTS[:, None] * sums[..., 4:20].reshape(*sums.shape[:-1], 4, 4)).sum(-2)
        chunks, matched, wanted_matched = np.moveaxis(sums[..., 20:], -1, 0)
        with np.errstate(divide="ignore", invalid="ignore"):  # where nothing matches, for which there is 0
            precision = _mixed(matches[..., 0], matches[..., 2]) / _mixed(length - function, function)
            recall = _mixed(matches[..., 1], matches[..., 3]) / _mixed(wanted - wanted_function, wanted_function)
            mean = precision * recall / (ALPHA * precision + (1 - ALPHA) * recall)
            fragments = 2 * chunks / (matched + wanted_matched)
            return 100 * np.nan_to_num(mean * (1 - GAMMA * fragments**BETA))


def _mixed(content: np.ndarray, function: np.ndarray) -> np.ndarray:
    return DELTA * content + (1 - DELTA) * function


def _asked(lines: Sequence[str]) -> list[list[float]]:
    """What the program says to lines, each a list of numbers. Raises UserError where it fails."""
    command, folder = _command()
    done = subprocess.run(command, cwd=folder, input="\n".join(lines) + "\n", capture_output=True, encoding="utf-8")
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["it says nothing"])[-1]
        raise UserError(f"METEOR's program failed ({last}): see whether `java -version` works and 2 GB are free")
    return [[float(number) for number in line.split()] for line in done.stdout.splitlines()]


def _command() -> tuple[list[str], Path]:
    """What runs it, and where."""
    import pycocoevalcap.meteor

    arguments = ["-Xmx2G", "-jar", "meteor-1.5.jar", "-", "-", "-stdio", "-l", "en", "-norm"]
    return ["java", *arguments], Path(pycocoevalcap.meteor.__path__[0])
