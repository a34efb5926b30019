"""Tokenizers: the one door to SentencePiece."""

from mt.common.comparable import normalize
from mt.data.tokenizer.config import SideConfig, TokenizerConfig
from mt.data.tokenizer.extension import extend, extend_sides
from mt.data.tokenizer.processor import BOS, EOS, PAD, UNK, Tokenizer
from mt.data.tokenizer.sides import Tokenizers, load_tokenizer
from mt.data.tokenizer.training import train
from mt.data.tokenizer.units import LinkUnit, Unit, units
from mt.data.tokenizer.unwritten import Unwritten, unwritten

__all__ = [
    "BOS",
    "EOS",
    "PAD",
    "UNK",
    "LinkUnit",
    "SideConfig",
    "Tokenizer",
    "TokenizerConfig",
    "Tokenizers",
    "Unit",
    "Unwritten",
    "extend",
    "extend_sides",
    "load_tokenizer",
    "normalize",
    "train",
    "units",
    "unwritten",
]
