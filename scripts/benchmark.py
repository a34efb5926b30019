"""What is fast beside what it replaces, forward and backward, in turn in one process: read the ratios.

    python scripts/benchmark.py ops         the expected alignment beside the clipped closed form (--device cuda)
    python scripts/benchmark.py additive    the additive energy beside the plain expression, and their memory (Linux)
    python scripts/benchmark.py train       training beside a plain PyTorch loop of the same model
    python scripts/benchmark.py decode      greedy and beam search beside plain ones
    python scripts/benchmark.py growth      training, decoding and memory over batch, length and beam
    python scripts/benchmark.py online      softmax, hard monotonic attention and MoChA over the length of a sentence
    python scripts/benchmark.py stream      a word of a stream after many words: its delay, and what is kept;
                                            with --run RUN --audio FILE the real-time factor of a stream of sound

OMP_NUM_THREADS sets the threads.
"""

# Longer than the other scripts: it contains the published expressions that it compares with.

import statistics
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path

import benchmark_decode
import benchmark_growth
import benchmark_online
import benchmark_stream
import benchmark_train
import torch
from torch import Tensor

from mt.command_line import Parser, whole_number
from mt.errors import reported
from mt.ops import additive_energy, expected_alignment
from mt.ops.expected import Wavefront

Function = Callable[..., Tensor]


def clipped(p: Tensor, start: Tensor) -> Tensor:
    """The published closed form (Raffel et al. 2017, equation 29, with its guards): cumulative products, clipped."""
    survive = torch.nn.functional.pad((1 - p).clamp(1e-10, 1).log().cumsum(-1)[..., :-1], (1, 0)).exp()
    rows, previous = [], start
    for p_now, survive_now in zip(p.unbind(1), survive.unbind(1), strict=True):
        previous = p_now * survive_now * (previous / survive_now.clamp(1e-10, 1)).cumsum(-1)
        rows.append(previous)
    return torch.stack(rows, 1)


def recurrence(p: Tensor, start: Tensor) -> Tensor:
    """Raffel et al. 2017, equations 13 and 14, in float64, one position at a time."""
    rows, previous = [], start.double()
    for p_now in p.double().unbind(1):
        reached, alpha = torch.zeros_like(previous[:, 0]), []
        for stop, before in zip(p_now.unbind(1), previous.unbind(1), strict=True):
            reached = reached + before
            alpha.append(stop * reached)
            reached = (1 - stop) * reached
        previous = torch.stack(alpha, 1)
        rows.append(previous)
    return torch.stack(rows, 1)


def wavefront(p: Tensor, start: Tensor) -> Tensor:
    """What `expected_alignment` does where it has neither compiled loops nor a kernel."""
    return Wavefront.apply(p, start)


def plain(queries: Tensor, keys: Tensor, direction: Tensor) -> Tensor:
    return torch.tanh(queries[:, :, None] + keys[:, None]) @ direction


def seconds(function: Function, arguments: Sequence[Tensor]) -> float:
    """Of one forward and backward pass."""
    leaves = [x.detach().requires_grad_() for x in arguments]
    began = time.perf_counter()
    function(*leaves).square().sum().backward()
    if leaves[0].is_cuda:
        torch.cuda.synchronize()
    return time.perf_counter() - began


def speeds(functions: Sequence[Function], arguments: Sequence[Tensor], rounds: int) -> list[str]:
    """Of each function its median time, and the median ratio of the first function's time to its own."""
    turns = [[seconds(function, arguments) for function in functions] for _ in range(rounds + 1)][1:]
    ratios = [[turn[0] / own for own in turn] for turn in turns]
    medians = [[statistics.median(column) for column in zip(*rows, strict=True)] for rows in (turns, ratios)]
    return [f"{1000 * t:.2f} ms, {ratio:.2f} times as fast" for t, ratio in zip(*medians, strict=True)]


