"""`python scripts/benchmark.py ops`: what is fast beside what it replaces, in turn in one process; read the ratios."""

import argparse
import statistics
import time
from collections.abc import Callable

import torch
from torch import Tensor

from mt.ops import expected_alignment, oracle

SHAPES = ((64, 30, 30), (64, 50, 400))


def clipped(p: Tensor, start: Tensor) -> Tensor:
    """The published closed form (Raffel et al. 2017, equation 29, with its guards): cumulative products, clipped."""
    survive = torch.nn.functional.pad((1 - p).clamp(1e-10, 1).log().cumsum(-1)[..., :-1], (1, 0)).exp()
    rows, previous = [], start
    for p_now, survive_now in zip(p.unbind(1), survive.unbind(1), strict=True):
        previous = p_now * survive_now * (previous / survive_now.clamp(1e-10, 1)).cumsum(-1)
        rows.append(previous)
    return torch.stack(rows, 1)


def seconds(function: Callable[[Tensor, Tensor], Tensor], p: Tensor, start: Tensor) -> float:
    """Of one forward and backward pass."""
    began = time.perf_counter()
    function(p, start).square().sum().backward()
    return time.perf_counter() - began


def ops(rounds: int) -> None:
    """Time and error of `expected_alignment` beside the clipped closed form, for energies uniform in [-4, 4]."""
    print(f"{torch.get_num_threads()} threads, median of {rounds} rounds, forward and backward")
    for batch, steps, positions in SHAPES:
        torch.manual_seed(1)
        p = (8 * torch.rand(batch, steps, positions) - 4).sigmoid().requires_grad_()
        start = torch.zeros(batch, positions)
        start[:, 0] = 1.0
        pairs = [(seconds(clipped, p, start), seconds(expected_alignment, p, start)) for _ in range(rounds + 1)][1:]
        theirs, ours = (statistics.median(column) for column in zip(*pairs, strict=True))
        ratio = statistics.median(a / b for a, b in pairs)
        # A few sentences are enough to show an error, and the oracle is slow.
        few, few_start = p[:2].detach(), start[:2]
        truth = oracle.expected_alignment(few, few_start)
        errors = [(function(few, few_start) - truth).abs().max().item() for function in (clipped, expected_alignment)]
        print(
            f"({batch}, {steps}, {positions})  clipped {1000 * theirs:.1f} ms, ours {1000 * ours:.1f} ms, "
            f"ratio {ratio:.1f}; largest error {errors[0]:.1e} and {errors[1]:.1e}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("ops",))
    parser.add_argument("--rounds", type=int, default=9)
    ops(parser.parse_args().rounds)


if __name__ == "__main__":
    main()
