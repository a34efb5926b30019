"""Tells which release this is, and how its extras are installed."""

import contextlib
from collections.abc import Iterator

from mt.errors import UserError

DISTRIBUTION = "attentive-mt"
"""The name on PyPI; the package that is imported is `mt`, since the distribution of that name is somebody else's."""
VERSION = "0.4.0.dev0"
"""The release, which pyproject.toml reads here."""


def install(extra: str) -> str:
    """Returns the command that installs one of the extras of pyproject.toml.

    >>> install("speech")
    "pip install 'attentive-mt[speech]'"
    """
    return f"pip install '{DISTRIBUTION}[{extra}]'"


@contextlib.contextmanager
def required(needed: str, extra: str, otherwise: str = "") -> Iterator[None]:
    """Raises UserError where a package that is imported inside is not installed.

    needed: the beginning of the sentence, such as `sound is read by soundfile`. extra: what brings the package.
    otherwise: what else can be done.
    """
    try:
        yield
    except ModuleNotFoundError as error:  # no other, since a library that is there and broken says best what it lacks
        raise UserError(f"{needed}, which is not installed: {install(extra)}{otherwise}") from error
