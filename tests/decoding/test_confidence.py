from types import SimpleNamespace
from typing import Any

import numpy as np

from mt.data.placeholders import SYMBOLS
from mt.decoding.confidence import Unsure
from mt.decoding.translation import Translation, Units
from mt.search.hypothesis import Windows


def test_words_that_stand_twice_are_marked_where_they_stand_and_placeholders_never() -> None:
    text = f"see {SYMBOLS[0]} and see"
    log_probs = (-0.1, -9.0, -9.0, -9.0, 0.0)
    windows = Windows.whole(np.full((5, 2), 0.5, np.float32))
    units = Units(target=(0, 1, 2, 3, None))
    written = Translation(
        text, 0.0, (*text.split(), "</s>"), ("a", "</s>"), windows, find_units=lambda: units, log_probs=log_probs
    )
    translator: Any = SimpleNamespace(link_units=("word", "word"))
    assert Unsure(0.5).spans(translator, written) == [(6, 9), (10, 13)]
    assert Unsure(0.5).shown(translator, written) == f"see {SYMBOLS[0]} [?and] [?see]"
