"""Glossaries in translations of trained models: every kind of model and search, and what is refused."""

from collections.abc import Callable
from itertools import zip_longest
from pathlib import Path
from typing import Any

import pytest

import mt
from mt.config import Config
from mt.data.glossary import glossaries_of
from mt.data.words import words
from mt.decoding.lines import LineFiles, translate_lines
from mt.decoding.streaming import finish, read
from mt.decoding.torch_network import torch_translator
from mt.decoding.translator import Translator
from mt.errors import UserError
from mt.search.config import (
    BeamConfig,
    GreedyConfig,
    OnlineConfig,
    SampleConfig,
    SearchConfig,
    WaitKConfig,
    revised_search,
)
from tests.decoding.decoded import random_model

TEXTS = ["the big cats see two green houses", "two dogs find bridges", "no term", "", "dogs see dogs , and two cats"]
GLOSSARY = {"cats": ["Hunde", "Brücken"], "dogs": "zwei Brücken", "Two": "drei"}


def met(text: str, result: str) -> bool:
    """Returns whether each term of a text is in its translation, as often."""
    found, own = words(text), words(result)
    pairs = [tuple(own[i : i + 2]) for i in range(len(own))]
    cats = own.count("Hunde") + own.count("Brücken") - pairs.count(("zwei", "Brücken"))
    return found.count("dogs") <= pairs.count(("zwei", "Brücken")) and found.count("cats") <= cats


SEARCHES = [GreedyConfig(), BeamConfig(beam_size=4), BeamConfig(beam_size=5, n_best=3), SampleConfig(samples=3)]


@pytest.mark.parametrize("search", SEARCHES)
def test_all_terms_are_met_and_what_has_none_stays(translator: Translator, hard: Translator, search: SearchConfig):
    for one in (translator, hard):
        result = one.translate(TEXTS, search, glossary=GLOSSARY)
        assert all(met(text, translation.text) for text, translation in zip(TEXTS, result, strict=True))
        plain = one.translate(TEXTS, search)
        assert [each.text for each in result[2:4]] == [each.text for each in plain[2:4]] and result[0] != plain[0]
        assert one.translate(TEXTS[2:4], search, glossary=GLOSSARY) == one.translate(TEXTS[2:4], search)
        assert one.translate(TEXTS[0], search, glossary=GLOSSARY).text == result[0].text


def test_each_text_may_have_its_own_and_a_file_is_read(translator: Translator, tmp_path: Path):
    (tmp_path / "terms.tsv").write_text("cats\tHunde|Brücken\ndogs\tzwei Brücken\n", encoding="utf-8")
    file = translator.translate(TEXTS, glossary=tmp_path / "terms.tsv")
    own = [GLOSSARY, {"dogs": "zwei Brücken"}, None, None, {"dogs": ["zwei Brücken"], "cats": ["Hunde", "Brücken"]}]
    assert file == translator.translate(TEXTS, glossary=own)
    with pytest.raises(UserError, match="glossaries of single texts are one for each, here 5"):
        translator.translate(TEXTS, glossary=own[:4])


