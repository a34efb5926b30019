"""`python scripts/export.py ...` is `mt export ...`: see --help."""

from mt.__main__ import call

if __name__ == "__main__":
    call("export")
