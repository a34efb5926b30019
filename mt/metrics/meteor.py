"""METEOR of captions, as the evaluation of COCO computes it: by the authors' own program in Java, which `pycocoevalcap`
comes with. The one door to both."""

import re
import shutil
import subprocess
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from mt.common.about import install
from mt.errors import UserError
from mt.metrics.advice import share_in_tokens
from mt.metrics.base import DEFAULT, References, Settings
from mt.metrics.captions import CaptionMetric, tokenize

ALPHA = 0.85
BETA = 0.2
GAMMA = 0.6
DELTA = 0.75
"""The parameters for English (Denkowski & Lavie 2014, table 4): the weight of precision against recall, the shape and
the weight of the penalty for fragments, and the weight of content words against function words."""
WEIGHTS = np.array([1.0, 0.6, 0.8, 0.6])
"""The weights of matches of equal words, stems, synonyms and paraphrases."""
FIELDS = 23
"""How many numbers the program writes for a sentence. The score of a corpus is computed of their sums."""
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
                f"`{install('captions')}`, or leave meteor out of the metrics"
            )

    def _objection(self, texts: Sequence[str]) -> str | None:
        if share_in_tokens(texts, _LATIN.findall) < 0.5:
            return "METEOR is for English, and most letters of the references are not Latin: choose chrf or bleu"
        return super()._objection(texts)

    def signature_fields(self) -> str:
        return f"{super().signature_fields()}|meteor:1.5|lang:en|norm:yes"

    def counts(self, hypotheses: Sequence[str], references: References) -> dict[str, np.ndarray]:
        """Returns [N, 23]: lengths, function words, matches of four kinds, chunks, all matches."""
        groups = [[*group, text] for text, group in zip(hypotheses, references, strict=True)]
        lines = [" ||| ".join(("SCORE", *(" ".join(tokenize(text)) for text in group))) for group in groups]
        rows = _run(lines)
        if len(rows) != len(lines) or any(len(row) != FIELDS for row in rows):
            raise UserError(
                f"METEOR's program answered {len(rows)} of {len(lines)} captions: see whether Java works here"
            )
        counts = np.array(rows)
        # A caption that is its reference, in one chunk, pays nothing for it, and its chunk does not count in a corpus.
        counts[:, 20] *= ~((counts[:, :2] == counts[:, 21:]).all(1) & (counts[:, 20] == 1))
        return {self.name: counts}

    def score_of_sums(self, sums: np.ndarray) -> np.ndarray:
        """Computes a weighted mean of precision and recall, less a penalty for fragments (Denkowski & Lavie 2014,
        section 2)."""
        length, reference_length, function, reference_function = np.moveaxis(sums[..., :4], -1, 0)
        matches = (WEIGHTS[:, None] * sums[..., 4:20].reshape(*sums.shape[:-1], 4, 4)).sum(-2)
        chunks, matched, reference_matched = np.moveaxis(sums[..., 20:], -1, 0)
        with np.errstate(divide="ignore", invalid="ignore"):  # where nothing matches, for which there is 0
            precision = _weighted(matches[..., 0], matches[..., 2]) / _weighted(length - function, function)
            recall = _weighted(matches[..., 1], matches[..., 3]) / _weighted(
                reference_length - reference_function, reference_function
            )
            mean = precision * recall / (ALPHA * precision + (1 - ALPHA) * recall)
            fragments = 2 * chunks / (matched + reference_matched)
            return 100 * np.nan_to_num(mean * (1 - GAMMA * fragments**BETA))


def _weighted(content: np.ndarray, function: np.ndarray) -> np.ndarray:
    """Adds up counts of content words and of function words."""
    return DELTA * content + (1 - DELTA) * function


def _run(lines: Sequence[str]) -> list[list[float]]:
    """Runs the program, and returns the numbers that it writes for each line. Raises UserError where it fails."""
    command, folder = _command()
    done = subprocess.run(command, cwd=folder, input="\n".join(lines) + "\n", capture_output=True, encoding="utf-8")
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["it says nothing"])[-1]
        raise UserError(f"METEOR's program failed ({last}): see whether `java -version` works and 2 GB are free")
    return [[float(number) for number in line.split()] for line in done.stdout.splitlines()]


def _command() -> tuple[list[str], Path]:
    """Returns the command that runs the program, and the folder to run it in."""
    import pycocoevalcap.meteor

    arguments = ["-Xmx2G", "-jar", "meteor-1.5.jar", "-", "-", "-stdio", "-l", "en", "-norm"]
    return ["java", *arguments], Path(pycocoevalcap.meteor.__path__[0])
