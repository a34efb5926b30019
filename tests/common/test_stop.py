"""Searches ask before each step whether they are to go on."""

import pytest

from mt import Translator
from mt.common.stop import asking
from mt.search.config import BeamConfig, GreedyConfig, SampleConfig


class StopError(Exception):
    pass


@pytest.mark.parametrize("search", [GreedyConfig(), BeamConfig(beam_size=3), SampleConfig(samples=2)])
def test_a_search_ends_at_the_step_that_is_told_so(translator: Translator, search):
    asked = 0

    def ask() -> None:
        nonlocal asked
        asked += 1
        if asked > most:
            raise StopError

    search = search.model_copy(update={"max_length": 9, "min_length": 8})
    most = 1000
    with asking(ask):
        expected = translator.translate("two cats", search)
    assert asked >= 9  # once a batch, and once a step
    for most in range(9):
        asked = 0
        with pytest.raises(StopError), asking(ask):
            translator.translate("two cats", search)
        assert asked == most + 1
    assert translator.translate("two cats", search) == expected  # nobody asks any more
