"""Training: prepare, train, validate, test, draw. `python train.py`, `python -m mt` and `mt-train` are this file."""

import signal
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mt.data.tokenizer import Tokenizers

CORPORA = Path("outputs/corpora")


def main(composed: dict[str, Any], overrides: list[str]) -> None:
    # Not imported above: the processes that prepare text load this file too, and need nothing of it.
    from data_prep.stream import open_corpus
    from mt import checkpoint
    from mt.cli import merged, save_composed
    from mt.config import Config
    from mt.evaluation.report import table
    from mt.parsing import parse
    from mt.training.initialisation import given_tokenizers
    from mt.training.run import complete
    from mt.training.state import begin, resume, run_of

    earlier, folder = composed.pop("resume"), Path(composed.pop("folder"))
    if earlier is not None:
        run_folder = run_of(Path(earlier))
        config = merged(checkpoint.load_config(run_folder), overrides)
        run = resume(config, open_corpus(config.dataset, CORPORA, given_tokenizers(run_folder)), run_folder)
    else:
        composed, folder, given = _started(composed, overrides, folder)
        config = parse(composed, Config)
        run = begin(config, open_corpus(config.dataset, CORPORA, given), folder)
        save_composed(composed, run.folder)
    results = complete(run)
    print(f"{table(results)}\n\n{run.folder}")


def _started(
    composed: dict[str, Any], overrides: list[str], folder: Path
) -> "tuple[dict[str, Any], Path, Tokenizers | None]":
    """What was composed, and the run's folder, as they are where the run starts from another (`init_from`), with the
    tokenizers that it takes; else unchanged, and None."""
    if composed["init_from"] is None:
        return composed, folder, None
    from data_prep.vocabulary import extended
    from mt.cli.start import renamed, started
    from mt.config import Config
    from mt.parsing import parse
    from mt.training.initialisation import load_earlier, require_same_sizes

    earlier = load_earlier(composed["init_from"], folder)
    composed = started(composed, overrides, earlier.config)
    config = parse(composed, Config)
    require_same_sizes(earlier, config)
    given = earlier.tokenizers
    if config.init.vocabulary == "extend":
        given = extended(config.dataset, given, config.init.new_pieces)
    return composed, renamed(folder, overrides, composed), given


def command() -> None:
    """Trains what conf/config.yaml and the command line say."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C ends at once, without a trace, while modules load
    from mt.cli import compose

    compose(main, "config")


if __name__ == "__main__":
    command()
