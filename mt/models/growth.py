"""The tensors of a model for vocabularies to which pieces were added; what it predicted before stays as it is."""

import math
from collections.abc import Mapping

import torch
from torch import Tensor

UNK = 1
SHARE = 1e-8
"""Probability that all new pieces of a vocabulary have together at first, as a share of that of the unknown piece."""
_SOURCE = ("frontend.table.weight",)
_TARGET = ("decoder.embedding.table.weight", "decoder.output.weight", "decoder.output.bias")
_CTC = ("ctc.weight", "ctc.bias")
_BIASES = ("decoder.output.bias", "ctc.bias")

Sizes = tuple[int, int, int | None]
"""The sizes of the vocabularies of source, target and transcripts."""


def grown(state: Mapping[str, Tensor], before: Sizes, after: Sizes) -> dict[str, Tensor]:
    """Returns the state of a `Seq2Seq` with vocabularies of other sizes, whose new pieces have the ids after the old
    ones.

    A new piece starts as what the model took it for: it has the vectors of the unknown piece, in the source as in the
    output. Its bias is lower, so that whatever the readout is, all new pieces have `SHARE` of the unknown piece's
    probability: the old ones' changes by a factor of at least 1 - `SHARE`.
    """
    sizes = dict.fromkeys(_SOURCE, (before[0], after[0])) | dict.fromkeys(_TARGET, (before[1], after[1]))
    # Of CTC that writes transcripts, whose vocabulary never grows.
    sizes |= dict.fromkeys(_CTC, (before[1], after[1]) if before[2] is None else (before[2], before[2]))
    return {
        name: _longer(tensor, *sizes[name], lowered=name in _BIASES) if name in sizes else tensor
        for name, tensor in state.items()
    }


def _longer(tensor: Tensor, before: int, after: int, *, lowered: bool) -> Tensor:
    """Returns a tensor with more rows of the vocabulary; what comes after them, as the blank of CTC, stays last."""
    count = after - before
    if not count:
        return tensor
    new = tensor[UNK].expand(count, *tensor.shape[1:])
    new = new - math.log(count / SHARE) if lowered else new
    return torch.cat((tensor[:before], new, tensor[before:]))
