"""Speed beside a plain implementation, both in turn in one process: the ratios are what counts.

    python scripts/benchmark.py train       training beside a plain PyTorch loop of the same model
    python scripts/benchmark.py decode      greedy and beam search beside plain ones
    python scripts/benchmark.py online      softmax, hard monotonic attention and MoChA over the length of a sentence
    python scripts/benchmark.py stream      a word of a stream after many words: its delay, and what is kept;
                                            with --run RUN --audio FILE the real-time factor of a stream of sound
    python scripts/benchmark.py serve       mt serve under load, beside a plain FastAPI handler

Each has options of its own: see `python scripts/benchmark.py train --help`. OMP_NUM_THREADS sets the threads.
"""

import sys

from mt.cli.parser import Parser
from mt.cli.startup import set_up
from mt.errors import reported


def main() -> None:
    set_up()
    from benchmarks import BENCHMARKS  # which load torch

    name, *arguments = sys.argv[1:] or [""]
    if name in BENCHMARKS:
        with reported():
            BENCHMARKS[name](arguments)
        return
    parser = Parser(__doc__)
    parser.add_argument("benchmark", choices=[*BENCHMARKS])
    parser.parse_args(sys.argv[1:2])


if __name__ == "__main__":
    main()
