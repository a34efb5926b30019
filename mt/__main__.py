"""Training: prepare, train, validate, test, draw. `python train.py`, `python -m mt` and `mt-train` are this file."""

import signal
from pathlib import Path
from typing import Any

CORPORA = Path("outputs/corpora")


def main(composed: dict[str, Any], overrides: list[str]) -> None:
    # Not imported above: the processes that prepare text load this file too, and need nothing of it.
    from data_prep.stream import open_corpus
    from data_prep.vocabulary import extended
    from mt import checkpoint
    from mt.cli import merged, save_composed
    from mt.cli.start import started
    from mt.config import Config
    from mt.evaluation.report import table
    from mt.parsing import parse
    from mt.training.initialisation import given_tokenizers, load_earlier, require_same_sizes
    from mt.training.run import complete
    from mt.training.state import begin, resume, run_of

    earlier = composed.pop("resume")
    if earlier is not None:
        run_folder = run_of(Path(earlier))
        config = merged(checkpoint.load_config(run_folder), overrides)
        given = given_tokenizers(run_folder)
        run = resume(config, open_corpus(config.dataset, CORPORA, given), run_folder)
    else:
        start = load_earlier(composed["init_from"], Path(composed["folder"])) if composed["init_from"] else None
        composed = composed if start is None else started(composed, overrides, start.config)
        folder, given = Path(composed.pop("folder")), None
        config = parse(composed, Config)
        if start is not None:
            require_same_sizes(start, config)
            given = start.tokenizers
            if config.init.vocabulary == "extend":
                given = extended(config.dataset, given, config.init.new_pieces)
        run = begin(config, open_corpus(config.dataset, CORPORA, given), folder)
        save_composed(composed, run.folder)
    results = complete(run)
    print(f"{table(results)}\n\n{run.folder}")


def command() -> None:
    """Trains what conf/config.yaml and the command line say."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C ends at once, without a trace, while modules load
    from mt.cli import compose

    compose(main, "config")


if __name__ == "__main__":
    command()
