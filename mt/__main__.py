"""`mt VERB ...`, `python -m mt VERB ...`, and `mt-VERB`: one door to every command.

Each verb names a function, which is imported when the verb is called.
"""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from pkgutil import resolve_name

from mt.cli.startup import set_up

VERBS: Mapping[str, tuple[str, str]] = {
    "train": ("mt.cli.train:command", "prepare text, train, validate, test, draw"),
    "get": ("mt.cli.prepare:get", "download a public data set, and cut its splits"),
    "prepare": ("mt.cli.prepare:prepare", "make the prepared corpus of a data set, or look at its text"),
    "translate": ("mt.cli.decode:translate", "translate a file or standard input"),
    "stream": ("mt.cli.decode:stream", "translate while the source is still arriving"),
    "evaluate": ("mt.cli.decode:evaluate", "decode and score a split of a run's data"),
    "score": ("mt.cli.score:score", "score plain text files, logs of streams, or pairs by a run's probability"),
    "align": ("mt.cli.align:align", "link the words of given translations"),
    "lexicon": ("mt.cli.lexicon:lexicon", "write a pronunciation lexicon for a list of words"),
    "compare": ("mt.cli.runs:compare", "one table and one page over runs"),
    "average": ("mt.cli.runs:average", "average the weights of checkpoints"),
    "export": ("mt.cli.runs:export", "write what decoding needs to a folder, for torch or ONNX Runtime"),
    "serve": ("mt.cli.serve:serve", "answer requests over HTTP and WebSocket, and show what the attention does"),
}
"""Where the function of each verb is, and what it does."""


def main() -> None:
    """Runs `mt VERB ...`; without a verb, it lists all verbs. `python -m mt` trains, with or without options."""
    verb = sys.argv[1] if len(sys.argv) > 1 else ""
    program = Path(sys.argv[0]).name
    if program.startswith("mt-"):
        call(program.removeprefix("mt-"))
    elif verb in VERBS:
        call(verb, sys.argv[2:])
    # An option in place of a verb: `python -m mt seed=2` trains.
    elif program == "__main__.py" and verb != "--version" and ("=" in verb or verb[:1] in ("", *"-+~")):
        call("train")
    else:
        _without_verb(verb)


def call(verb: str, arguments: Sequence[str] | None = None) -> None:
    """Calls a verb with the command line that follows it. A missing package is reported in one sentence."""
    set_up()
    try:
        resolve_name(VERBS[verb][0])(sys.argv[1:] if arguments is None else list(arguments))
    except ModuleNotFoundError as error:
        # A missing module of this project is a fault of ours, not an extra that the user left out.
        if error.name is None or error.name.partition(".")[0] in ("mt", "data_prep"):
            raise
        from mt.common.about import install
        from mt.errors import UserError, reported

        with reported():
            extra = "serve" if verb == "serve" else "train"
            raise UserError(f"mt {verb} needs {error.name}, which is not installed: {install(extra)}") from error


def _without_verb(verb: str) -> None:
    """Prints the verbs, or the release; refuses other words."""
    from mt.common.about import VERSION
    from mt.common.terminal import say
    from mt.errors import UserError, nearest, reported, shown

    with reported():
        if verb == "--version":
            say(f"mt {VERSION}")
        elif verb in ("", "-h", "--help"):
            verbs = "\n".join(f"  {name:<10} {what}" for name, (_, what) in VERBS.items())
            say(f"mt VERB ..., of which\n\n{verbs}\n\nmt VERB --help: what it takes")
        else:
            raise UserError(f"mt {shown(verb)} is no command: {nearest(verb, VERBS)}")


if __name__ == "__main__":
    main()
