"""From sources to translations: the Python API, and the one path by which anything is decoded."""
