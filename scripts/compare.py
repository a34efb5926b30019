"""`python scripts/compare.py ...` is `mt compare ...`: see --help."""

from mt.__main__ import call

if __name__ == "__main__":
    call("compare")
