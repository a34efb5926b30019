"""`python train.py [group=choice] [key=value ...]`: prepare, train, validate, test, draw. See conf/config.yaml."""

import mt.cli.startup  # noqa: F401 - Ctrl-C ends at once while modules load
from mt.__main__ import call

if __name__ == "__main__":
    call("train")
