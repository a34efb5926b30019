"""Tells which release this is, and how its extras are installed."""

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
