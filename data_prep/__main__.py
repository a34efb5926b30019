"""`python -m data_prep dataset=... [dry_run=true]`, or `mt-prepare`: make the prepared corpus, or only show it."""

from pathlib import Path
from typing import Any


def main(composed: dict[str, Any], overrides: list[str]) -> None:
    # Not imported above: the processes that prepare text load this file too, and need nothing of it.
    from data_prep.prepare import prepare
    from data_prep.preview import preview
    from mt.data.dataset import DatasetConfig
    from mt.parsing import parse

    config = parse(composed["dataset"], DatasetConfig, "dataset")
    if composed["dry_run"]:
        for line in preview(config):
            print(line)
    else:
        print(prepare(config, Path(composed["corpora"])))


def command() -> None:
    """Prepares what conf/data_prep.yaml and the command line say."""
    from mt.cli import compose

    compose(main, "data_prep")


if __name__ == "__main__":
    command()
