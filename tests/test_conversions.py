"""Commands of the pages on results, alignments and steering make files of others readable."""

import re
import textwrap
from pathlib import Path

import pytest

from mt.common.links import links_of
from mt.data.glossary import Glossary, read_glossary
from tests.processes import run_shell

DOCS = Path(__file__).parents[1] / "docs"
A3 = """# Sentence pair (1) source length 2 target length 2 alignment score : 0.01
das Haus
NULL ({ }) the ({ 1 }) house ({ 2 })
# Sentence pair (2) source length 3 target length 4 alignment score : 1e-05
da ist ja eins
NULL ({ 3 }) there ({ 1 }) is ({ 2 4 }) one ({ })
"""
TBX = """<?xml version="1.0"?>
<martif type="TBX" xml:lang="en"><text><body>
<termEntry id="1"><langSet xml:lang="en-US"><tig><term>hard
 disk</term></tig><tig><term>drive</term></tig></langSet>
<langSet xml:lang="de-DE"><ntig><termGrp><term>Festplatte</term></termGrp></ntig></langSet></termEntry>
<termEntry id="2"><langSet xml:lang="en-US"><tig><term>alone</term></tig></langSet></termEntry>
</body></text></martif>"""
TBX_3 = """<tbx xmlns="urn:iso:std:iso:30042:ed-2" xml:lang="en"><text><body><conceptEntry id="1">
<langSec xml:lang="en"><termSec><term>drive</term></termSec></langSec><langSec xml:lang="fr"><termSec><term>x</term>
</termSec></langSec><langSec xml:lang="de"><termSec><term>Platte</term></termSec><termSec><term>Laufwerk</term>
</termSec></langSec></conceptEntry></body></text></tbx>"""
TMX = """<tmx version="1.4"><header srclang="en"/><body><tu><tuv xml:lang="EN"><seg>drive</seg></tuv>
<tuv xml:lang="de"><seg>Platte</seg></tuv></tu></body></tmx>"""


def cell_of(page: str, kind: str) -> str:
    """The command of a row of a table."""
    found = re.search(rf"^\| {re.escape(kind)}.* \| `(.*)` \|$", (DOCS / page).read_text("utf-8"), re.MULTILINE)
    assert found, kind
    return found[1].replace("\\|", "|")


def block_of(page: str, start: str) -> str:
    """The command of several lines that starts so."""
    found = re.search(
        rf"^    {re.escape(start)}.*?^    EOF$", (DOCS / page).read_text("utf-8"), re.MULTILINE | re.DOTALL
    )
    assert found, start
    return textwrap.dedent(found[0])


def entries_of(path: Path) -> dict[str, list[str]]:
    glossary = read_glossary(path)
    assert isinstance(glossary, Glossary)
    return {entry.source: [*entry.targets] for entry in glossary.entries}


OUTPUTS = {
    "segments in": (
        "ref.sgm",
        '<refset setid="x" srclang="any" trglang="en">\n<doc docid="1"><hl>\n<seg id="1">The cat .</seg>\n</hl>\n'
        '<p><seg id="2"> A <b> dog </seg></p>\n</doc></refset>\n',
        "The cat .\nA <b> dog\n",
    ),
    "pieces of subword-nmt": ("pieces.txt", "s@@ its on the m@@ at\nend@@\n", "sits on the mat\nend\n"),
    "pieces of SentencePiece": ("pieces.txt", "▁s its ▁on\n▁a\n", "sits on\na\n"),
    "output of fairseq": (
        "output.txt",
        "S-10\tx\nD-10\t-1\tlast\nD-2\t-0.5\tfirst one\nH-2\t-0.5\tf@@ irst\n",
        "first one\nlast\n",
    ),
    "n best of Moses": (
        "n-best.txt",
        "0 ||| a b ||| LM= -1 ||| -3\n0 ||| c ||| LM= -1 ||| -4\n1 ||| d ||| LM= -2 ||| -1\n",
        "a b\nd\n",
    ),
    "summaries with": ("summaries.txt", "one . <q> two .\n", "one . two .\n"),
}
"""Of the rows of a table: the name of a file, what it has, and the text that is made of it."""


@pytest.mark.parametrize("kind", OUTPUTS)
def test_outputs_of_others_become_texts(kind: str, tmp_path: Path) -> None:
    name, content, text = OUTPUTS[kind]
    (tmp_path / name).write_text(content, encoding="utf-8")
    run_shell(cell_of("results.md", kind), tmp_path)
    [written] = {*tmp_path.iterdir()} - {tmp_path / name}
    assert written.read_text(encoding="utf-8") == text


def test_giza_becomes_pharaoh(tmp_path: Path) -> None:
    (tmp_path / "giza.A3.final").write_text(A3)
    run_shell(block_of("alignments.md", "python - giza.A3.final"), tmp_path)
    lines = (tmp_path / "links.pharaoh").read_text().splitlines()
    assert [links_of(line).sure for line in lines] == [{(0, 0), (1, 1)}, {(0, 0), (1, 1), (1, 3)}]


@pytest.mark.parametrize("line", ["0-0 1-2", "0-0 1-2 ||| -3.5", "a b ||| c d e ||| 0-0 1-2 ||| -3.5"])
def test_links_with_scores_become_links(line: str, tmp_path: Path) -> None:
    (tmp_path / "scored").write_text(f"{line}\n")
    [command] = re.findall(r"`(sed .* scored > links\.pharaoh)`", (DOCS / "alignments.md").read_text("utf-8"))
    run_shell(command, tmp_path)
    assert (tmp_path / "links.pharaoh").read_text() == "0-0 1-2\n"


@pytest.mark.parametrize(
    ("content", "entries"),
    [
        ("\ufeffstorage,Speicher,EN,DE\r\n", {"storage": ["Speicher"]}),
        ('"a, ""b""",x y\r\n"two\r\nlines"," Zei\tle "\r\n', {'a, "b"': ["x y"], "two lines": ["Zei le"]}),
    ],
)
def test_a_glossary_of_csv(content: str, entries: dict[str, list[str]], tmp_path: Path) -> None:
    (tmp_path / "terms.csv").write_bytes(content.encode())
    run_shell(cell_of("steering.md", "CSV, as of DeepL"), tmp_path)
    assert entries_of(tmp_path / "terms.tsv") == entries


@pytest.mark.parametrize(
    ("content", "entries"),
    [
        (TBX, {"hard disk": ["Festplatte"], "drive": ["Festplatte"]}),
        (TBX_3, {"drive": ["Platte", "Laufwerk"]}),
        (TMX, {"drive": ["Platte"]}),
    ],
)
def test_a_glossary_of_tbx_and_tmx(content: str, entries: dict[str, list[str]], tmp_path: Path) -> None:
    (tmp_path / "terms.tbx").write_text(content)
    run_shell(block_of("steering.md", "python - terms.tbx"), tmp_path)
    assert entries_of(tmp_path / "terms.tsv") == entries
