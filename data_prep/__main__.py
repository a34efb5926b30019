"""`python -m data_prep dataset=... [dry_run=true]` is `mt prepare ...`: make the prepared corpus, or only show it."""

from mt.__main__ import call

if __name__ == "__main__":
    call("prepare")
