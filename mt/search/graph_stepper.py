"""Steps on a GPU that are recorded once for a batch. A step has some forty computations, and to start them one by one
takes longer than they do.

What is recorded has a fixed number of rows, for each sentence as many as the search extends side by side. Hypotheses
take some of them, in order; what is computed in the others is of no use, and nothing looks at it.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from mt.kernels.cuda_graph import recorded
from mt.search.hypothesis import NEVER_CHOSEN
from mt.search.stepper import Scores, Step
from mt.search.torch_stepper import TorchStepper
from mt.step import Attended
from mt.trees import map_tensors, select_rows, tensors_of

Record = Callable[[Callable[[], Any], torch.device], Callable[[], Any]]
"""`mt.kernels.cuda_graph.recorded`, or what stands in its place."""
MANY = 256
"""Rows from which on a step takes longer to compute than to start: fewer are recorded where most are of no use."""


class GraphStepper:
    """The steps of a `TorchStepper` of a soft attention, recorded."""

    def __init__(self, stepper: TorchStepper, width: int, record: Record = recorded) -> None:
        """
        Args:
            stepper: before its first step; its memory and state are taken over.
            width: the most hypotheses of a sentence, and the most next tokens that are asked for.
        """
        self._predict = stepper.predict
        self._device = stepper.device
        # All three are of the open rows until the first step makes the fixed ones.
        self._memory = stepper.memory
        self._state = stepper.state
        self._sentences = stepper.sentences
        self._width = width
        self._record = record
        self._rows = self._sentences
        """[N]: the row of each hypothesis of the last step."""
        self._present = self._sentences
        """The sentences that have rows, rising."""
        self._inputs = torch.zeros(3, 0, dtype=torch.int64)
        """[3, R]: of each row its token and the row that it continues; and the rows of the hypotheses, in their
        order."""
        self._on_host = self._inputs
        """The inputs on the host, in pinned memory, from which they are copied to the device."""
        self._replay: Callable[[], _Outputs]

    @torch.no_grad()
    def step(self, tokens: list[int], parents: list[int]) -> Step:
        hypotheses = len(tokens)
        # States keep the rows of the step before; `before` says which of them each hypothesis continues.
        before = self._rows[parents]
        self._sentences = self._sentences[parents]
        # Where most of the rows are of no use, fewer are recorded; else the last step is played again.
        rows = self._inputs.shape[1]
        if rows == 0 or MANY <= rows >= 4 * hypotheses:
            self._make_rows(before)
            self._fill(tokens, before)
            outputs = self._first_step()
        else:
            self._fill(tokens, before)
            outputs = self._replay()
        # One transfer brings weights and best tokens: each has to wait for the device.
        # A copy even where the tensors are on the host, as in tests: the next step overwrites them.
        numbers = outputs.numbers[:hypotheses].to("cpu", copy=True).numpy()
        best, bits = np.split(numbers[:, outputs.positions :], 2, 1)
        known = best, np.ascontiguousarray(bits).view(np.int32).astype(np.int64)
        return Step(Scores(outputs.log_probs, self._rows, known), Attended(numbers[:, : outputs.positions]))

    def _make_rows(self, before: np.ndarray) -> None:
        """Makes rows for the sentences that are searched. before: the row of each hypothesis' parent, whose memory and
        state it has."""
        self._present, first = np.unique(self._sentences, return_index=True)
        # All hypotheses of a sentence have the same memory, so that one copy of it is repeated.
        rows = torch.from_numpy(before[first].repeat(self._width)).to(self._device)
        self._memory = select_rows(self._memory, rows)
        self._inputs = torch.zeros(3, len(rows), dtype=torch.int64, device=self._device)
        self._on_host = torch.zeros(self._inputs.shape, dtype=torch.int64, pin_memory=self._device.type == "cuda")

    def _fill(self, tokens: list[int], before: np.ndarray) -> None:
        """Says what the next step computes, and gives each hypothesis its row."""
        # The number of each hypothesis within its sentence; sentences have `width` rows each, side by side.
        places = np.arange(len(tokens)) - np.searchsorted(self._sentences, self._sentences)
        self._rows = self._width * np.searchsorted(self._present, self._sentences) + places
        # Nothing reads it any more: every step waits for its results.
        numbers = self._on_host.numpy()
        # Rows without a hypothesis compute a step of row 0, at which nobody looks.
        numbers[:] = 0
        numbers[0, self._rows] = tokens
        numbers[1, self._rows] = before
        numbers[2, : len(tokens)] = self._rows
        self._inputs.copy_(self._on_host, non_blocking=True)

    def _first_step(self) -> "_Outputs":
        """Computes a step, which loads and compiles what it needs, and records the steps that follow."""
        outputs = self._step()
        # Copies, since a recorded step overwrites these tensors, and the outputs may share theirs.
        self._state = map_tensors(torch.clone, outputs.state)
        self._replay = self._record(self._step_in_place, self._device)
        return outputs

    def _step(self) -> "_Outputs":
        tokens, parents, order = self._inputs
        prediction = self._predict(tokens, self._memory, select_rows(self._state, parents))
        log_probs = prediction.log_probs()
        # Forbidden here, since the best tokens are found within the recorded step.
        for token in NEVER_CHOSEN:
            log_probs[:, token] = -torch.inf
        best, best_tokens = log_probs.topk(min(self._width, log_probs.shape[1]))
        weights = prediction.attended.weights
        # Tokens travel as the bits of float32 numbers, so that one tensor brings everything.
        numbers = torch.cat((weights, best, best_tokens.int().view(torch.float32)), 1).index_select(0, order)
        return _Outputs(prediction.state, log_probs, numbers, weights.shape[1])

    def _step_in_place(self) -> "_Outputs":
        """Does what `_step` does, and overwrites the state with the one after the step."""
        outputs = self._step()
        for before, after in zip(tensors_of(self._state), tensors_of(outputs.state), strict=True):
            before.copy_(after)
        return outputs


class _Outputs(NamedTuple):
    """The results of a step with R rows, N of which are hypotheses."""

    state: Any
    log_probs: Tensor
    """[R, V], by row."""
    numbers: Tensor
    """[R, S + 2 width] float32: weights, the largest log-probabilities, and the bits of their tokens as int32; those of
    the hypotheses first, in order."""
    positions: int
    """S."""
