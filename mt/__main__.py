"""Training: prepare, train, validate, test, draw. `python train.py`, `python -m mt` and `mt-train` are this file."""

import json
import signal
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
    from mt.training.run import complete
    from mt.training.state import begin, resume, run_of

    earlier, folder = composed.pop("resume"), composed.pop("folder")
    if earlier is not None:
        run_folder = run_of(_path("resume", earlier))
        config = merged(checkpoint.load_config(run_folder), overrides)
        run = resume(config, open_corpus(config.dataset, CORPORA), run_folder)
    else:
        wanted, config = _path("folder", folder), parse(composed, Config)
        run = begin(config, open_corpus(config.dataset, CORPORA), wanted)
        save_composed(composed, run.folder)
    results = complete(run)
    print(f"{table(results)}\n\n{run.folder}")


def command() -> None:
    """Trains what conf/config.yaml and the command line say."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C ends at once, without a trace, while modules load
    from mt.cli import compose

    compose(main, "config")


def _path(option: str, value: Any) -> Path:
    """What was given for a folder. Raises UserError where it is none: `true`, a number, a list, nothing."""
    from mt.errors import UserError

    if not isinstance(value, str) or not value or "\0" in value:
        raise UserError(f"{option}={json.dumps(value)} is no path of a folder: write {option}=outputs/NAME")
    return Path(value)


if __name__ == "__main__":
    command()
