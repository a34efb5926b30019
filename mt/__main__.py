"""Training: prepare, train, validate, test, draw. `python train.py`, `python -m mt` and `mt-train` are this file."""

from pathlib import Path
from typing import Any

CORPORA = Path("outputs/corpora")


def main(composed: dict[str, Any], overrides: list[str]) -> None:
    # Not imported above: the processes that prepare text load this file too, and need nothing of it.
    from data_prep.stream import open_corpus
    from mt import checkpoint
    from mt.cli import merged, save_composed
    from mt.config import Config
    from mt.evaluation.report import table
    from mt.parsing import parse
    from mt.training.run import begin, complete, resume

    earlier, folder = composed.pop("resume"), Path(composed.pop("folder"))
    if earlier:
        folder = Path(earlier)
        config = merged(checkpoint.load_config(folder), overrides)
        run = resume(config, open_corpus(config.dataset, CORPORA), folder)
    else:
        config = parse(composed, Config)
        run = begin(config, open_corpus(config.dataset, CORPORA), folder)
        save_composed(composed, run.folder)
    results = complete(run)
    print(f"{table(results)}\n\n{run.folder}")


def command() -> None:
    """Trains what conf/config.yaml and the command line say."""
    from mt.cli import compose

    compose(main, "config")


if __name__ == "__main__":
    command()
