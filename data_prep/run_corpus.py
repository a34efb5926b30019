"""The corpus of a run that is there already."""

from pathlib import Path
from typing import Protocol

from data_prep.prepare import prepare
from mt.data.corpus import Corpus
from mt.data.dataset import DatasetConfig
from mt.data.tokenizer import Tokenizers
from mt.errors import UserError


class Trained(Protocol):
    """What of a run's configuration says what its corpus is."""

    @property
    def dataset(self) -> DatasetConfig: ...

    @property
    def init_from(self) -> str | None: ...


def corpus_of_run(config: Trained, root: Path, tokenizers: Tokenizers, run: str, otherwise: str = "") -> Corpus:
    """Opens the corpus that a run was trained on; prepared again where it is missing.

    root: where corpora are. tokenizers: the run's. run, otherwise: its name, and what else can be done, for the
    sentence of the UserError where the corpus has changed.
    """
    inherited = None if config.init_from is None else tokenizers
    corpus = Corpus.open(prepare(config.dataset, root, tokenizers=inherited))
    if corpus.tokenizers.digest() != tokenizers.digest():
        raise UserError(
            f"the corpus of {run} would now be prepared with another vocabulary, so its training text has changed: "
            f"restore it{otherwise}"
        )
    return corpus
