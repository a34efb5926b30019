"""How layers are computed on this machine, in this precision, for so many rows: see README.md."""
