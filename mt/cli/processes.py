"""Joins the processes that `torchrun` starts to a group. They meet and share signals. Where one fails, all end with one
message."""

import contextlib
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from datetime import timedelta

import torch
import torch.distributed as dist

from mt.distributed import PATIENCE, LostError, ProcessGroup
from mt.errors import Interrupted, UserError
from mt.training.signals import interruption

RENDEZVOUS_TIMEOUT = timedelta(minutes=5)
"""How long the processes wait for one another at the start."""
_LEAVING_SECONDS = 5.0
"""How long process 0 stays after a failure, so that the others can ask it whether the error has been printed."""
_PRINTING_TIMEOUT = timedelta(seconds=20)
"""How long process 0 may take to save the update and print the error, once another process is lost."""


@contextlib.contextmanager
def process_group() -> Iterator[ProcessGroup]:
    """Yields the group of the processes that were started together. Enter it inside of `reported`.

    Only process 0 has a standard output. An error ends all processes. The process that fails first prints it, and
    process 0 prints signals.
    """
    rank = int(os.environ["RANK"])
    size = int(os.environ["WORLD_SIZE"])
    store = _hearing_signals(lambda: _rendezvous(rank, size))
    try:
        # A group of gloo carries small objects and barriers, also where gradients go by NCCL.
        host = dist.new_group(backend="gloo", timeout=PATIENCE)
        with contextlib.redirect_stdout(sys.stdout if rank == 0 else open(os.devnull, "w", encoding="utf-8")):
            processes = ProcessGroup(rank, size, int(os.environ.get("LOCAL_RANK", 0)), host)
            yield processes
            # Nobody leaves before all are done: to the others a process that is gone would be lost.
            processes.barrier()
    except BaseException as raised:
        # Only one process keeps its standard error, and `reported` prints the message there.
        error = _cause(raised, store)
        if not _is_to_print(error, store, rank):
            sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - for the rest of the process
        _leave(store, rank, size)
        if error is raised:
            raise
        raise error from None
    dist.destroy_process_group()


def _hearing_signals(wait: Callable[[], dist.Store]) -> dist.Store:
    """Calls `wait` in a thread, and returns its result or raises its error. It waits outside of Python, where the main
    thread would hear no signals."""
    outcome: Future[dist.Store] = Future()

    def attempt() -> None:
        try:
            outcome.set_result(wait())
        except Exception as error:
            outcome.set_exception(error)

    # The end of the process does not wait for a daemon thread, as it would for threads of an executor.
    threading.Thread(target=attempt, daemon=True).start()
    return outcome.result()


def _rendezvous(rank: int, size: int) -> dist.Store:
    """Waits until all processes have met, and returns their store, which carries further messages."""
    try:
        store, *_ = next(dist.rendezvous("env://", rank, size, timeout=RENDEZVOUS_TIMEOUT))
        # After a restart, torchrun's store still has the keys of the processes before, so each start has a prefix.
        store = dist.PrefixStore(os.environ.get("TORCHELASTIC_RESTART_COUNT", "0"), store)
        # Tensors of a CPU go by gloo, those of a GPU by NCCL.
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
    """Returns the error that ended this process, or the signal that ended another process before."""
    with contextlib.suppress(RuntimeError):  # process 0 had the store, and was killed
        if isinstance(error, Interrupted):
            store.set("signal", str(int(error.number)))
        elif isinstance(error, LostError) and store.check(["signal"]):
            return interruption(int(store.get("signal")), str(error).partition(": ")[2])
    return error


def _is_to_print(error: BaseException, store: dist.Store, rank: int) -> bool:
    """Returns whether this process prints the error. One does."""
    if isinstance(error, KeyboardInterrupt):
        return rank == 0
    try:
        # Process 0 goes first where another is lost, since it can say how to go on.
        if isinstance(error, LostError) and rank:
            with contextlib.suppress(dist.DistStoreError):  # not in time: it may be the one that is lost
                store.wait(["printed"], _PRINTING_TIMEOUT)
        return store.add("printed", 1) == 1
    except RuntimeError:  # process 0 had the store, and was killed
        return rank == 1


def _leave(store: dist.Store, rank: int, size: int) -> None:
    """Leaves after a failure. Process 0 leaves last, as the others ask its store, unless torchrun has the store."""
    if os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True":
        return
    until = time.monotonic() + _LEAVING_SECONDS
    with contextlib.suppress(RuntimeError):
        left = store.add("left", 1)
        while rank == 0 and left < size and time.monotonic() < until:
            time.sleep(0.05)
            # Nothing is added: this reads the counter.
            left = store.add("left", 0)
