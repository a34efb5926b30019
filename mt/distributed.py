"""Several processes that train one model together: plain `torch.distributed`, gloo on CPUs and NCCL on GPUs.

`torchrun` starts the processes, and `mt.cli.processes` makes a `ProcessGroup` of them. Every function for several
processes takes it, so that nothing else asks torch. `ALONE` is the group of one process.
"""

import contextlib
import hashlib
import itertools
import secrets
import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeVar

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from mt.device import choose
from mt.errors import UserError
from mt.storage import write_text

T = TypeVar("T")

PATIENCE = timedelta(days=30)
"""The longest time for which processes wait for one of them, as while it prepares a corpus. One that dies ends the wait
at once."""
# Fills up a round in which a process has no result; None may be one.
_ABSENT: Any = object()


class LostError(UserError):
    """Another process has ended, or cannot be reached."""

    def __init__(self, advice: str = "start all of them again, with resume=RUN where there is a checkpoint") -> None:
        super().__init__(f"another process of this run has ended or cannot be reached: {advice}")


@contextlib.contextmanager
def collective() -> Iterator[None]:
    """Raises `LostError` where torch reports, inside, that another process is gone."""
    try:
        yield
    except RuntimeError as error:
        # gloo raises a RuntimeError like any other, which names its file.
        if isinstance(error, dist.DistError) or "/gloo/" in str(error):
            raise LostError from error
        raise


@dataclass(frozen=True)
class ProcessGroup:
    """The processes of a run, and the rank of this one. All processes must call a method at the same point, or all wait
    for ever; only the properties, `share` and `device` may be used by one process alone."""

    rank: int = 0
    size: int = 1
    local_rank: int = 0
    """The rank among the processes of this machine."""
    host: dist.ProcessGroup | None = None
    """The group of torch by which objects are exchanged."""

    @property
    def is_first(self) -> bool:
        """Returns whether this is the process that writes, prints and draws."""
        return self.rank == 0

    def share(self, items: Sequence[T]) -> Sequence[T]:
        """Returns every `size`-th item, the share of this process. Neighbours, which are alike, go to different
        processes."""
        return items[self.rank :: self.size]

    def merged(self, results: Sequence[T]) -> list[T]:
        """Puts the results of all shares into the order of the items. results: of the share of this process."""
        # Round i has the i-th result of every process, of which some have none in the last round.
        rounds = itertools.zip_longest(*self.all_gather(results), fillvalue=_ABSENT)
        return [result for of_round in rounds for result in of_round if result is not _ABSENT]

    @collective()
    def decided_by_first(self, decide: Callable[[], T]) -> T:
        """Calls `decide` in process 0 alone, and returns its result in all of them."""
        if self.size == 1:
            return decide()
        decision = [decide() if self.is_first else None]
        dist.broadcast_object_list(decision, src=0, group=self.host)
        return decision[0]  # type: ignore[return-value]

    @collective()
    def all_gather(self, value: T) -> list[T]:
        """Returns the values of all processes."""
        values = [value] * self.size
        if self.size > 1:
            dist.all_gather_object(values, value, group=self.host)
        return values

    @collective()
    def all_reduce(self, numbers: Tensor) -> Tensor:
        """Sums a tensor on the CPU over all processes, in place."""
        if self.size > 1:
            dist.all_reduce(numbers)
        return numbers

    @collective()
    def maximum(self, number: int) -> int:
        """Returns the largest of the numbers of all processes."""
        if self.size == 1:
            return number
        largest = torch.tensor(number)
        dist.all_reduce(largest, dist.ReduceOp.MAX)
        return int(largest)

    @collective()
    def data_parallel(self, module: nn.Module) -> nn.Module:
        """Wraps a module: the backward pass averages its gradients over all processes. Its parameters and buffers begin
        as in process 0."""
        if self.size == 1:
            return module
        # Some models have unused parameters. While torch looks for them, its buckets stay as they are. So a resumed run
        # adds up in the same order as one that was not stopped.
        return DistributedDataParallel(module, find_unused_parameters=True)

    @collective()
    def broadcast_weights(self, module: nn.Module) -> None:
        """Puts the parameters and buffers of process 0 into the modules of all."""
        for tensor in module.state_dict().values() if self.size > 1 else ():
            dist.broadcast(tensor, src=0)

    def device(self, name: str) -> torch.device:
        """Chooses the device: as `choose` does, or where several processes share a machine a GPU for each. Raises
        UserError where there are too few."""
        if self.size == 1 or name == "cpu" or (name == "auto" and not torch.cuda.is_available()):
            return choose(name)
        if name not in ("auto", "cuda"):
            raise UserError(
                f"device={name} is one device, and {self.size} processes train together: choose device=cuda, which "
                "gives each a GPU, or device=cpu"
            )
        if self.local_rank >= torch.cuda.device_count():
            raise UserError(
                f"this machine has {torch.cuda.device_count()} GPUs and more processes than that: start one for each "
                "GPU (torchrun --nproc-per-node), or choose device=cpu"
            )
        # NCCL and allocations without a device take the current one.
        torch.cuda.set_device(self.local_rank)
        return torch.device("cuda", self.local_rank)

    def require_alike(self, facts: Mapping[str, Any]) -> None:
        """Raises UserError where a fact differs between processes."""
        # Every process compares the facts of all, so that all raise the same error and none is left waiting.
        (host, expected), *others = self.all_gather((socket.gethostname(), dict(facts)))
        for rank, (other_host, actual) in enumerate(others, start=1):
            for name in sorted({*expected, *actual}):
                if expected.get(name) != actual.get(name):
                    raise UserError(
                        f"{name} is {expected.get(name)} in process 0 (on {host}) and {actual.get(name)} in process "
                        f"{rank} (on {other_host}): start all with the same command, version and data"
                    )

    def require_shared(self, folder: Path) -> None:
        """Raises UserError where another process does not see the files of process 0 in a folder."""
        if self.size == 1:
            return
        # Each process looks for a file by its path of the folder, which may begin elsewhere.
        probe = folder / f".seen-{self.decided_by_first(lambda: secrets.token_hex(8))}"
        # The others get here only after the first has written the file, so that all can look for it.
        self.decided_by_first(lambda: write_text(probe, []))
        seen = self.all_gather((probe.exists(), socket.gethostname()))
        if self.is_first:
            probe.unlink()
        blind = next(((rank, host) for rank, (sees, host) in enumerate(seen) if not sees), None)
        if blind is not None:
            raise UserError(
                f"process {blind[0]} (on {blind[1]}) does not see the files of process 0 (on {seen[0][1]}) in "
                f"{folder.absolute()}: use one folder that all machines share"
            )

    def barrier(self) -> None:
        """Waits until all processes are here."""
        self.all_gather(None)


ALONE = ProcessGroup()


@contextlib.contextmanager
def synchronized(module: nn.Module, *, when: bool) -> Iterator[None]:
    """Goes around a forward and a backward pass of a `data_parallel` module. when: whether gradients are reduced over
    all processes, in the last pass of an update; before it each process adds up its own."""
    with contextlib.ExitStack() as stack:
        if isinstance(module, DistributedDataParallel) and not when:
            stack.enter_context(module.no_sync())
        with collective():
            yield


def code_digest() -> str:
    """Returns a digest of the project's code."""
    folder = Path(__file__).parent
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        # With its name, so that a file that was moved counts as a change.
        digest.update(str(path.relative_to(folder)).encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:12]