def ops(shape: Sequence[int], rounds: int, device: str = "cpu") -> None:
    functions = (clipped, wavefront, expected_alignment)
    p, start = (8 * torch.rand(*shape) - 4).sigmoid(), torch.eye(1, shape[2]).repeat(shape[0], 1)
    # A few sentences are enough to show an error, and the loop is slow.
    truth = recurrence(p[:2], start[:2])
    p, start = p.to(device), start.to(device)
    for function, speed in zip(functions, speeds(functions, (p, start), rounds), strict=True):
        error = (function(p[:2], start[:2]).cpu() - truth).abs().max().item()
        print(f"    {function.__name__}: {speed}, largest error {error:.1e}")


def inputs(batch: int, steps: int, positions: int, hidden: int) -> tuple[Tensor, Tensor, Tensor]:
    return torch.randn(batch, steps, hidden), torch.randn(batch, positions, hidden), torch.randn(hidden) / hidden**0.5


def additive(shape: Sequence[int], rounds: int) -> None:
    functions, peaks = (plain, additive_energy), []
    for function in functions:
        with ProcessPoolExecutor(1, get_context("spawn")) as process:
            peaks.append(process.submit(peak, function, shape).result())
    for function, own, speed in zip(functions, peaks, speeds(functions, inputs(*shape), rounds), strict=True):
        print(f"    {function.__name__}: {speed}, peak {own:.0f} MiB, {own / peaks[0]:.3f} of the first")


def peak(function: Function, shape: Sequence[int]) -> float:
    """MiB that one pass adds to this process, which must be new; gradients are part of it, arguments are not."""
    seconds(function, inputs(2, 2, 2, 2))  # Loads what a pass needs.
    arguments = inputs(*shape)
    before = resident("VmRSS")
    seconds(function, arguments)
    return (resident("VmHWM") - before) / 1024


def resident(field: str) -> int:
    """KiB of this process: VmRSS, now; VmHWM, at most so far."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field))


RUNS: dict[str, tuple[Callable[[Sequence[int], int], None], list[tuple[int, ...]]]] = {
    "ops": (ops, [(64, 30, 30), (64, 50, 400)]),
    "additive": (additive, [(64, 30, 30, 256), (64, 50, 400, 512)]),
}
OTHERS = {
    "train": benchmark_train.main,
    "decode": benchmark_decode.main,
    "growth": benchmark_growth.main,
    "online": benchmark_online.main,
    "stream": benchmark_stream.main,
}


def main() -> None:
    with reported():
        if sys.argv[1:2] and sys.argv[1] in OTHERS:
            OTHERS[sys.argv[1]](sys.argv[2:])
        else:
            compare()


def compare() -> None:
    parser = Parser(__doc__)
    parser.add_argument("what", choices=[*RUNS, *OTHERS], help="the last five have options of their own: see --help")
    parser.add_argument("--rounds", type=whole_number(1, 10_000), default=9, metavar="N")
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu", help="of ops (default: cpu)")
    parser.add_argument(
        "--shape",
        type=whole_number(1, 1_000_000),
        nargs="+",
        metavar="N",
        help="B T S, or B T S H; otherwise two of them",
    )
    options = parser.parse_args()
    run, usual = RUNS[options.what]
    if options.shape and len(options.shape) != len(usual[0]):
        parser.error(
            f"--shape of {options.what} is {len(usual[0])} numbers, as in --shape {' '.join(map(str, usual[0]))}"
        )
    where = f"{torch.get_num_threads()} threads"
    if options.device == "cuda":
        if options.what != "ops" or not torch.cuda.is_available():
            parser.error("--device cuda is for ops, where there is a GPU")
        run, where = partial(ops, device=options.device), torch.cuda.get_device_name()
    print(f"{where}, medians of {options.rounds} rounds, forward and backward")
    for shape in [tuple(options.shape)] if options.shape else usual:
        torch.manual_seed(1)
        print(f"{shape}:")
        run(shape, options.rounds)


if __name__ == "__main__":
    main()
