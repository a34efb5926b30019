import errno
import multiprocessing
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from mt.decoding.translation import Linking, Translation, Units, links_between_pieces as links
from mt.decoding.translator import Translator
from mt.errors import UserError, unwritten
from mt.search.config import GreedyConfig, OnlineConfig
from mt.search.hypothesis import EMPTY, Windows


def test_links_join_words_of_the_text(translator: Translator) -> None:
    """`zzq` and `4%x` are unknown: the first is a token and a word, the second three words of the text."""
    (own,) = translator.translate(["the big cats see houses"], GreedyConfig())
    (forced,) = translator.align(["the big cats see houses"], [own.text])
    assert forced.links == own.links and {j for _, j in own.links} == set(range(len(own.text.split())))
    (strange,) = translator.align(["two zzq cats 4%x see"], ["zwei Katzen sehen"])
    assert max(unit for unit in strange.units.source if unit is not None) == 6  # two zzq cats 4 % x see
    assert strange.units.source[-1] is None and len(strange.units.source) == len(strange.source_tokens)
    assert translator.translate("").links == set()
    text = "two zzq cats 4%x see"
    alone = translator.translate(text)
    assert max(unit for unit in alone.units.source if unit is not None) == 6
    assert translator.translate(["", "two", text])[2].units.source == alone.units.source


def test_a_process_may_send_a_translation_to_another(translator: Translator) -> None:
    result = translator.translate("two zzq cats 4%x see")
    sender, receiver = multiprocessing.Pipe()
    sender.send(result)
    copy = receiver.recv()
    assert copy == result and replace(copy, linking=Linking(0.3)).links == replace(result, linking=Linking(0.3)).links


def test_it_reads_as_a_person_would_say_it(translator: Translator) -> None:
    result = translator.translate("two cats see houses")
    assert repr(result) == f"Translation({result.text!r}, score {result.score:.2f}, 5 tokens from 5 tokens)"
    parameters = sum(p.numel() for p in translator.model.parameters())
    parts = f"encoder=bilstm, attention=general, decoder=luong: {parameters:,} parameters on cpu"
    assert repr(translator) == f"Translator(dataset=tiny, {parts})"


def test_a_translation_draws_itself(translator: Translator, hard: Translator, tmp_path: Path) -> None:
    result = translator.translate("two cats see houses")
    result.plot(tmp_path / "one.png")
    result.plot(str(tmp_path / "two.png"))
    assert (tmp_path / "one.png").read_bytes() == (tmp_path / "two.png").read_bytes()
    assert (tmp_path / "one.png").read_bytes().startswith(b"\x89PNG")
    assert result.figure().axes[0].get_title(loc="left") == result.text
    online = hard.translate("two cats see houses", OnlineConfig())
    axes = online.figure("title").axes[0]
    marks = [text.get_text() for text in axes.get_legend().get_texts()]
    assert marks == ["stop", "chunk of 2", "reads and writes", "not read yet"]
    assert online.timing is not None and axes.lines[0].get_xdata()[-1] == online.timing.delays[-1] - 0.5
    with pytest.raises(UserError, match=r"^there is no alignment to draw: the text is blank, or the model attended to"):
        translator.translate("").plot(tmp_path / "none.png")
    with pytest.raises(UserError, match=r"absent/one\.png cannot be written \(No such file or directory\): give"):
        result.plot(tmp_path / "absent" / "one.png")
    os.mkfifo(tmp_path / "pipe.png")
    with pytest.raises(UserError, match=r"pipe\.png cannot be written \(is no regular file\): give"):
        result.plot(tmp_path / "pipe.png")
    (tmp_path / "pipe.png").unlink()
    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    assert unwritten("one.png", full, "") == "one.png cannot be written (No space left on device): free disk space"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one.png", "two.png"]


THREE = Windows(np.array([0.25, 0.75, 1.0, 0.5, 0.5], np.float32), np.array([2, 0, 0, 1]), np.array([2, 1, 0, 2]))


def test_links_are_where_most_weight_is_or_a_stop():
    assert links(THREE) == {(3, 0), (0, 1), (1, 3)}
    stopped = THREE._replace(stops=np.array([2, 0, -1, 2]))
    assert links(stopped, stops=True) == {(2, 0), (0, 1), (2, 3)} and links(stopped) == links(THREE)
    assert links(EMPTY) == set()


def test_a_share_is_of_the_weight_of_words():
    """The pieces of a source word add up, and those of a target word are averaged: no piece has half of the weight."""
    weights = np.array([[0.3, 0.3, 0.4, 0.0], [0.2, 0.1, 0.3, 0.4], [0.0, 0.1, 0.9, 0.0], [0.0, 0.0, 0.0, 1.0]])
    both = Translation(
        "ab c", 0.0, ("a", "b", "c", "</s>"), ("x", "y", "z", "</s>"), Windows.whole(weights.astype(np.float32)),
        find_units=lambda: Units((0, 0, 1, None), (0, 0, 1, None)),
    )  # fmt: skip
    assert replace(both, linking=Linking(0.44)).links == {(0, 0), (1, 1)}  # 0.45 and 0.35 of the first word
    assert replace(both, linking=Linking(0.34)).links == {(0, 0), (1, 0), (1, 1)}
    assert replace(both, linking=Linking(0.46)).links == {(1, 1)}
    assert replace(both, linking=Linking(1)).links == set()
    assert replace(both, linking=Linking(0.5, 1)).links == {(1, 0)}  # the rows of b and c, then of EOS
    further = both.units._replace(further={2: (2,)})
    assert replace(both, linking=Linking(0.46), find_units=lambda: further).links == {(1, 1), (1, 2)}
    empty = Translation("", 0.0, (), ("</s>",), EMPTY, find_units=lambda: Units((None,)), linking=Linking(0.5))
    assert empty.links == set()


def test_shifted_links_are_those_of_a_later_step():
    """Beyond the last step the weights of that are taken."""
    rows = Windows.whole(np.eye(4, 5, k=1, dtype=np.float32))
    assert links(rows, shift=1) == {(2, 0), (3, 1), (4, 2), (4, 3)}
    assert links(rows, shift=2) == {(3, 0), (4, 1), (4, 2), (4, 3)}
