"""HTML entities in plain text become their characters, and what Moses' tokenizer parted is joined."""

from pathlib import Path

import pytest

from data_prep.prepare import prepare
from data_prep.sources.entities import unescaped
from mt.common.options import parse
from mt.data.corpus import Corpus
from mt.data.dataset import DatasetConfig


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ce puits d&apos; eau qu&apos; il n&apos; a pas", "ce puits d'eau qu'il n'a pas"),
        ("we don &apos;t know, it &apos;s Tom &apos;s", "we don't know, it's Tom's"),
        ("the dogs &apos; tails, &apos; so &apos; they say", "the dogs ' tails, ' so ' they say"),
        ("in the 1960 &apos;s, 5 &apos; 6", "in the 1960 's, 5 ' 6"),
        ("s&#39; il, s&#x27; il, s&#X27;il", "s'il, s'il, s'il"),
        ("Q&amp;A &lt;b&gt; &quot;x&quot; &eacute;t&#233; &#x9ce5; &nbsp;", 'Q&A <b> "x" été 鳥 \u00a0'),
        ("AT&T R&D a&b; &such; &copy 2020 & ; &amp", "AT&T R&D a&b; &such; &copy 2020 & ; &amp"),
        ("&amp;amp; &#0; &#10; &#13; &#55296; &#99999999; &#x110000;",) * 2,
    ],
)
def test_entities_become_their_characters(text: str, expected: str) -> None:
    once = unescaped(text)
    assert once == expected.replace("&amp;amp;", "&amp;") and "\n" not in once


def test_the_option_reads_all_splits_and_references(texts: Path, tmp_path: Path) -> None:
    folder = tmp_path / "escaped"
    folder.mkdir()
    for path in texts.iterdir():
        lines = path.read_text("utf-8").splitlines()
        (folder / path.name).write_text("".join(f"{line} l&apos; eau &amp;\n" for line in lines), "utf-8")
    plain = {"name": "escaped", "source": "en", "target": "de", "folder": str(folder)}
    plain |= {"tokenizer": {"model_type": "char", "vocab_size": 100}}
    kept = Corpus.open(prepare(parse(plain, DatasetConfig), tmp_path / "corpora", progress=False))
    read = Corpus.open(prepare(parse(plain | {"unescape": True}, DatasetConfig), tmp_path / "corpora", progress=False))
    for split in ("train", "dev", "test"):
        assert all(text.endswith(" l&apos; eau &amp;") for text in kept.split(split).column("source"))
        assert all(text.endswith(" l'eau &") for text in read.split(split).column("source"))
        assert all(text.endswith(" l'eau &") for text, *_ in read.split(split).column("references"))
