"""What training minimises: the module that computes the loss of a batch."""

from collections.abc import Callable
from functools import partial

from torch import nn

from mt.config import Config
from mt.data.tokenizer import Tokenizer
from mt.models.seq2seq import Seq2Seq
from mt.training.minimum_risk import MinimumRisk
from mt.training.r_drop import RDrop
from mt.training.update import BatchLoss


def objective_of(config: Config, target: Tokenizer) -> Callable[[Seq2Seq, Config], nn.Module]:
    """Returns what makes the loss of a batch; see `mt.training.loop.updates`. target: writes the texts that cost."""
    if config.training.objective == "minimum_risk":
        return partial(MinimumRisk, target=target)
    return RDrop if config.training.r_drop else BatchLoss
