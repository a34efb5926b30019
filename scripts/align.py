"""`python scripts/align.py ...` is `mt align ...`: see --help."""

from mt.__main__ import call

if __name__ == "__main__":
    call("align")
