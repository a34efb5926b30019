"""How much longer a beam takes where something is asked of each translation.

    python scripts/benchmark.py steering RUN --source FILE --target FILE [--sentences 1000] [--beam 5] [--json]

A trained run translates the first lines of a file, alone and with what is asked, all in turn. `reference` asks each for
one to three phrases of its own reference, and `foreign` for as many of another line's. `avoid` avoids as many phrases
of its free translation. `prefix` gives the first half of the characters of its reference. `seconds` are the
processor's; `ratio` is to `free` in the same round, a median; `met` is the share of lines that have what they ask for,
and `tokens` are those of a translation. OMP_NUM_THREADS sets the threads.
"""

import random
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.harness import add_number, add_rounds, in_turn, option_parser, print_rows

from mt.decoding.load import load
from mt.decoding.translation import Translation
from mt.decoding.translator import Translator
from mt.errors import UserError
from mt.search.config import BeamConfig
from mt.text_io import read_parallel

Asked = Mapping[str, Any]


def phrases(texts: Sequence[str], seed: int) -> list[list[str]]:
    """Returns one to three phrases of one or two words of each text."""
    draw = random.Random(seed)
    found: list[list[str]] = []
    for words in map(str.split, texts):
        begins = [draw.randrange(len(words)) for _ in range(draw.randint(1, 3))] if words else []
        found.append([" ".join(words[begin : begin + draw.randint(1, 2)]) for begin in begins])
    return found


def timed(translator: Translator, sources: list[str], search: BeamConfig, asked: Asked) -> tuple[float, list[Any]]:
    start = time.process_time()
    translations = translator.translate(sources, search, **asked)
    return time.process_time() - start, translations


def met(asked: Asked, number: int, text: str) -> bool:
    """Returns whether a text has what is asked of it."""
    padded = f" {text} "
    return (
        all(phrase in text for phrase in asked.get("constraints", [[]] * (number + 1))[number])
        and not any(f" {phrase} " in padded for phrase in asked.get("avoid", [[]] * (number + 1))[number])
        and text.startswith(asked.get("prefix", [""] * (number + 1))[number].rstrip())
    )


def main(arguments: Sequence[str]) -> None:
    parser = option_parser("steering", __doc__)
    parser.add_argument("run", type=Path, metavar="RUN")
    parser.add_argument("--source", type=Path, required=True, metavar="FILE")
    parser.add_argument("--target", type=Path, required=True, metavar="FILE")
    add_number(parser, "--sentences", 1000, "lines that are translated")
    add_number(parser, "--beam", 5, "hypotheses of a sentence")
    add_rounds(parser, 3)
    options = parser.parse_args(arguments)
    sources, targets = (lines[: options.sentences] for lines in read_parallel([options.source, options.target], "pair"))
    if not sources:
        raise UserError(f"{options.source} has no lines: give a file of some")
    translator = load(options.run, device="cpu")
    search = BeamConfig(beam_size=options.beam)
    free: list[Translation] = translator.translate(sources, search)
    tasks: dict[str, Asked] = {
        "free": {},
        "reference": {"constraints": phrases(targets, 1)},
        "foreign": {"constraints": phrases([*targets[7:], *targets[:7]], 1)},
        "avoid": {"avoid": phrases([one.text for one in free], 1)},
        "prefix": {"prefix": [target[: len(target) // 2] for target in targets]},
    }
    contenders: dict[str, Callable[[], tuple[float, list[Any]]]] = {
        name: partial(timed, translator, sources, search, asked) for name, asked in tasks.items()
    }
    turns = in_turn(contenders, options.rounds)
    rows = {}
    for name, asked in tasks.items():
        _, translations = turns[-1][name]
        rows[name] = {
            "ratio": statistics.median(turn[name][0] / turn["free"][0] for turn in turns),
            "seconds": statistics.median(turn[name][0] for turn in turns),
            "met": statistics.mean(met(asked, number, one.text) for number, one in enumerate(translations)),
            "tokens": statistics.mean(len(one.ids) for one in translations),
        }
    print_rows(rows, as_json=options.json, rounds=f"{options.rounds} rounds")
