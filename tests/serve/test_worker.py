"""The thread of a run: what is too much, too late or given up is not computed."""

import asyncio
import threading
import time
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from prometheus_client import CollectorRegistry, Histogram

from mt.common.stop import go_on
from mt.serve.limits import Limits, RequestError
from mt.serve.worker import AGAIN, Worker


class Work:
    """Notes what is done together: items, each of which is its own size and its own result."""

    def __init__(self) -> None:
        self.batches: list[list[Any]] = []
        self.begun = threading.Event()

    def size(self, item: Any) -> int:
        return item

    def do(self, items: Sequence[Any]) -> list[Any]:
        self.batches.append([*items])
        self.begun.set()
        return [*items]


class Endless(Work):
    """Asks at each step whether it is to go on."""

    def do(self, items: Sequence[Any]) -> list[Any]:
        super().do(items)
        while True:
            go_on()


class Piecewise(Work):
    """Does a part of each item, a list, at a time, and notes how many parts were left."""

    def size(self, item: list[int]) -> int:
        return 1

    def do(self, items: Sequence[list[int]]) -> list[Any]:
        super().do([len(item) for item in items])
        return [AGAIN if item else "done" for item in items if item.pop()]


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
    assert work.batches == [[4, 1, 2], [3, 1], [2], [1]]


@pytest.mark.parametrize("worker", [{"deadline": 0.05}], indirect=True)
def test_what_is_late_ends_and_the_next_is_done(worker: Worker):
    endless = Endless()

    async def ask() -> list[int]:
        with pytest.raises(RequestError, match=r"^there was no answer within 0\.05 seconds: send less") as late:
            await worker.do(endless, 1, 2)
        assert late.value.status == 504
        for _ in range(100):  # the step that goes on may take longer than the next one waits
            try:
                return await worker.do(Work(), 3, 4)
            except RequestError:
                continue
        raise AssertionError("it computes what nobody waits for")

    assert asyncio.run(ask()) == [3, 4]
    assert endless.batches == [[1, 2]]  # and not its halves


def test_what_a_client_gives_up_ends(worker: Worker):
    async def ask() -> list[int]:
        endless = Endless()
        asking = asyncio.create_task(worker.do(endless, 1))
        await asyncio.to_thread(endless.begun.wait)
        asking.cancel()
        return await worker.do(Work(), 5)

    assert asyncio.run(ask()) == [5]


@pytest.mark.parametrize("worker", [{"queue": 3}], indirect=True)
def test_so_many_wait_and_no_more(worker: Worker):
    async def ask() -> None:
        endless = Endless()
        running = asyncio.create_task(worker.do(endless, 1))
        await asyncio.to_thread(endless.begun.wait)
        waiting = asyncio.create_task(worker.do(Work(), 1, 2, 3))
        await asyncio.sleep(0)
        assert worker.waiting == 3
        with pytest.raises(RequestError, match=r"^3 texts wait for this run already: try again") as full:
            await worker.do(Work(), 4)
        assert (full.value.status, full.value.headers) == (503, {"Retry-After": "1"})
        running.cancel()
        assert await waiting == [1, 2, 3]
        assert await worker.do(Work(), 1, 2, 3) == [1, 2, 3]  # as many as there is room for

    asyncio.run(ask())


@pytest.mark.parametrize("worker", [{"batch_tokens": 3}], indirect=True)
def test_a_batch_has_no_more_tokens_than_may_be_decoded_together(worker: Worker):
    work = Work()
    assert asyncio.run(worker.do(work, 1, 2, 1, 5, 1)) == [1, 2, 1, 5, 1]
    assert work.batches == [[1, 2], [1], [5], [1]]
