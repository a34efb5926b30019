"""The command `serve`: its manual, which `--help` prints, and its function."""

import argparse
import os
from collections.abc import Sequence
from pathlib import Path

from mt.cli.arguments import add_model_options, load_translator
from mt.cli.parser import Parser, whole_number
from mt.errors import UserError, reported

SERVE = """Serve runs over HTTP and WebSocket: a page that shows what the attention does, and routes that clients of
LibreTranslate speak (docs/serving.md).

    mt serve RUN [RUN ...]
    mt serve NAME=RUN [NAME=RUN ...] --host 0.0.0.0 --port 8000

Each RUN is served by a name, by default that of its folder; the first is the default. Prints the address, and on
standard error a line for each request, without its text. SIGTERM ends it when requests that have begun are answered, or
some seconds later.
The environment variable MT_SERVE_KEY is the key that clients have to know, where it is set.
"""


def serve(arguments: Sequence[str] | None = None) -> None:
    parser = Parser(SERVE)
    parser.add_argument("runs", nargs="+", metavar="RUN", help="a run's folder, hf://OWNER/NAME, or NAME=RUN")
    parser.add_argument("--host", default="127.0.0.1", help="the address to listen at; 127.0.0.1: this machine alone")
    parser.add_argument("--port", type=whole_number(0, 65535), default=5000, metavar="N", help="0: any that is free")
    add_model_options(parser, engine=True)
    parser.add_argument(
        "--origin", action="append", default=[], metavar="URL", help="pages that may ask, too, as https://example.org"
    )
    options = parser.parse_args(arguments)
    with reported():
        from mt.serve.app import build
        from mt.serve.guard import require_origin
        from mt.serve.limits import Limits
        from mt.serve.server import listen, serve as run

        origins = [require_origin(origin) for origin in options.origin]
        key = require_key(os.environ.get("MT_SERVE_KEY"))
        # The port is taken first: that it is in use shows before the models are loaded.
        limits = Limits()
        listening = listen(options.host, options.port)
        named = _named(options.runs)
        translators = {
            name: load_translator(argparse.Namespace(**vars(options), run=[run])) for name, run in named.items()
        }
        # A server of this machine alone answers only to its names.
        # Asked of the socket, since --host may be a name, such as localhost.
        local = listening.getsockname()[0] in ("127.0.0.1", "::1")
        run(build(translators, limits, key=key, origins=origins, local=local), listening, limits)


def require_key(key: str | None) -> str | None:
    """Returns the key that clients have to know. Raises UserError for one that nobody can send."""
    if key is not None and (not key.isprintable() or key != key.strip() or not key):
        raise UserError(
            "MT_SERVE_KEY is set, and is no key that a client could send: give it one of visible characters, or unset "
            "it to serve whoever asks"
        )
    return key


def _named(runs: Sequence[str]) -> dict[str, Path]:
    """Returns the runs by the names that they are served by. Raises UserError where two have one name."""
    named: dict[str, Path] = {}
    for run in runs:
        # Without NAME= the name is that of the folder.
        name, equals, path = run.partition("=")
        if not equals:
            path = run
            name = Path(run).resolve().name
        if name in named or not name:
            raise UserError(f"{run} would be served by the name of another run, {name}: give it one, as NAME={path}")
        named[name] = Path(path)
    return named
