"""`python scripts/average.py ...` is `mt average ...`: see --help."""

from mt.__main__ import call

if __name__ == "__main__":
    call("average")
