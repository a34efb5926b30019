"""The fixtures of components, for every test of this folder."""

from tests.components import batch, case, hard_steps, largest, monotonic, shake  # noqa: F401
