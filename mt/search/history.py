"""The record of a search, from which it reads its hypotheses."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from mt.search.hypothesis import Hypothesis, Prediction
from mt.search.windows import Windows


class Ends(NamedTuple):
    """Where hypotheses end in a `History`; all fields have one shape."""

    score: Tensor  # float32; -inf: no hypothesis here
    log_prob: Tensor  # float32
    length: Tensor  # int64, tokens, EOS included
    row: Tensor  # int64, the row that predicted the last token
    token: Tensor  # int64, the last token


class _Step(NamedTuple):
    tokens: Tensor  # [N] what the step was given
    parents: Tensor  # [N] the row of the step before that each row continues
    weights: Tensor  # [N, W]
    stops: Tensor | None  # [N]
    first: Tensor | None  # [N]
    energies: Tensor | None  # [N]


class History:
    """What every step saw and attended to, with back-pointers: rows may be dropped and reordered between steps.

    Nothing is copied when rows move; `backtrack` follows the pointers once, for the hypotheses asked for.
    """

    def __init__(self) -> None:
        self._steps: list[_Step] = []

    def __len__(self) -> int:
        return len(self._steps)

    def append(self, tokens: Tensor, parents: Tensor, prediction: Prediction) -> None:
        """Records a step: its input tokens [N], the row of the step before that each continues [N], and its outcome."""
        self._steps.append(
            _Step(tokens, parents, prediction.weights, prediction.stops, prediction.first, prediction.energies)
        )

    def backtrack(self, ends: Ends) -> list[Hypothesis]:
        """The hypotheses that end at `ends` (fields [H]), in that order. The record is used up and empty then."""
        steps, self._steps = self._steps, []
        # Where each step begins in what all of them have, one after another.
        begins = np.cumsum([0, *(len(step.tokens) for step in steps[:-1])])
        rows = _followed(torch.cat([step.parents for step in steps]).cpu().numpy(), begins, ends)
        index = torch.from_numpy((rows + begins[:, None]).T)
        device, lengths = ends.row.device, ends.length.tolist()

        def picked(parts: list[Tensor]) -> Tensor:
            """[H, T], of what every step has of each row."""
            return torch.cat(parts).cpu()[index]

        tokens = picked([step.tokens for step in steps]).roll(-1, 1)  # a step was given what the one before said
        tokens[torch.arange(len(lengths)), ends.length.cpu() - 1] = ends.token.cpu()
        said = tokens.tolist()
        stops, first, energies = (
            None if part[0] is None else picked([*part])
            for part in zip(*((step.stops, step.first, step.energies) for step in steps), strict=True)
        )
        chosen = torch.from_numpy(rows).to(device).unbind()
        # Freed as it is read: the weights of a long source are most of what a search keeps.
        weights = (steps.pop(0).weights for _ in chosen)
        windows = (
            _whole(weights, chosen, lengths)
            if first is None or stops is None
            else _cut([part[row] for part, row in zip(weights, chosen, strict=True)], first, stops, lengths)
        )
        ranks = zip(lengths, ends.log_prob.tolist(), ends.score.tolist(), windows, strict=True)
        return [
            Hypothesis(
                tokens=tuple(said[i][:length]),
                log_prob=log_prob,
                score=score,
                windows=own,
                stops=None if stops is None else _owned(stops[i, :length]),
                energies=None if energies is None else int(energies[i, :length].sum()),
            )
            for i, (length, log_prob, score, own) in enumerate(ranks)
        ]


def _followed(parents: np.ndarray, begins: np.ndarray, ends: Ends) -> np.ndarray:
    """[T, H] int64: the row of each hypothesis in each step. Until its own last step is reached from the end, one
    follows row 0, which always exists; that part is cut off. On the host, where a step takes microseconds.

    parents: of all steps, one after another; begins: [T], where each begins in it.
    """
    length, last = ends.length.cpu().numpy(), ends.row.cpu().numpy()
    rows = np.zeros((len(begins), len(last)), np.int64)
    row = rows[0].copy()
    for step in reversed(range(len(begins))):
        row = rows[step] = np.where(length == step + 1, last, row)
        row = parents[begins[step] + row]
    return rows


def _whole(weights: Iterable[Tensor], rows: Sequence[Tensor], lengths: list[int]) -> list[Windows]:
    """Of each hypothesis, where steps attended to all of the source. weights: of each step [N, S]; rows:
    of each [H]."""
    grid: Tensor | None = None
    for step, (part, row) in enumerate(zip(weights, rows, strict=True)):
        if grid is None:
            grid = part.new_empty(len(rows), len(row), part.shape[1])
        torch.index_select(part, 0, row, out=grid[step])
    assert grid is not None
    whole = grid.float().cpu().unbind(1)
    return [Windows.whole(_owned(part[:length]).numpy()) for part, length in zip(whole, lengths, strict=True)]


def _cut(weights: list[Tensor], first: Tensor, stops: Tensor, lengths: list[int]) -> list[Windows]:
    """Of each hypothesis, where steps attended to windows, without what other rows made a window wider by.

    weights: of each step [H, W]; first, stops: [H, T].
    """
    flat = torch.cat(weights, 1).float().cpu()
    columns = torch.cat([torch.arange(part.shape[1]) for part in weights])
    steps = torch.arange(len(weights)).repeat_interleave(torch.tensor([part.shape[1] for part in weights]))
    widths = torch.where(stops < 0, 0, stops - first + 1)
    found = []
    for i, length in enumerate(lengths):
        inside = (columns < widths[i, steps]) & (steps < length)
        parts = (flat[i, inside], _owned(first[i, :length]), _owned(widths[i, :length]))
        found.append(Windows(*(part.numpy() for part in parts)))
    return found


def _owned(part: Tensor) -> Tensor:
    """A part of a tensor, cloned unless it is the whole, so that keeping one hypothesis does not keep a batch."""
    return part if part.untyped_storage().nbytes() == part.nbytes else part.clone()
