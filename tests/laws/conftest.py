"""The fixtures of components, for every law."""

from tests.components import batch, case, hard_steps, largest, monotonic, shake  # noqa: F401
from tests.models.encoders.conftest import mask, vectors  # noqa: F401
