"""`python scripts/translate.py ...` is `mt translate ...`: see --help."""

from mt.__main__ import call

if __name__ == "__main__":
    call("translate")
