"""Shares work between processes.

`ordered` runs a function over many tasks in several processes, of this machine or of a Ray cluster. Results come in
order, and few tasks are in memory at a time.
"""

import gc
import itertools
import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from importlib.util import find_spec
from typing import Any, Literal, TypeVar

from mt.common.about import install
from mt.errors import UserError

Result = TypeVar("Result")
Runner = Literal["processes", "ray"]
"""Who does the work: processes of this machine, or those of a Ray cluster."""


def ordered(
    function: Callable[..., Result],
    tasks: Iterable[tuple[Any, ...]],
    workers: int | None,
    runner: Runner = "processes",
) -> Iterator[Result]:
    """Yields `function(*task)` for each task, in order. A single task is done in this process.

    Args:
        workers: processes; None takes as many as there are processors.

    Raises:
        BrokenProcessPool: the system killed a process.
    """
    if runner == "ray":
        yield from _by_ray(function, tasks, workers)
        return
    # One task, or one process, needs no pool.
    tasks = iter(tasks)
    first_tasks = list(itertools.islice(tasks, 2))
    workers = workers or os.cpu_count() or 1
    if workers == 1 or len(first_tasks) < 2:
        yield from itertools.starmap(function, itertools.chain(first_tasks, tasks))
        return
    # A server that has imported the function's module once forks all workers. The caller itself may hold threads (of
    # torch, of Arrow), which a forked child would miss.
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([function.__module__])
    with ProcessPoolExecutor(workers, mp_context=context, initializer=_begin) as pool:
        try:
            chained = itertools.chain(first_tasks, tasks)
            yield from _awaited((pool.submit(function, *task) for task in chained), Future.result, workers)
        finally:
            pool.shutdown(cancel_futures=True)


def _awaited(begun: Iterable[Any], result: Callable[[Any], Result], most: int) -> Iterator[Result]:
    """Yields the results of tasks in order. begun: starts a task whenever it is asked for the next. most: how many
    tasks may be running ahead."""
    waiting: deque[Any] = deque()
    for task in begun:
        waiting.append(task)
        if len(waiting) > most:
            yield result(waiting.popleft())
    yield from map(result, waiting)


def require(runner: Runner) -> None:
    """Raises UserError where it is not installed."""
    if runner == "ray" and find_spec("ray") is None:
        raise UserError(f"runner=ray needs Ray, which is not installed: {install('ray')}")


def _by_ray(function: Callable[..., Result], tasks: Iterable[tuple[Any, ...]], workers: int | None) -> Iterator[Result]:
    """Does what `ordered` does on the cluster that RAY_ADDRESS names, else with a Ray on this machine.

    All machines of a cluster must see the files that the tasks name.
    """
    require("ray")
    import ray

    # A Ray that runs already is used as it is, and left running afterwards.
    began = not ray.is_initialized()
    address = os.environ.get("RAY_ADDRESS")
    if began:
        try:
            ray.init(num_cpus=None if address else workers, log_to_driver=False)
        except ConnectionError:
            sentence = f"no Ray answers at RAY_ADDRESS={address}: start it (ray start --head), or unset RAY_ADDRESS"
            raise UserError(sentence) from None
    try:
        most = workers or int(ray.cluster_resources().get("CPU", 1))
        remote = ray.remote(function)
        yield from _awaited((remote.remote(*task) for task in tasks), ray.get, most)
    # Errors are raised as a pool of processes raises them, so that callers need to know only one kind.
    except ray.exceptions.RayTaskError as error:
        raise error.cause from None
    except (ray.exceptions.WorkerCrashedError, ray.exceptions.OutOfMemoryError) as error:
        raise BrokenProcessPool(str(error)) from error
    finally:
        if began:
            ray.shutdown()


def _begin() -> None:
    """Prepares a worker: it ends when its parent does, even by SIGKILL, and leaves Ctrl-C to it."""
    gc.freeze()  # what is imported stays: to look through it for garbage again and again would take 6 % of the time
    # For torch, where a worker needs it: the processors are shared out already.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_await_the_parent, daemon=True).start()


def _await_the_parent() -> None:
    if parent := multiprocessing.parent_process():
        parent.join()
        os._exit(1)
