import gc

import pytest

from mt.startup import loading


@pytest.mark.parametrize("on", [True, False])
def test_garbage_is_looked_for_afterwards_as_before(on: bool) -> None:
    before = gc.isenabled()
    (gc.enable if on else gc.disable)()
    try:
        with pytest.raises(ImportError), loading():
            assert not gc.isenabled()
            import mt.there_is_no_such_module  # type: ignore[import-not-found]  # noqa: F401
        assert gc.isenabled() == on
    finally:
        (gc.enable if before else gc.disable)()
