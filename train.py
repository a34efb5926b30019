"""`python train.py [group=choice] [key=value ...]`: prepare, train, validate, test, draw. See conf/config.yaml."""

import signal

if __name__ == "__main__" and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C ends at once, without a trace, while modules load

from mt.__main__ import command

if __name__ == "__main__":
    command()
