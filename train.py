"""`python train.py [group=choice] [key=value ...]`: prepare, train, validate, test, draw. See conf/config.yaml."""

from mt.__main__ import call

if __name__ == "__main__":
    call("train")
