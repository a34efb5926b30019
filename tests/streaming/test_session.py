"""A stream writes what offline decoding does, earlier, and nothing that it writes depends on what comes."""

import random
from collections.abc import Callable
from itertools import zip_longest
from typing import Any

import pytest
import torch

from mt.data.tokenizer import EOS
from mt.errors import UserError
from mt.search.config import GreedyConfig, OnlineConfig
from mt.search.hypothesis import Hypothesis
from mt.streaming import Session, Setting, finish, read
from tests.streaming.conftest import MONOTONIC, offline, sentence

ATTENTIONS = [
    {"name": "monotonic"},
    {"name": "monotonic", "mass_preservation": False, "energy": {"name": "concat", "attention_dim": 6}},
    {"name": "mocha", "chunk_size": 3},
    {"name": "matcha"},
    {"name": "matcha", "mass_preservation": False},
    {"name": "milk"},
]


def identity(attention: dict[str, Any]) -> str:
    return "-".join(str(getattr(value, "get", {}.get)("name", value)) for value in attention.values())
