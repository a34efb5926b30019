"""`python scripts/score.py ...` is `mt score ...`: see --help."""

from mt.__main__ import call

if __name__ == "__main__":
    call("score")
