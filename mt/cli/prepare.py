"""The commands about data: prepare, which makes or shows a prepared corpus, and get, which downloads a public set."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from data_prep.get import get as download, known
from data_prep.prepare import prepare as make
from data_prep.preview import preview
from mt.cli.composition import STATUS, run_composed
from mt.cli.parser import Parser
from mt.common.options import Options, parse
from mt.common.terminal import say
from mt.data.dataset import DatasetConfig
from mt.errors import reported, visible


class PrepareOptions(Options):
    """The options of `mt prepare`, as in conf/data_prep.yaml."""

    dataset: DatasetConfig
    dry_run: bool
    corpora: str
    runner: Literal["processes", "ray"]


def prepare(arguments: Sequence[str]) -> None:
    """Prepares what conf/data_prep.yaml and the command line say."""
    with reported(STATUS):
        run_composed("data_prep", _prepare, arguments)


def _prepare(composed: dict[str, Any], overrides: list[str]) -> None:
    options = parse(composed, PrepareOptions)
    if not options.dry_run:
        say(str(make(options.dataset, Path(options.corpora), runner=options.runner)))
        return
    # A dry run only reports on the data set, and writes no corpus.
    for line in preview(options.dataset, options.runner):
        say(visible(line))


GET = """Download a public data set into DIR, check it against the sums of this release, and cut its splits.

    mt get                      the sets, with their terms
    mt get multi30k DIR         then: mt train dataset=multi30k dataset.folder=DIR

After an interruption the same command downloads what is not there yet. DIR appears when all of it is right.
DIR/origin.json says where each file came from.
"""


def get(arguments: Sequence[str] | None = None) -> None:
    parser = Parser(GET)
    parser.add_argument("name", nargs="?", metavar="NAME", help="a set; without it, those that there are")
    parser.add_argument("folder", nargs="?", type=Path, metavar="DIR", help="a new folder for the splits")
    parser.add_argument("--mirror", metavar="URL", help="a folder that has the files to download, as file:///copies")
    options = parser.parse_args(arguments)
    with reported():
        # Without a name, the sets are listed; else one is made, with the command that trains on it.
        if options.name is None:
            sets = known().sets
            width = max(map(len, sets))
            for name, public in sets.items():
                say(f"{name:<{width}} {public.title}\n{'':<{width}} {public.licence}")
            return
        folder = options.folder or Path(options.name)
        chosen = download(options.name, folder, options.mirror)
        say(f"{folder}: {chosen.title}; terms: {chosen.licence}")
        if chosen.train:
            say(f"mt train {chosen.train} dataset.folder={folder}")
