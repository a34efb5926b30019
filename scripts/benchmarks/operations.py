"""Single operations beside what they replace, forward and backward: the published expressions are written out here.

    python scripts/benchmark.py ops [--shape B T S] [--device cuda]
    python scripts/benchmark.py additive [--shape B T S H]

`ops`: the expected alignment beside the clipped closed form, with the largest error of each.
`additive`: the additive energy beside the plain expression, with the memory that a pass adds to a process (Linux).
"""

import argparse
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path

import torch
from benchmarks.harness import add_rounds, in_turn, medians, speedups
from torch import Tensor

from mt.cli.parser import Parser, whole_number
from mt.kernels.additive import additive_energy
from mt.ops import expected_alignment
from mt.ops.expected import Wavefront

Function = Callable[..., Tensor]
Shape = tuple[int, ...]
ALIGNMENT_SHAPES = [(64, 30, 30), (64, 50, 400)]
ENERGY_SHAPES = [(64, 30, 30, 256), (64, 50, 400, 512)]


def clipped(p: Tensor, start: Tensor) -> Tensor:
    """Returns the published closed form (Raffel et al. 2017, equation 29, with its guards): cumulative products,
    clipped."""
    survive = torch.nn.functional.pad((1 - p).clamp(1e-10, 1).log().cumsum(-1)[..., :-1], (1, 0)).exp()
    rows = []
    previous = start
    for p_now, survive_now in zip(p.unbind(1), survive.unbind(1), strict=True):
        previous = p_now * survive_now * (previous / survive_now.clamp(1e-10, 1)).cumsum(-1)
        rows.append(previous)
    return torch.stack(rows, 1)


def recurrence(p: Tensor, start: Tensor) -> Tensor:
    """Computes Raffel et al. 2017, equations 13 and 14, in float64, one position at a time."""
    rows = []
    previous = start.double()
    for p_now in p.double().unbind(1):
        reached = torch.zeros_like(previous[:, 0])
        alpha = []
        for stop, before in zip(p_now.unbind(1), previous.unbind(1), strict=True):
            reached = reached + before
            alpha.append(stop * reached)
            reached = (1 - stop) * reached
        previous = torch.stack(alpha, 1)
        rows.append(previous)
    return torch.stack(rows, 1)


def wavefront(p: Tensor, start: Tensor) -> Tensor:
    """Computes what `expected_alignment` does where it has neither compiled loops nor a kernel."""
    return Wavefront.apply(p, start)


def plain(queries: Tensor, keys: Tensor, direction: Tensor) -> Tensor:
    """Returns the additive energy as it is written in papers."""
    return torch.tanh(queries[:, :, None] + keys[:, None]) @ direction


def seconds(function: Function, arguments: Sequence[Tensor]) -> float:
    """Returns the seconds of one forward and backward pass."""
    leaves = [x.detach().requires_grad_() for x in arguments]
    start = time.perf_counter()
    function(*leaves).square().sum().backward()
    if leaves[0].is_cuda:
        torch.cuda.synchronize()
    return time.perf_counter() - start


def describe_speeds(functions: Sequence[Function], arguments: Sequence[Tensor], rounds: int) -> list[str]:
    """Returns for each function its median time, and how many times as fast as the first one it is."""
    contenders = {function.__name__: partial(seconds, function, arguments) for function in functions}
    turns = in_turn(contenders, rounds)
    times = medians(turns)
    ratios = speedups([{name: 1 / one for name, one in turn.items()} for turn in turns], functions[0].__name__)
    return [f"{1000 * times[name]:.2f} ms, {ratios[name]:.2f} times as fast" for name in contenders]


def print_alignments(shape: Shape, rounds: int, device: str) -> None:
    functions = (clipped, wavefront, expected_alignment)
    p = (8 * torch.rand(*shape) - 4).sigmoid()
    start = torch.eye(1, shape[2]).repeat(shape[0], 1)
    # A few sentences are enough to show an error, and the loop is slow.
    truth = recurrence(p[:2], start[:2])
    p = p.to(device)
    start = start.to(device)
    for function, speed in zip(functions, describe_speeds(functions, (p, start), rounds), strict=True):
        error = (function(p[:2], start[:2]).cpu() - truth).abs().max().item()
        print(f"    {function.__name__}: {speed}, largest error {error:.1e}")


def energy_inputs(batch: int, steps: int, positions: int, hidden: int) -> tuple[Tensor, Tensor, Tensor]:
    """Returns random queries, keys and direction."""
    return torch.randn(batch, steps, hidden), torch.randn(batch, positions, hidden), torch.randn(hidden) / hidden**0.5


def print_energies(shape: Shape, rounds: int) -> None:
    functions = (plain, additive_energy)
    peaks = []
    for function in functions:
        with ProcessPoolExecutor(1, get_context("spawn")) as process:
            peaks.append(process.submit(peak, function, shape).result())
    speeds = describe_speeds(functions, energy_inputs(*shape), rounds)
    for function, memory, speed in zip(functions, peaks, speeds, strict=True):
        print(f"    {function.__name__}: {speed}, peak {memory:.0f} MiB, {memory / peaks[0]:.3f} of the first")


def peak(function: Function, shape: Shape) -> float:
    """Returns the MiB that one pass adds to this process, which must be new; gradients are part of it, arguments are
    not."""
    seconds(function, energy_inputs(2, 2, 2, 2))  # Loads what a pass needs.
    arguments = energy_inputs(*shape)
    before = resident("VmRSS")
    seconds(function, arguments)
    return (resident("VmHWM") - before) / 1024


def resident(field: str) -> int:
    """Returns the KiB of this process in memory. field: VmRSS, now; VmHWM, at most so far."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field))


def compare_alignments(arguments: Sequence[str]) -> None:
    """Runs `benchmark.py ops`."""
    parser = operation_parser("ops", "B T S")
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu", help="default: cpu")
    options = parser.parse_args(arguments)
    machine = f"{torch.get_num_threads()} threads"
    if options.device == "cuda":
        if not torch.cuda.is_available():
            parser.error("--device cuda needs a GPU, and here is none")
        machine = torch.cuda.get_device_name()
    compare(partial(print_alignments, device=options.device), ALIGNMENT_SHAPES, options, machine)


def compare_energies(arguments: Sequence[str]) -> None:
    """Runs `benchmark.py additive`."""
    options = operation_parser("additive", "B T S H").parse_args(arguments)
    compare(print_energies, ENERGY_SHAPES, options, f"{torch.get_num_threads()} threads")


def operation_parser(name: str, axes: str) -> Parser:
    parser = Parser(__doc__, prog=f"benchmark.py {name}")
    add_rounds(parser, 9)
    parser.add_argument(
        "--shape",
        type=whole_number(1, 1_000_000),
        nargs=len(axes.split()),
        metavar="N",
        help=f"{axes}; otherwise two of them",
    )
    return parser


def compare(
    print_shape: Callable[[Shape, int], None], shapes: Sequence[Shape], options: argparse.Namespace, machine: str
) -> None:
    print(f"{machine}, medians of {options.rounds} rounds, forward and backward")
    for shape in [tuple(options.shape)] if options.shape else shapes:
        torch.manual_seed(1)
        print(f"{shape}:")
        print_shape(shape, options.rounds)
