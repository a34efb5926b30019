"""The thread of a run, which computes what requests ask for, several at a time. A model is computed nowhere else, so
that no computation holds up the event loop.

What nobody waits for any more is not begun. What has begun ends at its next step, since each search asks whether
somebody still waits (see `mt.common.stop`).
"""

import asyncio
import contextlib
import threading
import time
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future, InvalidStateError
from dataclasses import dataclass, field
from typing import Any, Protocol

from prometheus_client import Histogram

from mt.common.batches import each
from mt.common.stop import asking
from mt.serve.limits import Limits, RequestError, full

AGAIN = object()
"""The result of an item of which only a part is done: it goes to the end of the queue."""


class Work(Protocol):
    """A kind of work. Items of equal kinds are computed in one batch."""

    def size(self, item: Any) -> int:
        """Returns how many tokens an item has, by which batches are bounded. Raises UserError where it cannot be
        done."""

    def do(self, items: Sequence[Any]) -> Sequence[Any]:
        """Returns the result of each item, or the error that is its result, or AGAIN. Raises UserError where one of
        them cannot be done: then they are done again in halves."""


@dataclass(eq=False)
class _Job:
    work: Work
    item: Any
    deadline: float
    """Seconds on the monotonic clock."""
    result: Future[Any] = field(default_factory=Future)
    """It is cancelled when nobody waits for it any more."""
    came: float = field(default_factory=time.monotonic)

    @property
    def wanted(self) -> bool:
        """Whether somebody waits for it, and it is not late."""
        return not self.result.done() and time.monotonic() < self.deadline

    def finish(self, result: Any) -> None:
        """Hands a result or an error from the thread of the run to whoever waits for it."""
        with contextlib.suppress(InvalidStateError):  # nobody does
            if isinstance(result, Exception):
                self.result.set_exception(result)
            else:
                self.result.set_result(result)


class _LateError(RequestError):
    """There was no answer before the deadline, or nobody waits for it any more."""

    def __init__(self, limits: Limits) -> None:
        sentence = f"there was no answer within {limits.deadline:g} seconds: send less at once, or try again later"
        super().__init__(504, sentence)


class Worker:
    """A thread with a queue in front of it."""

    def __init__(self, name: str, limits: Limits, batches: Histogram) -> None:
        """batches: observes how many items are done together."""
        self._limits = limits
        self._batches = batches
        self._jobs: deque[_Job] = deque()
        self._changed = threading.Condition()
        self._stopping = False
        # A daemon does not keep the process alive when the server is done.
        self._thread = threading.Thread(target=self._run, name=f"mt {name}", daemon=True)
        self._thread.start()

    @property
    def waiting(self) -> int:
        """How many items wait."""
        return len(self._jobs)

    async def do(self, work: Work, *items: Any) -> list[Any]:
        """Returns the results of some items. Raises UserError as the work does, RequestError where there is no room, or
        no result before the deadline."""
        # Jobs wait in the queue, if it has room for them.
        deadline = time.monotonic() + self._limits.deadline
        jobs = [_Job(work, item, deadline) for item in items]
        with self._changed:
            if self._stopping:
                raise full("the server is stopping")
            if len(self._jobs) + len(jobs) > self._limits.queue:
                raise full(f"{len(self._jobs)} texts wait for this run already")
            self._jobs.extend(jobs)
            self._changed.notify()
        # Whoever gives up cancels its jobs, so that they are not begun.
        try:
            async with asyncio.timeout(self._limits.deadline):
                # The thread sets the results; `wrap_future` brings them into the event loop.
                return await asyncio.gather(*(asyncio.wrap_future(job.result) for job in jobs))
        except TimeoutError:
            raise _LateError(self._limits) from None
        finally:
            for job in jobs:
                # One that is done stays as it is.
                job.result.cancel()

    def stop(self) -> None:
        """Ends the thread once it has done what somebody waits for."""
        with self._changed:
            self._stopping = True
            self._changed.notify()

    def join(self, until: float) -> None:
        """Waits for the end of the thread, up to a time of the monotonic clock."""
        self._thread.join(max(0.0, until - time.monotonic()))

    def _run(self) -> None:
        while batch := self._next():
            self._batches.observe(len(batch))
            self._finish(batch)

    def _next(self) -> list[_Job]:
        """Returns the next jobs that are done together, the oldest first; none where the thread is to end."""
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._jobs or self._stopping)
                if not self._jobs:
                    return []
                # A short wait lets further jobs come. A job that has already waited in the queue does not wait again.
                until = self._jobs[0].came + self._limits.window / 1000
                # New jobs do not end this wait: they are taken after it, whereas a stop ends it at once.
                self._changed.wait_for(lambda: self._stopping, max(0.0, until - time.monotonic()))
                # Only work of the same kind, as the oldest job's, can be computed in one batch.
                alike = [job for job in self._jobs if job.work == self._jobs[0].work]
            # Outside of the lock: to know a size encodes a source, and the event loop must not wait for that.
            chosen = self._chosen(alike)
            if chosen:
                return chosen

    def _chosen(self, jobs: Sequence[_Job]) -> list[_Job]:
        """Takes jobs from the queue until a batch is full, and returns them. Jobs that are late, cancelled or
        impossible leave the queue, too."""
        chosen: list[_Job] = []
        taken: set[_Job] = set()
        tokens = 0
        for job in jobs:
            try:
                if not job.wanted:
                    raise _LateError(self._limits)
                size = job.work.size(job.item)
            except Exception as error:
                taken.add(job)
                job.finish(error)
                continue
            # The first job is taken whatever its size, since it would never fit otherwise.
            if chosen and tokens + size > self._limits.batch_tokens:
                break
            tokens += size
            taken.add(job)
            chosen.append(job)
        with self._changed:
            # New jobs may have come in the meantime, so that the queue is filtered, not replaced.
            self._jobs = deque(job for job in self._jobs if job not in taken)
        return chosen

    def _finish(self, jobs: Sequence[_Job]) -> None:
        """Gives jobs their results. Their work ends when nobody waits for any of them."""

        def ask() -> None:
            if not any(job.wanted for job in jobs):
                raise _LateError(self._limits)

        def do(items: Sequence[Any]) -> Sequence[Any]:
            try:
                return jobs[0].work.do(items)
            except _LateError as error:  # nobody waits for halves, either
                return [error for _ in items]

        # Where an item cannot be done, the batch is done again in halves, so that only that item fails.
        with asking(ask):
            results = each(do, [job.item for job in jobs], Exception)
        for job, result in zip(jobs, results, strict=True):
            if result is AGAIN:
                with self._changed:
                    self._jobs.append(job)
            else:
                job.finish(result)
