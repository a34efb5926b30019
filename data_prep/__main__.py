"""`python -m data_prep dataset=... [dry_run=true]`, or `mt-prepare`: make the prepared corpus, or only show it."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal


def main(composed: dict[str, Any], overrides: list[str]) -> None:
    # Not imported above: the processes that prepare text load this file too, and need nothing of it.
    from data_prep.prepare import prepare
    from data_prep.preview import preview
    from mt.common.options import Options, parse
    from mt.common.terminal import say
    from mt.data.dataset import DatasetConfig
    from mt.errors import visible

    class PrepareOptions(Options):
        dataset: DatasetConfig
        dry_run: bool
        corpora: str
        runner: Literal["processes", "ray"]

    options = parse(composed, PrepareOptions)
    config = options.dataset
    # A dry run only reports on the dataset, and writes no corpus.
    if options.dry_run:
        for line in preview(config, options.runner):
            say(visible(line))
        return
    say(str(prepare(config, Path(options.corpora), runner=options.runner)))


def command(arguments: Sequence[str]) -> None:
    """Prepares what conf/data_prep.yaml and the command line say."""
    from mt.cli.composition import STATUS, run_composed
    from mt.errors import reported

    with reported(STATUS):
        run_composed("data_prep", main, arguments)


if __name__ == "__main__":
    from mt.__main__ import call

    call("prepare")
