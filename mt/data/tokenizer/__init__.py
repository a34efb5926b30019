"""Tokenizers: the one door to SentencePiece."""

from mt.data.tokenizer.processor import Tokenizer
from mt.data.tokenizer.sides import Tokenizers, load_tokenizer
from mt.data.tokenizer.training import SideConfig, TokenizerConfig, train
from mt.data.words import LinkUnit, Unit, units
from mt.step import BOS, EOS, PAD, UNK
from mt.text_io import normalize
