"""The most probable next tokens of a model in torch, and their way to the host."""

import math
from functools import cache

import numpy as np
import torch
from torch import Tensor

from mt.search.constraints import Wanted
from mt.search.draws import non_finite_scores_error
from mt.search.hypothesis import NEVER_CHOSEN


def top_k(
    log_probs: Tensor, count: int, forbidden: tuple[np.ndarray, np.ndarray] | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Returns the log-probabilities of the `count` most probable next tokens of each row, [N, count] float32, and these
    tokens, [N, count] int64. The best comes first; there are fewer where the vocabulary has fewer.

    log_probs: [N, V] in float32, which are written to. PAD, BOS and what is `forbidden` (rows and tokens) are never
    chosen, but keep their share of the probability: log-probabilities are the model's own. Raises UserError where they
    are not finite.
    """
    if forbidden is not None:
        rows, tokens = (torch.from_numpy(column).to(log_probs.device) for column in forbidden)
        log_probs[rows, tokens] = -torch.inf
    best, tokens = best_tokens(log_probs, count)
    return _finite(best.numpy(), tokens.numpy()) if best.is_cpu else unpacked(packed(best, tokens).cpu().numpy())


def values_of(log_probs: Tensor, wanted: Wanted | None) -> np.ndarray | None:
    """Returns the log-probabilities of wanted tokens, on the host; None where none are wanted."""
    if wanted is None:
        return None
    rows, tokens = (torch.from_numpy(column).to(log_probs.device) for column in wanted)
    return log_probs[rows, tokens].cpu().numpy()


def best_tokens(log_probs: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Does what `top_k` does where nothing is forbidden, on the device, and without looking for faults."""
    log_probs.index_fill_(1, _never_chosen(log_probs.device), -torch.inf)
    return _maximum(log_probs) if count == 1 else log_probs.topk(min(count, log_probs.shape[1]))


def _maximum(values: Tensor) -> tuple[Tensor, Tensor]:
    if not values.is_cpu:
        return values.max(1, keepdim=True)
    # numpy's is vectorised where torch's is not: a third of its time for many rows, a tenth for one.
    columns = torch.from_numpy(values.numpy().argmax(1))[:, None]
    return values.gather(1, columns), columns


def packed(log_probs: Tensor, tokens: Tensor) -> Tensor:
    """Returns both in one tensor, [N, 2 count] float32, the bits of tokens as they are. Each copy to the host has to
    wait for the device."""
    return torch.cat((log_probs, tokens.int().view(torch.float32)), 1)


def unpacked(best: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns what was `packed`. Raises UserError where log-probabilities are not finite."""
    log_probs, tokens = np.split(best, 2, 1)
    return _finite(log_probs, tokens.view(np.int32).astype(np.int64))


def _finite(log_probs: np.ndarray, tokens: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    # NaN ranks highest, so that the first column shows whatever is wrong with a row.
    if not math.isfinite(log_probs[:, 0].sum()):
        raise non_finite_scores_error()
    return log_probs, tokens


@cache
def _never_chosen(device: torch.device) -> Tensor:
    return torch.tensor(NEVER_CHOSEN, device=device)
