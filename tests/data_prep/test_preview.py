"""What `dry_run=true` prints, as a terminal gets it."""

import re
from pathlib import Path

from tests.processes import Program

ROOT = Path(__file__).parents[2]


def test_no_text_of_a_corpus_gives_a_terminal_orders(tmp_path: Path):
    source = [
        "der \x1b]0;title\x07 hund",
        "ein \x9b31m mann",
        "die \u202e katze",
        "मैं \u200d हिन्दी",
        "zu \x7f lang " + "x " * 300,
    ]
    for split in ("train", "dev", "test"):
        (tmp_path / f"{split}.de").write_text("".join(f"{line}\n" for line in source), encoding="utf-8")
        (tmp_path / f"{split}.en").write_text("the \x1b[31m dog\n" * len(source), encoding="utf-8")
    options = ["dataset=files", f"dataset.folder={tmp_path}", "dataset.source=de", "dataset.target=en"]
    options += ["dataset.tokenizer.model_type=char", "dry_run=true"]
    printed = Program(ROOT / "data_prep/__main__.py", options, tmp_path).finish()
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", printed)
    for escape in (r"\x1b ] 0 ; t i t l e \x07", r"\x9b 3 1 m", r"\u202e", r"\x1b [ 3 1 m"):
        assert escape in printed
    assert "ह ि न ् द ी" in printed
