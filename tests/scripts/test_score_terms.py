"""`scripts/score.py --task terms`: the terms of a glossary that are met."""

import json
from pathlib import Path

TEXTS = {
    "source": "Areas: the area of responsibility .\nno term\n",
    "hypotheses": "Bereiche : die Zuständigkeit.\nnichts\n",
    "references": "Bereiche: der Zuständigkeitsbereich.\nnichts\n",
    "glossary": "area\tBereich\nareas\tBereiche\narea of responsibility\tZuständigkeit|Zuständigkeitsbereich\n",
}


def test_terms_of_a_glossary_are_counted(call, tmp_path: Path) -> None:
    for name, text in TEXTS.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    files = [tmp_path / "hypotheses", tmp_path / "references"]
    options = ["--task", "terms", "--source", tmp_path / "source", "--glossary", tmp_path / "glossary"]
    done = call("score", *options, "--json", *files)
    scores = {name: score["score"] for name, score in json.loads(done.out).items()}
    assert scores.keys() == {"term_exact", "term_inside", "term_window2", "term_window3"}
    assert scores["term_exact"] == scores["term_inside"] == 100
    assert "term_exact 100.00  terms:2|" in call("score", *options, *files).out
    for arguments, sentence in (
        ([*options, files[0]], "--task terms takes a glossary and three texts: write --glossary FILE"),
        ([*options, "--lowercase", *files], "--lowercase is not for --task terms"),
        ([*options, "--log", "x", *files], "--log is an option of --task simultaneous"),
        ([*options, "--run", "x", *files], "--run is an option of --task likelihood"),
        (["--glossary", tmp_path / "glossary", *files], "--glossary is an option of --task terms"),
    ):
        done = call("score", *arguments)
        assert done.status and sentence in done.err
    (tmp_path / "glossary").write_text("area\n")
    assert "glossary, line 1 has 0 TAB characters" in call("score", *options, *files).err
