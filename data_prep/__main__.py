"""`python -m data_prep dataset=... [part=i/n|merge] [dry_run=true]`, or `mt-prepare`: make the prepared corpus, or
a part of it, or only show it."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any


def main(composed: dict[str, Any], overrides: list[str], presets: Sequence[str] = ()) -> None:
    # Not imported above: the processes that prepare text load this file too, and need nothing of it.
    from data_prep.guards import guarded
    from data_prep.parallel import Part, parse_part
    from data_prep.prepare import prepare
    from data_prep.preview import preview
    from mt.common.options import parse
    from mt.common.terminal import say
    from mt.data.dataset import DatasetConfig
    from mt.errors import UserError, visible

    config = parse(composed["dataset"], DatasetConfig, "dataset")
    # A dry run only reports on the dataset, and writes no corpus.
    if composed["dry_run"]:
        if composed["part"] is not None:
            raise UserError(f"dry_run=true looks at the whole dataset: leave out part={composed['part']}")
        with guarded():
            for line in preview(config):
                say(visible(line))
        return
    # Otherwise the corpus is made, or one part of it, as several machines do together.
    part = None if composed["part"] is None else parse_part(composed["part"])
    folder = prepare(config, Path(composed["corpora"]), part=part, runner=composed["runner"])
    say(f"part {part} of {folder}" if isinstance(part, Part) else str(folder))


def command(arguments: Sequence[str]) -> None:
    """Prepares what conf/data_prep.yaml and the command line say."""
    from mt.cli.command import compose

    compose(main, "data_prep", arguments)


if __name__ == "__main__":
    from mt.__main__ import call

    call("prepare")
