"""Translators of trained models in torch: of a model that is there, of a run folder, or of several as an ensemble."""

from collections.abc import Sequence
from pathlib import Path

from mt.checkpoint import load_meta, load_model, locate
from mt.config import Config
from mt.data.fields import build_field
from mt.data.tokenizer import Tokenizers
from mt.decoding.modes import DecodableModel
from mt.decoding.torch_network import TorchNetwork
from mt.decoding.translator import Translator
from mt.device import choose
from mt.distributed import ALONE, ProcessGroup
from mt.errors import UserError
from mt.models.ensemble import Ensemble
from mt.models.seq2seq import Seq2Seq
from mt.search.config import Precision


def torch_translator(
    model: DecodableModel,
    tokenizers: Tokenizers,
    config: Config,
    processes: ProcessGroup = ALONE,
    *,
    precision: Precision | None = None,
) -> Translator:
    """Returns the translator of a model in torch.

    processes: see `TorchNetwork`. precision: of products; by default that of the run. On a CPU fp32 takes the place of
    fp16, which is several times as slow there. Raises UserError for int8 on another device than a CPU.
    """
    # Half precision is for GPUs.
    usual: Precision = config.precision
    if usual == "fp16" and next(model.parameters()).device.type == "cpu":
        usual = "fp32"
    network = TorchNetwork(
        model,
        build_field(config.dataset.field),
        vocab_size=len(tokenizers.target),
        precision=precision or usual,
        processes=processes,
        online_precision=precision,
    )
    return Translator(network, tokenizers, config)


def load_runs(runs: Sequence[Path], checkpoint: str, device: str, precision: Precision | None) -> Translator:
    """Returns the translator of a run folder (or of one of its checkpoints' folders). Several runs give the translator
    of their ensemble, with the configuration of the first.

    checkpoint: best, last, average or ema where the run made one. precision: see `torch_translator`. Raises UserError
    where a folder is damaged or no run, and where runs have different vocabularies or kinds of sources.
    """
    if not runs:
        raise UserError("there is no run to load: give the folder that training printed, or several")
    loaded = [load_model(folder, checkpoint) for folder in runs]
    models, (tokenizers, *others), (config, *configs) = zip(*loaded, strict=True)
    # An ensemble averages next tokens: these must be the same pieces, after the same sources.
    for path, side, other in zip(runs[1:], others, configs, strict=True):
        if [tokenizer.model for tokenizer in side] != [tokenizer.model for tokenizer in tokenizers]:
            raise UserError(
                f"{path} has another vocabulary than {runs[0]}, and an ensemble averages the probabilities of the same "
                "pieces. Give runs that were trained on one prepared corpus, or from one another (init_from)"
            )
        if other.dataset.field != config.dataset.field:
            raise UserError(f"{path} reads other sources than {runs[0]}: give runs with the same dataset.field")
    model: Seq2Seq | Ensemble = models[0] if len(runs) == 1 else Ensemble(models)
    translator = torch_translator(model.to(choose(device)).eval(), tokenizers, config, precision=precision)
    # A table of confidences is found by the folder of the run, and fits its weights alone.
    if len(runs) == 1:
        translator.folder = runs[0]
        translator.trained = load_meta(locate(runs[0], checkpoint)).trained
    return translator
