"""`python -m data_prep dataset=... [part=i/n|merge] [dry_run=true]`, or `mt-prepare`: make the prepared corpus, or
a part of it, or only show it."""

from pathlib import Path
from typing import Any


def main(composed: dict[str, Any], overrides: list[str]) -> None:
    # Not imported above: the processes that prepare text load this file too, and need nothing of it.
    from data_prep.memory import guarded
    from data_prep.parts import MERGE, Part
    from data_prep.prepare import merge_parts, prepare, prepare_part
    from data_prep.preview import preview
    from mt.common.options import parse
    from mt.common.terminal import say
    from mt.data.dataset import DatasetConfig
    from mt.errors import UserError, visible

    part = composed["part"]
    root = Path(composed["corpora"])
    runner = composed["runner"]
    config = parse(composed["dataset"], DatasetConfig, "dataset")
    if composed["dry_run"] and part is not None:
        raise UserError(f"dry_run=true looks at the whole dataset: leave out part={part}")
    if composed["dry_run"]:
        with guarded():
            for line in preview(config):
                say(visible(line))
    elif part == MERGE:
        say(str(merge_parts(config, root, runner=runner)))
    elif part is not None:
        say(f"part {part} of {prepare_part(config, root, Part.parse(part), runner=runner)}")
    else:
        say(str(prepare(config, root, runner=runner)))


def command() -> None:
    """Prepares what conf/data_prep.yaml and the command line say."""
    from mt.cli.command import compose

    compose(main, "data_prep")


if __name__ == "__main__":
    command()
