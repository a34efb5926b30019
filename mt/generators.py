"""The generators of random numbers of a process: those that training goes on from, and others in their place."""

import contextlib
import random
from collections.abc import Iterator

import numpy as np
import torch


def derived_seed(*numbers: int) -> int:
    """Returns a seed of 64 bits that depends on all of these numbers, each at least 0."""
    return int(np.random.SeedSequence(numbers).generate_state(1, np.uint64)[0])


@contextlib.contextmanager
def own_generators(*numbers: int) -> Iterator[None]:
    """Returns a context in which the generators of torch (of the CPU and of all GPUs), NumPy and Python begin at a seed
    that is derived from `numbers`. Afterwards, also after an error, they go on from where they were before."""
    cpu = torch.get_rng_state()
    gpus = torch.cuda.get_rng_state_all() if torch.cuda.is_available() else []
    numpy_state = np.random.get_state()
    python_state = random.getstate()
    seed = derived_seed(*numbers)
    try:
        torch.default_generator.manual_seed(seed)
        if gpus:
            torch.cuda.manual_seed_all(seed)
        np.random.seed(seed % (1 << 32))
        random.seed(seed)
        yield
    finally:
        torch.set_rng_state(cpu)
        if gpus:
            torch.cuda.set_rng_state_all(gpus)
        np.random.set_state(numpy_state)
        random.setstate(python_state)
