from tests.search.conftest import make_toy

__all__ = ["make_toy"]
