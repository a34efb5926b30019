"""`scripts/score.py --task alignment`: files of word links against gold ones."""

import json
from pathlib import Path

import pytest

HANSARDS = Path(__file__).parents[3] / "shared" / "data" / "align-en-fr"
TEXTS = {
    "links": "0-0 1-1\n0-0 2-2\n",
    "reverse": "0-0 1-1\n0-0 1-2\n",
    "turned": "0-0 1-1\n0-0 2-1\n",
    "gold": "0-0 1p1 2-2\n0-0 1-1\n",
    "one": "1-1 2p2 3-3\n1-1 2-2\n",
    "naacl": "1 1 1 S\n1 2 2 P\n1 3 3 S\n2 1 1 S\n2 2 2 S\n",
}


def test_links_are_scored_against_gold_ones(call, tmp_path: Path) -> None:
    for name, text in TEXTS.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    links, reverse, turned, *golds = (tmp_path / name for name in TEXTS)
    task = ["--task", "alignment"]
    # Of 4 links 2 are sure, and one more possible; 4 are sure in all.
    for gold, flags in zip(golds, ([], ["--one-based"], []), strict=True):
        done = call("score", *task, *flags, "--json", links, gold)
        scores = json.loads(done.out)
        assert (scores["aer"]["score"], scores["precision"]["score"], scores["recall"]["score"]) == (37.5, 75, 50)
    assert "recall     50.00  n:2|sure:4|possible:5|average:corpus" in call("score", *task, links, golds[0]).out
    # Links of both: 0-0 1-1, and 0-0.
    for second, flags in ((reverse, []), (turned, ["--second-reversed"])):
        done = call("score", *task, *flags, "--symmetrise", "intersection", links, second, golds[0])
        assert "precision 100.00" in done.out
    for arguments, sentence in (
        ([*task, links], "--task alignment takes files of links and of gold links"),
        ([*task, links, reverse, golds[0]], ", with --symmetrise two of links"),
        ([*task, "--second-reversed", links, golds[0]], ", with --symmetrise two of links"),
        ([*task, "--lowercase", links, golds[0]], "--lowercase is about texts that are compared"),
        (["--one-based", links, golds[0]], "--one-based is an option of --task alignment"),
        (["--task", "likelihood", "--symmetrise", "union"], "--symmetrise is an option of --task alignment"),
    ):
        done = call("score", *arguments)
        assert done.status and sentence in done.err
    links.write_text("0-0\n1_1\n")
    assert "links, line 2: '1_1' is not a link" in call("score", *task, links, golds[0]).err


@pytest.mark.skipif(not HANSARDS.is_dir(), reason="needs ../shared/data/align-en-fr (WPT 2003)")
@pytest.mark.parametrize(
    ("system", "method", "published"),
    [
        ("fastalign", "grow-diag", 10.5),
        ("fastalign", "grow-diag-final", 12.1),
        ("giza", "grow-diag", 5.9),
        ("giza", "grow-diag-final", 6.2),
    ],
)
def test_published_symmetrised_error_rates(call, system: str, method: str, published: float) -> None:
    files = [HANSARDS / f"hyp.{system}.{name}.pharaoh" for name in ("forward", "reverse")]
    done = call("score", "--task", "alignment", "--symmetrise", method, "--json", *files, HANSARDS / "test.gold")
    assert round(json.loads(done.out)["aer"]["score"], 1) == published
