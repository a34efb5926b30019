"""Builds a small model to start from: trains, exports, checks the export, writes its card, and packs it for a release.

    python scripts/models.py phrasebook OUT                  three minutes of two cores
    python scripts/models.py tatoeba-en-de OUT [--data DIR]  under an hour of one core; DIR is made by `mt get tatoeba`
    python scripts/models.py NAME OUT training.max_updates=300      further options of training

OUT/NAME is the folder that `load` takes, OUT/NAME.tar.gz the same for a release, and OUT/run the run.
"""

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from jinja2 import Template

from data_prep.get import get
from mt import load
from mt.cli.parser import Parser
from mt.common.about import VERSION
from mt.common.input_files import sha256
from mt.common.options import Options
from mt.common.terminal import say
from mt.errors import UserError, reported
from mt.export.folder import export
from mt.storage import require_new, write_text

_CHECKED = 100  # sentences that the export translates again
_CARD = Template((Path(__file__).parent / "model_card.md").read_text(encoding="utf-8"), trim_blocks=True)


class Model(Options, frozen=True):
    """A model of the releases.

    options: of the training. public: the data set of `mt get` that it needs. terms: the licence of the weights. data:
    the training data and their authors.
    """

    title: str
    options: tuple[str, ...]
    languages: tuple[str, str]
    public: str | None = None
    terms: str
    data: str
    example: str


MODELS = {
    "phrasebook": Model(
        title="Prices, dates, times and appointments, English to German",
        options=("dataset=phrasebook",),
        languages=("en", "de"),
        terms="mit",
        data="20,000 pairs from a generator of this project. The model knows no other sentences.",
        example="The train to Berlin leaves at half past seven.",
    ),
    "tatoeba-en-de": Model(
        title="Short everyday sentences, English to German",
        options=("dataset=tatoeba", "precision=bf16", "training.epochs=6"),
        languages=("en", "de"),
        public="tatoeba",
        terms="cc-by-2.0",
        data="The training pairs of `mt get tatoeba`: short sentences by the volunteers of tatoeba.org, under CC BY "
        "2.0 FR, as collected by manythings.org/anki. The model is weak on longer sentences and on other domains.",
        example="I would like a cup of tea.",
    ),
}


def build(name: str, out: Path, data: Path | None, overrides: Sequence[str]) -> Path:
    """Builds a model, and returns its archive. Raises UserError if OUT exists, or if the export translates texts
    differently."""
    model = MODELS[name]
    run = out / "run"
    require_new(out)
    out.mkdir(parents=True)
    # The data, where the package has no generator of them.
    options = [*model.options, *overrides]
    if model.public is not None:
        if data is None:
            data = out / "data"
            get(model.public, data)
        options.append(f"dataset.folder={data}")
    # The training, in a process of its own, as a reader would start it.
    begin = time.monotonic()
    done = subprocess.run([sys.executable, "-m", "mt", "train", *options, f"folder={run}"], check=False)
    if done.returncode:
        raise UserError(f"the training ended with status {done.returncode}: its last line says why")
    minutes = (time.monotonic() - begin) / 60
    # The export, its check, its card and its archive.
    folder = out / name
    export(run, folder)
    same = require_same_texts(run, folder)
    write_text(folder / "README.md", card(name, model, options, run, minutes, same).split("\n"))
    archive = shutil.make_archive(str(folder), "gztar", out, name)
    return Path(archive)


def require_same_texts(run: Path, folder: Path) -> int:
    """Translates texts of test again by the export, and returns how many. Raises UserError if more than one in a
    hundred differs from the run's translation."""
    records = [json.loads(line) for line in (run / "alignments" / "test.jsonl").read_text("utf-8").splitlines()]
    records = records[:_CHECKED]
    texts = [translation.text for translation in load(folder).translate([record["source"] for record in records])]
    same = sum(text == record["text"] for text, record in zip(texts, records, strict=True))
    if not records or same < 0.99 * len(records):
        raise UserError(f"{folder} translates {same} of {len(records)} texts as {run} did: report this as a fault")
    return len(records)


def card(name: str, model: Model, options: Sequence[str], run: Path, minutes: float, checked: int) -> str:
    """Returns the page that stands beside the weights, in the form of the Hugging Face hub."""
    results = json.loads((run / "results.json").read_text(encoding="utf-8"))
    return _CARD.render(
        name=name,
        model=model,
        options=[option for option in options if not option.startswith("dataset.folder=")],
        results=results,
        scores={key: results[key] for key in ("bleu", "chrf") if key in results},
        minutes=minutes,
        checked=checked,
        version=VERSION,
    )


def main(arguments: Sequence[str] | None = None) -> None:
    parser = Parser(__doc__)
    parser.add_argument("name", choices=MODELS, metavar="NAME", help=", ".join(MODELS))
    parser.add_argument("out", type=Path, metavar="OUT", help="a new folder")
    parser.add_argument("overrides", nargs="*", metavar="OPTION=VALUE", help="further options of training")
    parser.add_argument("--data", type=Path, metavar="DIR", help="the folder that `mt get` made")
    options = parser.parse_args(arguments)
    with reported():
        archive = build(options.name, options.out, options.data, options.overrides)
        say(f"{archive}  SHA-256 {sha256(archive)}")


if __name__ == "__main__":
    main()
