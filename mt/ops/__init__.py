"""The papers' mathematics: pure functions of tensors, each tested against a float64 loop (tests/ops/oracle.py)."""