def test_each_line_may_have_its_own(translator: Translator, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    (tmp_path / "lines").write_text("".join(f"{text}\n" for text in TEXTS))
    own = [GLOSSARY, {}, {}, {}, {"dogs": "drei Häuser"}]
    search = BeamConfig(beam_size=3)
    glossaries = glossaries_of(own, len(TEXTS))
    translate_lines(translator, tmp_path / "lines", search, LineFiles(), None, lines_at_once=2, glossary=glossaries)
    expected = translator.translate(TEXTS, search, glossary=own)
    assert capsys.readouterr().out.splitlines() == [one.text for one in expected]
    assert expected[4].text.count("drei Häuser") == 2


def test_ensembles_int8_and_prefixes(trained: Path):
    for options in ({"precision": "int8"}, {}):
        one = mt.load([trained, trained] if not options else trained, device="cpu", **options)
        assert all(map(met, TEXTS, (each.text for each in one.translate(TEXTS, glossary=GLOSSARY))))
    result = one.translate(TEXTS[:2], prefix=["drei", None], avoid=[["Hunde"], None], glossary=GLOSSARY)
    assert result[0].text.startswith("drei") and "Hunde" not in words(result[0].text) and met(TEXTS[0], result[0].text)
    both = one.translate(TEXTS[0], BeamConfig(beam_size=5), constraints=["drei"], glossary=GLOSSARY)
    assert "drei" in words(both.text) and met(TEXTS[0], both.text)


@pytest.mark.parametrize("search", [GreedyConfig(), BeamConfig(beam_size=4), BeamConfig(beam_size=3, n_best=3)])
def test_in_one_batch_each_text_has_what_it_has_alone(translator: Translator, search: SearchConfig):
    asked: dict[str, list[Any]] = {
        "constraints": [["drei", "drei"], None, None, None, ["Brücken"]],
        "avoid": [None, None, ["die"], None, None],
        "prefix": [None, "drei", None, None, None],
        "glossary": [None, GLOSSARY, None, None, GLOSSARY],
    }
    together = translator.n_best(TEXTS, search=search, **asked)
    for number, text in enumerate(TEXTS):
        alone = translator.n_best(text, search=search, **{name: column[number] for name, column in asked.items()})
        assert [one.text for one in together[number]] == [one.text for one in alone]
    assert words(together[0][0].text).count("drei") == 2 and met(TEXTS[4], together[4][0].text)


@pytest.mark.parametrize("search", SEARCHES)
def test_terms_that_are_open_at_the_limit_are_written_before_it(translator: Translator, search: SearchConfig):
    """After the prefix the limit leaves room for the terms and EOS alone."""
    glossary = {"dogs": "zwei Brücken", "cats": "Hunde", "birds": "drei Brücken"}
    limit = len(translator.tokenizers.target.encode(["drei die zwei Brücken Hunde drei Brücken"])[0])
    search = revised_search(search, {"max_length": limit})
    one = translator.translate("the birds see dogs and cats", search, prefix="drei die ", glossary=glossary)
    assert one.text.startswith("drei die ")
    assert all(target in one.text for target in glossary.values())


def test_the_online_simulation_counts_what_must_have_come_until_a_term_is_certain(hard: Translator):
    glossary = {"cats": "Hunde", "cats see two green birds": "Brücken"}
    result = hard.translate(TEXTS[0], OnlineConfig(), glossary=glossary)
    place = words(result.text).index("Hunde")
    assert result.timing is not None and result.timing.delays[place] >= 7


@pytest.fixture(scope="module")
def waiting(configure: Callable[..., Config], hard: Translator) -> Translator:
    """A random model whose soft attention can wait for the source, and is of few positions."""
    decoder = {"hidden_size": 32, "readout_size": 32, "init_hidden": "zeros"}
    config = configure({"encoder": {"name": "lstm", "hidden_size": 32}, "decoder": decoder})
    return torch_translator(random_model(config, hard.tokenizers, 2, scale=6), hard.tokenizers, config)


@pytest.mark.parametrize("search", [OnlineConfig(), WaitKConfig(k=2), WaitKConfig(k=9)])
def test_a_stream_writes_terms_where_it_reads_them_and_as_the_simulation_does(hard, waiting, search):
    glossary = {"cats": "Hunde", "cats see three": "Brücken", "dogs": "zwei Brücken", "houses": "Hunde"}
    glossary |= {"the big dogs": "Hunde", "big cats find": "Brücken"}
    texts = [text for text in TEXTS if text]
    translator = hard if isinstance(search, OnlineConfig) else waiting
    simulated = translator.translate(texts, search, glossary=glossary)
    assert any("Hunde" in words(one.text) for one in simulated)
    # Side by side: a stream whose next position may yet be of a term waits, and the others go on.
    sessions = [translator.stream(search, glossary=glossary) for _ in texts]
    for turn in zip_longest(*(text.split() for text in texts)):
        now = [number for number, word in enumerate(turn) if word]
        read([sessions[number] for number in now], [turn[number] for number in now])
    finish(sessions)
    for session, expected in zip(sessions, simulated, strict=True):
        assert session.text == expected.text and session.delays == [*expected.timing.word_delays]


def test_a_stream_without_terms_is_as_without_a_glossary(hard: Translator):
    texts = [text for text in TEXTS if text]
    plain = hard.stream(glossary={"zebra": "Hunde"})
    assert [*plain.read(texts[0]), *plain.finish()] == hard.translate(texts[0], OnlineConfig()).text.split()
    with pytest.raises(UserError, match="a glossary is of words, and this stream reads characters"):
        hard.stream(unit="char", glossary=GLOSSARY)
