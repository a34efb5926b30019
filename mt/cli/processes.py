"""Joins the processes that `torchrun` starts to a group, of which one prints what ended them all. First they meet, then
they hear of signals and of one another's ends."""

import contextlib
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from datetime import timedelta
from typing import TypeVar

import torch
import torch.distributed as dist

from mt.distributed import PATIENCE, LostError, ProcessGroup
from mt.errors import Interrupted, UserError
from mt.training.signals import interruption

T = TypeVar("T")

RENDEZVOUS_TIMEOUT = timedelta(minutes=5)
"""How long the processes wait for one another at the start."""
_LEAVING_SECONDS = 5.0
"""How long process 0 stays after a failure, where the others ask it whether that has been printed."""
_PRINTING_TIMEOUT = timedelta(seconds=20)
"""How long process 0 may take, where another is lost, to save the update and print that."""


@contextlib.contextmanager
def process_group() -> Iterator[ProcessGroup]:
    """Yields the group of the processes that were started together; to be entered inside of `reported`. Only process 0
    has a standard output. An error ends all, and the process that fails first prints it; a signal, process 0."""
    rank = int(os.environ["RANK"])
    size = int(os.environ["WORLD_SIZE"])
    store = _hearing_signals(lambda: _rendezvous(rank, size))
    try:
        host = dist.new_group(backend="gloo", timeout=PATIENCE)
        with contextlib.redirect_stdout(sys.stdout if rank == 0 else open(os.devnull, "w", encoding="utf-8")):
            processes = ProcessGroup(rank, size, int(os.environ.get("LOCAL_RANK", 0)), host)
            yield processes
            processes.barrier()
    except BaseException as raised:
        error = _cause(raised, store)
        if not _is_to_print(error, store, rank):
            sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - for the rest of the process
        _leave(store, rank, size)
        if error is raised:
            raise
        raise error from None
    dist.destroy_process_group()


def _hearing_signals(wait: Callable[[], T]) -> T:
    """Returns or raises what `wait` does, which waits outside of Python, and so in a thread: here signals are heard."""
    outcome: Future[T] = Future()

    def attempt() -> None:
        try:
            outcome.set_result(wait())
        except Exception as error:
            outcome.set_exception(error)

    # Nothing waits for a thread of this kind at the end, as for those of an executor.
    threading.Thread(target=attempt, daemon=True).start()
    return outcome.result()


def _rendezvous(rank: int, size: int) -> dist.Store:
    """Returns the store at which the processes have met, for further messages between them."""
    try:
        store, *_ = next(dist.rendezvous("env://", rank, size, timeout=RENDEZVOUS_TIMEOUT))
        # torchrun keeps the store of processes that it starts again, in which those before them have left their places.
        store = dist.PrefixStore(os.environ.get("TORCHELASTIC_RESTART_COUNT", "0"), store)
        backends = "cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "cpu:gloo"
        dist.init_process_group(backends, store=dist.PrefixStore("group", store), rank=rank, world_size=size)
    except (RuntimeError, ValueError) as error:
        address = ":".join(os.environ.get(name, "?") for name in ("MASTER_ADDR", "MASTER_PORT"))
        if "EADDRINUSE" in str(error):
            raise UserError(
                f"port {address.rpartition(':')[2]} of this machine is in use: choose another with torchrun "
                "--master-port, or let torchrun --standalone find one"
            ) from error
        raise UserError(
            f"process {rank} of {size} found no others at {address} within "
            f"{RENDEZVOUS_TIMEOUT.seconds // 60} minutes: start all by torchrun with one address and port, and open it"
        ) from error
    return dist.PrefixStore("mt", store)


def _cause(error: BaseException, store: dist.Store) -> BaseException:
    """Returns what ended this process: the signal where another process was ended by one."""
    with contextlib.suppress(RuntimeError):  # process 0 had the store, and was killed
        if isinstance(error, Interrupted):
            store.set("signal", str(int(error.number)))
        elif isinstance(error, LostError) and store.check(["signal"]):
            return interruption(int(store.get("signal")), str(error).partition(": ")[2])
    return error


def _is_to_print(error: BaseException, store: dist.Store, rank: int) -> bool:
    if isinstance(error, KeyboardInterrupt):
        return rank == 0
    try:
        if isinstance(error, LostError) and rank:
            with contextlib.suppress(dist.DistStoreError):  # not in time: it may be the one that is lost
                store.wait(["printed"], _PRINTING_TIMEOUT)
        return store.add("printed", 1) == 1
    except RuntimeError:  # process 0 had the store, and was killed
        return rank == 1


def _leave(store: dist.Store, rank: int, size: int) -> None:
    """Leaves after a failure: process 0, whose store the others ask, after them, unless torchrun keeps the store."""
    if os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True":
        return
    until = time.monotonic() + _LEAVING_SECONDS
    with contextlib.suppress(RuntimeError):
        left = store.add("left", 1)
        while rank == 0 and left < size and time.monotonic() < until:
            time.sleep(0.05)
            left = store.add("left", 0)
