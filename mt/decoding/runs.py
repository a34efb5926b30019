"""Trained runs as a translator."""

from collections.abc import Sequence
from pathlib import Path

from mt.checkpoint import load_model
from mt.decoding.translator import Translator
from mt.device import choose
from mt.errors import UserError
from mt.models.ensemble import Ensemble
from mt.models.seq2seq import Seq2Seq
from mt.search.config import Precision


def load_runs(runs: Sequence[Path], checkpoint: str, device: str, precision: Precision | None) -> Translator:
    """The translator of a run folder (or of one of its checkpoints' folders); of several the ensemble, with the
    configuration of the first.

    checkpoint: best, last, or average where the run made one. precision: see `Translator`. Raises UserError where a
    folder is damaged or no run, and where runs have different vocabularies or kinds of sources.
    """
    if not runs:
        raise UserError("there is no run to load: give the folder that training printed, or several")
    models, (tokenizers, *others), (config, *configs) = zip(*(load_model(one, checkpoint) for one in runs), strict=True)
    for path, side, other in zip(runs[1:], others, configs, strict=True):
        if [one.model for one in side] != [one.model for one in tokenizers]:
            raise UserError(
                f"{path} has another vocabulary than {runs[0]}, and an ensemble averages the probabilities of the same "
                "pieces: give runs that were trained on one prepared corpus, or from one another (init_from)"
            )
        if other.dataset.field != config.dataset.field:
            raise UserError(f"{path} reads other sources than {runs[0]}: give runs with the same dataset.field")
    model: Seq2Seq | Ensemble = models[0] if len(runs) == 1 else Ensemble(models)
    return Translator(model.to(choose(device)), tokenizers, config, precision=precision)
