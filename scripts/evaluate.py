"""`python scripts/evaluate.py ...` is `mt evaluate ...`: see --help."""

from mt.__main__ import call

if __name__ == "__main__":
    call("evaluate")
