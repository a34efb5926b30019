"""A shortlist: the target pieces that a sentence may be made of, of the many that a model knows.

Those that each of its source pieces is often translated to, and the most frequent ones (Jean et al. 2015; Marian's
`--shortlist file first best`). It is learnt by `mt.evaluation.lexicon`.
"""

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple, Self

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from mt.errors import UserError
from mt.storage import refuse_link, replaced

SHORTLIST = "shortlist.safetensors"
"""Its name in the folder of a run."""
SPECIAL = 4
"""PAD, UNK, BOS and EOS are in every list, so that they keep their places in it."""


class Shortlist(NamedTuple):
    """For each source piece its target pieces, and those of every sentence."""

    lists: np.ndarray
    """[source pieces, n] int32; PAD, which is in every list, where there are fewer."""
    first: np.ndarray
    """[m] int32: the most frequent target pieces."""
    size: int
    """Of the target's vocabulary."""

    def of(self, sources: Iterable[np.ndarray]) -> np.ndarray:
        """The pieces that these sources may be translated with, together: rising ids, the special ones first.

        sources: ids.
        """
        chosen = np.zeros(self.size, bool)
        chosen[:SPECIAL] = True
        chosen[self.first] = True
        chosen[self.lists[np.unique(np.concatenate([*sources]))]] = True
        return np.flatnonzero(chosen)

    def save(self, path: Path, vocabulary: str) -> None:
        """vocabulary: tells whether ids are those of a run's tokenizers (`Tokenizers.digest`)."""
        about = {"vocabulary": vocabulary, "sha256": self._digest()}
        refuse_link(path)
        with replaced(path) as file:
            file.write(save({"lists": self.lists, "first": self.first}, about))

    @classmethod
    def load(cls, path: Path, vocabulary: str, sizes: tuple[int, int]) -> Self:
        """sizes: of the vocabularies of source and target. Raises UserError where there is none, it is damaged, or it
        is of other vocabularies."""
        learn = "learn it with scripts/shortlist.py"
        if not path.is_file():
            raise UserError(f"{path} is missing: {learn} and the folder of the run")
        try:
            with safe_open(path, framework="np") as file:
                about = file.metadata() or {}
                found = cls(file.get_tensor("lists"), file.get_tensor("first"), sizes[1])
        except (SafetensorError, OSError, TypeError) as error:
            raise UserError(f"{path} is no shortlist ({' '.join(str(error).split())}): {learn} again") from None
        if about.get("sha256") != found._digest():
            raise UserError(f"{path} is not what was learnt (its SHA-256 differs): {learn} again")
        if about.get("vocabulary") != vocabulary:
            raise UserError(f"{path} is of other vocabularies than this run's: {learn}, from this run")
        shapes = found.lists.ndim == 2 and found.first.ndim == 1 and len(found.lists) == sizes[0]
        if not shapes or not all(_ids(part, sizes[1]) for part in found[:2]):
            raise UserError(f"{path} has other pieces than the vocabularies that it names: {learn} again")
        return found

    def _digest(self) -> str:
        return hashlib.sha256(self.lists.tobytes() + self.first.tobytes()).hexdigest()


def _ids(part: np.ndarray, size: int) -> bool:
    return part.dtype == np.int32 and bool(((part >= 0) & (part < size)).all())
