"""The thread of a run: what is too much, too late or given up is not computed."""

import asyncio
import threading
import time
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from prometheus_client import CollectorRegistry, Histogram

from mt.common.stop import go_on
from mt.errors import UserError
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


class Held(Work):
    """Waits until it is let go, and asks then whether it is to go on. An item below 0 is impossible."""

    def __init__(self) -> None:
        super().__init__()
        self.let = threading.Event()

    def size(self, item: int) -> int:
        if item < 0:
            raise UserError("it is too long")
        return item

    def do(self, items: Sequence[int]) -> list[int]:
        super().do(items)
        self.let.wait(60)
        go_on()
        return [*items]


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


@pytest.mark.parametrize("worker", [{"batch_tokens": 1}], indirect=True)
def test_what_came_with_something_impossible_is_not_begun(worker: Worker):
    held = Held()

    async def ask() -> list[int]:
        with pytest.raises(UserError, match=r"^it is too long$"):
            await worker.do(held, 1, -1, 5)
        held.let.set()
        return await worker.do(Work(), 2)

    assert asyncio.run(ask()) == [2]
    assert held.batches == [[1]]


def test_what_one_gives_up_goes_on_for_another(worker: Worker):
    async def ask() -> list[int]:
        first, held, other = Held(), Held(), Work()
        running = asyncio.create_task(worker.do(first, 1))
        await asyncio.to_thread(first.begun.wait)
        asked = [(Work(), 8), (held, 2), (other, 9), (held, 3)]
        gone, leaving, apart, staying = (asyncio.create_task(worker.do(*each)) for each in asked)
        await asyncio.sleep(0)
        gone.cancel()
        await asyncio.wait([gone])
        first.let.set()
        await asyncio.to_thread(held.begun.wait, 20)
        assert held.batches == [[2, 3]]  # what is of another kind is not done with them
        leaving.cancel()
        await asyncio.wait([leaving, running])
        held.let.set()
        assert await apart == [9]
        return await staying

    assert asyncio.run(ask()) == [3]


def test_nothing_is_taken_while_the_server_stops(worker: Worker):
    worker.stop()
    with pytest.raises(RequestError, match=r"^the server is stopping") as stopping:
        asyncio.run(worker.do(Work(), 1))
    assert stopping.value.status == 503


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
