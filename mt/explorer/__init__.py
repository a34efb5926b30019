"""The page that draws alignments in a browser: gallery of a run, comparison, notebook and server are all this one.

It is one HTML file that asks for nothing else: style, scripts and data stand in it. Its policy lets the browser run
these scripts alone. What the scripts draw are the records of `mt.decoding.record`."""

import json
import re
from base64 import b64encode
from collections.abc import Mapping, Sequence
from hashlib import sha256
from html import escape
from pathlib import Path
from typing import Any

from mt.errors import visible

_FOLDER = Path(__file__).parent
DRAWING = ("draw.js", "gallery.js")
"""The scripts of every page."""
LIVE = ("live.js", "captions.js")
"""The scripts of a page that a server stands behind."""
LISTENING = (_FOLDER / "listen.js").read_text(encoding="utf-8")
"""The script of the microphone, which a server gives as `listen.js`."""
_UNSAFE = re.compile("[<\x7f-\x9f\u2028\u2029]")
"""Characters that JSON does not escape, but that a page or a terminal would interpret."""


def page(title: str, runs: Sequence[Mapping[str, Any]], *, live: bool = False, before: str = "") -> str:
    """Returns the page.

    runs: each with its `name` and its `records`, and some `notes`, a sentence each, if any. The records of several runs
    are of the same sentences. live: whether a server answers, of which the page asks translations. before: HTML that
    stands above the drawings.
    """
    style = (_FOLDER / "style.css").read_text(encoding="utf-8")
    scripts = [(_FOLDER / name).read_text(encoding="utf-8") for name in (*DRAWING, *(LIVE if live else ()))]
    heading = escape(visible(title))
    # The policy comes first, since it governs only what stands behind it.
    parts = [
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{_policy(style, scripts, live=live)}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{heading}</title><style>{style}</style></head><body>",
        f"<header><h1>{heading}</h1></header>{before}",
        '<main id="explorer"><noscript>This page draws alignments by JavaScript, which is off.</noscript></main>',
        f'<script type="application/json" id="data">{as_json({"runs": runs, "live": live})}</script>',
        *(f"<script>{script}</script>" for script in scripts),
        "</body></html>",
    ]
    return "\n".join(parts)


def as_json(value: Any) -> str:
    """Returns JSON that can stand within a page: no text in it ends its script, or changes a terminal."""
    plain = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return _UNSAFE.sub(lambda match: f"\\u{ord(match[0]):04x}", plain)


def _policy(style: str, scripts: Sequence[str], *, live: bool) -> str:
    """Returns the content security policy: the browser runs the scripts and styles of this page alone. With a server it
    may also send requests there, and run its one script, `listen.js`."""
    hashes = " ".join(_hash(script) for script in scripts)
    hashes += " 'self'" if live else ""
    server = "'self'" if live else "'none'"
    return (
        f"default-src 'none'; script-src {hashes}; style-src {_hash(style)}; img-src data: blob:; media-src blob:; "
        f"connect-src {server}; base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    """Returns the source expression of a script or a style that stands in a page."""
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"
