import json
from pathlib import Path

import pytest
import torch
import yaml
from pydantic import ValidationError

from mt.errors import UserError
from mt.search.beam import beam
from mt.search.config import SearchConfig, decode
from mt.search.greedy import greedy
from mt.search.online import OnlineHypothesis

CONF = Path(__file__).parents[2] / "conf" / "search"


@pytest.mark.parametrize("name", ["greedy", "beam", "online"])
def test_each_yaml_is_a_config_of_its_name_and_comments_its_options(name):
    text = (CONF / f"{name}.yaml").read_text()
    options = yaml.safe_load(text)
    config = SearchConfig.model_validate_json(json.dumps(options))
    assert config.name == name
    defaults = SearchConfig(name=name).model_dump() | ({"mode": "hard"} if name == "online" else {})
    assert options == {key: defaults[key] for key in options}
    beam_only = {"beam", "length_penalty", "n_best"}
    assert set(options) == set(SearchConfig.model_fields) - (set() if name == "beam" else beam_only)


def test_maximum_lengths_are_a_line_in_the_source_length():
    config = SearchConfig(max_ratio=1.5, max_extra=4)
    lengths = config.max_lengths(torch.tensor([1, 2, 10]))
    assert lengths.tolist() == [5, 7, 19]
    assert lengths.dtype == torch.int64
    bounded = SearchConfig(max_ratio=1.5, max_extra=4, max_length=12, min_length=5)
    assert bounded.max_lengths(torch.tensor([1, 2, 10])).tolist() == [6, 7, 12]


@pytest.mark.parametrize(
    "wrong",
    [
        {"beam_size": 0},
        {"length_penalty": -0.1},
        {"max_extra": 0},
        {"name": "beams"},
        {"chunk_size": 3},
        {"beam_size": "5"},
    ],
)
def test_refuses_impossible_values(wrong):
    with pytest.raises(ValidationError, match=next(iter(wrong))):
        SearchConfig(**wrong)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (
            {"n_best": 6},
            r"search.n_best=6 asks for more hypotheses than search=beam keeps \(5\); choose .*search.beam_size=6",
        ),
        ({"name": "greedy", "n_best": 2}, r"search.n_best=2 asks for more hypotheses than search=greedy keeps \(1\)"),
        ({"min_length": 5, "max_length": 5}, r"search.min_length=5 leaves no room for EOS within search.max_length=5"),
        ({"name": "online", "mode": "soft"}, "online decoding reads the source only as far as .* use search.mode=hard"),
    ],
)
def test_refuses_options_that_contradict_each_other(options, sentence):
    with pytest.raises(UserError, match=sentence):
        SearchConfig(**options)


def test_decode_is_the_search_that_was_named(make_toy):
    toy = make_toy(3, 7, seed=9)
    toy.stops = torch.zeros(3, 40, dtype=torch.int64)
    sources = torch.tensor([3, 1, 2])
    longest = torch.tensor([8, 4, 6])
    common = {"max_ratio": 2.0, "max_extra": 2}

    def tokens(found) -> list[list[tuple[int, ...]]]:
        return [[h.tokens for h in hypotheses] for hypotheses in found]

    expected = [[h.tokens] for h in greedy(toy, toy.memory(), 3, max_lengths=longest)]
    assert tokens(decode(SearchConfig(name="greedy", **common), toy, toy.memory(), sources)) == expected
    found = decode(SearchConfig(name="online", **common), toy, toy.memory(), sources)
    assert tokens(found) == expected
    assert all(isinstance(h, OnlineHypothesis) for (h,) in found)
    config = SearchConfig(beam=4, length_penalty=1.0, n_best=2, **common)
    expected = beam(toy, toy.memory(), 3, beam=4, max_lengths=longest, length_penalty=1.0, n_best=2)
    assert tokens(decode(config, toy, toy.memory(), sources)) == tokens(expected)
