"""Single operations beside what they replace, forward and backward: the published expressions are written out here.

    python scripts/benchmark.py ops [--shape B T S] [--device cuda] [--json]
    python scripts/benchmark.py additive [--shape B T S H] [--json]

`ops`: the expected alignment beside the clipped closed form, with the largest error of each.
`additive`: the additive energy beside the plain expression, with the memory that a pass adds to a process (Linux).
"""

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path

import torch
from benchmarks.harness import Rows, add_rounds, in_turn, medians, option_parser, print_rows, speedups
from torch import Tensor

from mt.cli.parser import Parser, whole_number
from mt.kernels.additive import additive_energy
from mt.ops.expected import expected_alignment

Function = Callable[..., Tensor]
Shape = tuple[int, ...]


def clipped(p: Tensor, start: Tensor) -> Tensor:
    """Returns the published closed form (Raffel et al. 2017, equation 29, with its guards): cumulative products,
    clipped."""
    survive = torch.nn.functional.pad((1 - p).clamp(1e-10, 1).log().cumsum(-1)[..., :-1], (1, 0)).exp()
    alphas = []
    previous = start
    for p_now, survive_now in zip(p.unbind(1), survive.unbind(1), strict=True):
        previous = p_now * survive_now * (previous / survive_now.clamp(1e-10, 1)).cumsum(-1)
        alphas.append(previous)
    return torch.stack(alphas, 1)


def recurrence(p: Tensor, start: Tensor) -> Tensor:
    """Computes Raffel et al. 2017, equations 13 and 14, in float64, one position at a time."""
    alphas = []
    previous = start.double()
    for p_now in p.double().unbind(1):
        reached = torch.zeros_like(previous[:, 0])
        alpha = []
        for stop, mass in zip(p_now.unbind(1), previous.unbind(1), strict=True):
            reached = reached + mass
            alpha.append(stop * reached)
            reached = (1 - stop) * reached
        previous = torch.stack(alpha, 1)
        alphas.append(previous)
    return torch.stack(alphas, 1)


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


def speeds(functions: Sequence[Function], arguments: Sequence[Tensor], rounds: int) -> dict[str, dict[str, float]]:
    """Returns for each function its median time, and how many times as fast as the first one it is."""
    contenders = {function.__name__: partial(seconds, function, arguments) for function in functions}
    turns = in_turn(contenders, rounds)
    times = medians(turns)
    ratios = speedups([{name: 1 / one for name, one in turn.items()} for turn in turns], functions[0].__name__)
    return {name: {"ms": 1000 * times[name], "ratio": ratios[name]} for name in contenders}


def alignments(shape: Shape, rounds: int, device: str) -> Rows:
    functions = (clipped, expected_alignment)
    p = (8 * torch.rand(*shape) - 4).sigmoid()
    start = torch.eye(1, shape[2]).repeat(shape[0], 1)
    # A few sentences are enough to show an error, and the loop is slow.
    truth = recurrence(p[:2], start[:2])
    p = p.to(device)
    start = start.to(device)
    rows = speeds(functions, (p, start), rounds)
    for function in functions:
        error = (function(p[:2], start[:2]).cpu() - truth).abs().max().item()
        rows[function.__name__]["error_in_millionths"] = 1e6 * error
    return rows


def energies(shape: Shape, rounds: int) -> Rows:
    functions = (plain, additive_energy)
    rows = speeds(functions, energy_inputs(*shape), rounds)
    for function in functions:
        with ProcessPoolExecutor(1, get_context("spawn")) as process:
            rows[function.__name__]["peak_mb"] = process.submit(peak, function, shape).result()
    return rows


def energy_inputs(batch: int, steps: int, positions: int, hidden: int) -> tuple[Tensor, Tensor, Tensor]:
    """Returns random queries, keys and direction."""
    return torch.randn(batch, steps, hidden), torch.randn(batch, positions, hidden), torch.randn(hidden) / hidden**0.5


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


def operation_parser(name: str, axes: str, default: Shape) -> Parser:
    parser = option_parser(name, __doc__)
    add_rounds(parser, 9)
    size = whole_number(1, 1_000_000)
    parser.add_argument("--shape", type=size, nargs=len(default), default=default, metavar="N", help=axes)
    return parser


def compare_alignments(arguments: Sequence[str]) -> None:
    """Runs `benchmark.py ops`."""
    parser = operation_parser("ops", "B T S", (64, 50, 400))
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu", help="default: cpu")
    options = parser.parse_args(arguments)
    if options.device == "cuda" and not torch.cuda.is_available():
        parser.error("--device cuda needs a GPU, and here is none")
    torch.manual_seed(1)
    rows = alignments(tuple(options.shape), options.rounds, options.device)
    print_rows(rows, as_json=options.json, rounds=f"{options.rounds} rounds")


def compare_energies(arguments: Sequence[str]) -> None:
    """Runs `benchmark.py additive`."""
    options = operation_parser("additive", "B T S H", (64, 50, 400, 512)).parse_args(arguments)
    torch.manual_seed(1)
    rows = energies(tuple(options.shape), options.rounds)
    print_rows(rows, as_json=options.json, rounds=f"{options.rounds} rounds")
