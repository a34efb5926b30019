"""The thread of a run: what is too much, too late or given up is not computed."""

import asyncio
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import pytest
from prometheus_client import CollectorRegistry, Histogram

from mt.common.stop import go_on
from mt.serve.limits import Limits, RequestError
from mt.serve.worker import AGAIN, Worker


@dataclass(frozen=True)
class Endless:
    """Work without an end, which asks at each step whether it is to go on."""

    begun: threading.Event = field(default_factory=threading.Event, compare=False)
    batches: list[list[int]] = field(default_factory=list, compare=False)

    def size(self, item: int) -> int:
        return 1

    def do(self, items: Sequence[int]) -> list[int]:
        self.batches.append([*items])
        self.begun.set()
        while True:
            go_on()


@dataclass(frozen=True)
class Doubling:
    def size(self, item: int) -> int:
        return 1

    def do(self, items: Sequence[int]) -> list[int]:
        return [2 * item for item in items]


@dataclass(frozen=True)
class Batching:
    """Work that notes what is done together."""

    batches: list[list[int]] = field(default_factory=list, compare=False)

    def size(self, item: int) -> int:
        return item

    def do(self, items: Sequence[int]) -> Sequence[int]:
        self.batches.append([*items])
        return items


@dataclass(frozen=True)
class Piecewise:
    """Work that does a part of each item at a time, and notes how many parts were left."""

    left: list[list[int]] = field(default_factory=list, compare=False)

    def size(self, item: list[int]) -> int:
        return 1

    def do(self, items: Sequence[list[int]]) -> list[object]:
        self.left.append([len(item) for item in items])
        for item in items:
            item.pop()
        return [AGAIN if item else "done" for item in items]


@pytest.fixture
def worker(request: pytest.FixtureRequest) -> Iterator[Worker]:
    limits = Limits(window=0, **getattr(request, "param", {}))
    worker = Worker("test", limits, Histogram("sizes", "", registry=CollectorRegistry()))
    yield worker
    worker.stop()
    worker.join(time.monotonic() + 60)


def test_a_long_item_is_done_in_parts_and_short_ones_between_them(worker: Worker):
    work = Piecewise()
    assert asyncio.run(worker.do(work, [1] * 4, [1], [1] * 2)) == ["done"] * 3
    assert work.left == [[4, 1, 2], [3, 1], [2], [1]]


@pytest.mark.parametrize("worker", [{"deadline": 0.05}], indirect=True)
def test_what_is_late_ends_and_the_next_is_done(worker: Worker):
    endless = Endless()

    async def ask() -> list[int]:
        with pytest.raises(RequestError, match=r"^there was no answer within 0\.05 seconds: send less") as late:
            await worker.do(endless, 1, 2)
        assert late.value.status == 504
        for _ in range(100):  # the step that goes on may take longer than the next one waits
            try:
                return await worker.do(Doubling(), 3, 4)
            except RequestError:
                continue
        raise AssertionError("it computes what nobody waits for")

    assert asyncio.run(ask()) == [6, 8]
    assert endless.batches == [[1, 2]]  # and not its halves


def test_what_a_client_gives_up_ends(worker: Worker):
    async def ask() -> list[int]:
        endless = Endless()
        asking = asyncio.create_task(worker.do(endless, 1))
        await asyncio.to_thread(endless.begun.wait)
        asking.cancel()
        return await worker.do(Doubling(), 5)

    assert asyncio.run(ask()) == [10]


@pytest.mark.parametrize("worker", [{"queue": 3}], indirect=True)
def test_so_many_wait_and_no_more(worker: Worker):
    async def ask() -> None:
        endless = Endless()
        running = asyncio.create_task(worker.do(endless, 1))
        await asyncio.to_thread(endless.begun.wait)
        waiting = asyncio.create_task(worker.do(Doubling(), 1, 2, 3))
        await asyncio.sleep(0)
        assert worker.waiting == 3
        with pytest.raises(RequestError, match=r"^3 texts wait for this run already: try again") as full:
            await worker.do(Doubling(), 4)
        assert (full.value.status, full.value.headers) == (503, {"Retry-After": "1"})
        running.cancel()
        assert await waiting == [2, 4, 6]
        assert await worker.do(Doubling(), 1, 2, 3) == [2, 4, 6]  # as many as there is room for

    asyncio.run(ask())


@pytest.mark.parametrize("worker", [{"batch_tokens": 3}], indirect=True)
def test_a_batch_has_no_more_tokens_than_may_be_decoded_together(worker: Worker):
    work = Batching()
    assert asyncio.run(worker.do(work, 1, 2, 1, 5, 1)) == [1, 2, 1, 5, 1]
    assert work.batches == [[1, 2], [1], [5], [1]]
