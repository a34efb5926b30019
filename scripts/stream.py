"""`python scripts/stream.py ...` is `mt stream ...`: see --help."""

from mt.__main__ import call

if __name__ == "__main__":
    call("stream")
