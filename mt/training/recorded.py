"""Passes of training on a GPU, recorded as CUDA graphs.

A forward and backward pass is a thousand small computations and more, and to start them one by one takes longer than
they do. Batches of one shape come in every epoch. The second one is recorded; from then on one call starts a pass of
this shape. Its results are the same to the bit as without recording.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from mt.data.batches import Batch
from mt.kernels.cuda_graph import recorded
from mt.training.batches import SeededBatch

MOST = 1000
"""The most recorded shapes of batches; later ones are computed without recording."""


_Recording = tuple[Batch, Callable[[], Tensor]]
"""The tensors that a recorded pass reads, and what starts the pass."""


class RecordedPasses:
    """Adds the gradients of a batch to those of the parameters, by a recorded pass if there is one of this shape.

    The gradients keep their memory between updates: they are set to zero, never to None."""

    def __init__(
        self,
        batch_loss: nn.Module,
        device: torch.device,
        scaler: torch.amp.GradScaler,
        record: Callable[..., Any] = recorded,
    ) -> None:
        """batch_loss: see `mt.training.loop.BatchLoss`. It draws no random numbers on the host."""
        self._batch_loss = batch_loss
        self._device = device
        self._scaler = scaler
        self._record = record
        self._divisor = torch.ones((), device=device)
        self._seen: set[tuple[Any, ...]] = set()
        self._recordings: dict[tuple[Any, ...], _Recording] = {}
        self._possible = True

    def __call__(self, seeded_batch: SeededBatch, divisor: float) -> Tensor:
        """See `mt.training.loop.backward_pass`."""
        batch = seeded_batch.batch
        assert batch is not None  # only one of several processes can be without a batch
        if seeded_batch.seed is not None:  # outside the recording, which goes on from where the generators are
            torch.manual_seed(seeded_batch.seed)
        self._divisor.fill_(divisor)
        # The first batch of a shape is computed as usual, the second one recorded.
        fields = batch._asdict().items()
        shape = tuple((name, tensor.shape) for name, tensor in fields if isinstance(tensor, Tensor))
        recording = self._recordings.get(shape)
        if recording is None and shape in self._seen and self._possible and len(self._recordings) < MOST:
            recording = self._recorded(shape, batch.to(self._device))
        self._seen.add(shape)
        if recording is None:
            return self._pass(batch)
        # A replay reads the recorded batch's memory, so this batch is copied there.
        recorded_batch, replay = recording
        for kept, new in zip(recorded_batch, batch, strict=True):
            if isinstance(kept, Tensor) and isinstance(new, Tensor):
                kept.copy_(new, non_blocking=True)
        return replay().clone()  # the next replay writes to the same place

    def _pass(self, batch: Batch) -> Tensor:
        loss, sums = self._batch_loss(batch, None)
        self._scaler.scale(loss / self._divisor).backward()
        return sums

    def _recorded(self, shape: tuple[Any, ...], batch: Batch) -> _Recording | None:
        """Records the pass of a batch; None where it waits for the GPU, as some encoders do."""

        def body() -> Tensor:
            return self._pass(batch)

        replay = self._record(body, self._device)
        self._possible = replay is not body
        if not self._possible:
            return None
        recording = self._recordings[shape] = (batch, replay)
        return recording
