"""How layers are computed, by machine, precision and number of rows: see README.md."""
