"""Scripts are called as in their own tests."""

from tests.scripts.conftest import call  # noqa: F401
