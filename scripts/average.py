"""Average the weights of chosen checkpoints of one model into a checkpoint that everything takes as it takes a run.

    python scripts/average.py RUN/checkpoints/update-0000400 RUN/checkpoints/update-0000600 --out DIR
    python scripts/average.py RUN/checkpoints/update-* --out DIR

A run stands for its best checkpoint. What is averaged has the same vocabulary and the same model: checkpoints of one
run, or of runs that started from one another (`init_from`), since the mean of models that learnt apart means nothing.
Training averages the last validations by itself, where that is better on dev (training.average_checkpoints).
"""

from collections.abc import Sequence
from pathlib import Path

import mt.cli.interrupt  # noqa: F401 - Ctrl-C ends at once while modules load
from mt.cli.parser import Parser
from mt.common.terminal import say
from mt.errors import reported
from mt.training.saving import average_checkpoints


def main(arguments: Sequence[str] | None = None) -> None:
    parser = Parser(__doc__)
    parser.add_argument("checkpoints", type=Path, nargs="+", metavar="CHECKPOINT", help="or RUN, for its best one")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="the checkpoint to write, a new folder")
    options = parser.parse_args(arguments)
    with reported():
        updates = average_checkpoints(options.checkpoints, options.out)
        say(f"average of updates {', '.join(map(str, updates))}\n\n{options.out}")


if __name__ == "__main__":
    main()
