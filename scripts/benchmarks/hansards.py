"""Training text for the gold alignments of the Hansards: Tatoeba, Multi30k and newstest 2008 to 2012, written as the
gold is: small letters, tokens between blanks, and French elisions and contractions written out (`du`: `de le`).

    python scripts/benchmarks/hansards.py DATA OUT

DATA has tatoeba-en-fr, multi30k, newstest and align-en-fr. OUT gets train, dev and test, and the pairs of the gold,
gold.en and gold.fr, in small letters.
"""

import itertools
import re
import sys
from collections.abc import Iterator
from pathlib import Path

_MARKS = str.maketrans({"’": "'", "‘": "'", "`": "'", "“": '"', "”": '"', "…": "...", "–": "-", "—": "-"})
_ABBREVIATIONS = {"mr", "mrs", "dr", "st", "hon", "m", "mme", "no", "vs"}
_TOKEN = re.compile(r"\d+(?:[.,:]\d+)*|'s\b|[^\W\d_]+|\.\.\.|[^\w\s]|\w")
_ENGLISH = (
    (r"\bcan't\b", "cannot"),
    (r"\bwon't\b", "will not"),
    (r"\bshan't\b", "shall not"),
    (r"n't\b", " not"),
    (r"\bi'm\b", "i am"),
    (r"'re\b", " are"),
    (r"'ve\b", " have"),
    (r"'ll\b", " will"),
    (r"'d\b", " would"),
    (r"\b(it|he|she|that|what|there|here|who|where|how|when|why)'s\b", r"\1 is"),
    (r"(\w)'s\b", r"\1 's"),
)
_ELIDED = {letter: f"{letter}e" for letter in "ldjmtsnc"} | {
    f"{word}qu": f"{word}que" for word in ("", "jus", "lors", "puis", "quoi", "quel", "pres")
}
_CONTRACTED = {"au": "à le", "aux": "à les", "du": "de le", "des": "de les"}


def tokens(text: str) -> list[str]:
    """Cuts a text, hyphens apart, and abbreviations with their full stops."""
    found: list[str] = []
    cut = _TOKEN.findall(re.sub(r"(?<=\w)[-‑](?=\w)", " - ", text))
    for place, token in enumerate(cut, start=1):
        if token == "." and found and found[-1] in _ABBREVIATIONS and place < len(cut):
            found[-1] += "."
        else:
            found.append(token)
    return found


def english(text: str) -> str:
    text = text.translate(_MARKS).lower()
    for pattern, written in _ENGLISH:
        text = re.sub(pattern, written, text)
    return " ".join(tokens(text))


def french(text: str) -> str:
    text = re.sub(r"-t-(?=(il|elle|on)s?\b)", "-", text.translate(_MARKS).lower())
    text = re.sub(r"\baujourd'hui\b", "aujourdxhui", text)  # one word but for its mark
    text = re.sub(rf"\b({'|'.join(_ELIDED)})'(?=\s*\w)", lambda match: f"{_ELIDED[match[1]]} ", text)
    return " ".join(_CONTRACTED.get(token, token) for token in tokens(text)).replace("aujourdxhui", "aujourd' hui")


def lines(data: Path, language: str, split: str) -> Iterator[str]:
    if split != "train":
        names = [f"tatoeba-en-fr/{split}"]
    else:
        names = ["tatoeba-en-fr/train", "multi30k/train", *(f"newstest/newstest{year}" for year in range(2008, 2013))]
    limit = {"train": None, "dev": 500, "test": 300}[split]
    texts = itertools.chain.from_iterable((data / f"{name}.{language}").open(encoding="utf-8") for name in names)
    return itertools.islice(texts, limit)


if __name__ == "__main__":
    data, out = map(Path, sys.argv[1:])
    out.mkdir(parents=True, exist_ok=True)
    for language, write in (("en", english), ("fr", french)):
        for split in ("train", "dev", "test"):
            written = "".join(f"{write(line)}\n" for line in lines(data, language, split))
            (out / f"{split}.{language}").write_text(written, encoding="utf-8")
        gold = (data / f"align-en-fr/test.{language}").read_text(encoding="utf-8").lower()
        (out / f"gold.{language}").write_text(gold, encoding="utf-8")
