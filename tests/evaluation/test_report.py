import json
import re
from pathlib import Path

import numpy as np
import pytest
import sacrebleu

from mt.data.corpus import Corpus
from mt.data.split import Split
from mt.decoding.load import load
from mt.decoding.torch_network import torch_translator
from mt.evaluation.report import Changes, folder_name, report, samples, table
from mt.models.seq2seq import Seq2Seq
from mt.search.config import BeamConfig, revised_search


@pytest.fixture(scope="module")
def results(trained: Path) -> dict:
    return json.loads((trained / "results.json").read_text())


def lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").removesuffix("\n").split("\n")


def test_hypotheses_are_in_the_order_of_the_data(trained: Path, texts: Path) -> None:
    translator = load(trained, device="cpu")
    alone = [translator.translate([text])[0].text for text in lines(texts / "test.en")]
    assert lines(trained / "hypotheses/test.txt") == alone


def test_alignments_are_drawn_and_kept_as_numbers(trained: Path, texts: Path) -> None:
    translator = load(trained, device="cpu")
    expected = translator.translate(lines(texts / "test.en")[:2])
    for number, translation in enumerate(expected):
        assert (trained / f"alignments/000{number}.png").read_bytes().startswith(b"\x89PNG")
        with np.load(trained / f"alignments/000{number}.npz", allow_pickle=False) as kept:
            assert tuple(kept["source"]) == translation.source_tokens
            assert tuple(kept["target"]) == translation.tokens
            np.testing.assert_allclose(kept["weights"], translation.alignment, atol=1e-5)
    assert not (trained / "alignments/0002.png").exists()


def test_every_sentence_has_a_record_and_a_place_on_the_page(trained: Path, texts: Path, corpus: Corpus) -> None:
    written = lines(trained / "alignments/test.jsonl")
    records = [json.loads(line) for line in written]
    assert [one["text"] for one in records] == lines(trained / "hypotheses/test.txt")
    assert [one["source"] for one in records] == lines(texts / "test.en")
    assert [one["references"] for one in records] == [[line] for line in lines(texts / "test.de")]
    chrf = [sacrebleu.sentence_chrf(one["text"], one["references"]).score for one in records]
    assert [one["scores"]["chrf"] for one in records] == pytest.approx(chrf, abs=0.01)
    # The page holds the same records, and nothing that a browser would ask for.
    page = (trained / "alignments/index.html").read_text(encoding="utf-8")
    (data,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert json.loads(data)["runs"][0]["records"] == records
    assert not re.search(r"<link|<script[^>]* src|https?://(?!www\.w3\.org/2000/svg)", page.replace(data, ""))


def test_gold_links_are_scored(trained: Path, corpus: Corpus, tmp_path: Path) -> None:
    result = lines(trained / "alignments/test.pharaoh")
    table = corpus.split("test")._table

    def scored(links: list[str]) -> float:
        with_gold = Split(table.drop_columns("links").append_column("links", [links]))
        return report(load(trained, device="cpu"), with_gold, "test", tmp_path)["aer"]["score"]

    assert scored(result) == 0
    records = [json.loads(line) for line in lines(tmp_path / "alignments/test.jsonl")]
    assert all(record["aer"] == 0 and record["gold"]["links"] for record in records)
    # One link of n is wrong: 1 - 2 (n - 1) / 2n.
    count = sum(len(line.split()) for line in result)
    (source, _, target), *others = (link.partition("-") for link in result[0].split())
    wrong = " ".join([f"{1 if source == '0' else 0}-{target}", *map("".join, others)])
    assert scored([wrong, *result[1:]]) == pytest.approx(100 / count)


def test_samples_are_a_markdown_table(trained: Path, corpus: Corpus) -> None:
    split = corpus.split("test")
    translations = load(trained, device="cpu").translate(split.column("source")[:2])
    rows = samples(split, translations).splitlines()
    assert rows[:2] == ["| source | reference | translation |", "|---|---|---|"]
    assert rows[2] == f"| {split.column('source')[0]} | {split.column('target')[0]} | {translations[0].text} |"
    assert len(rows) == 4


def test_a_table_has_numbers_once_and_no_signatures() -> None:
    how = {"split": "test", "search": {"name": "beam", "beam_size": 5, "mode": "soft"}}
    scores = {"bleu": {"score": 12.5, "signature": "n:1"}, "loss": 1.53217, "attention": {"entropy": 1.0}}
    results = how | scores | {"checkpoint": {"name": "best", "update": 40}, "parameters": 1234567}
    assert table(results).splitlines() == [
        "test: beam search, beam_size 5, soft attention, best checkpoint (update 40)",
        "  bleu                                12.50",
        "  loss                               1.5322  nats per token",
        "  parameters                      1,234,567",
    ]
    average = {"name": "average", "update": 60, "averaged": [20, 40, 60]}
    assert table(results | {"checkpoint": average}).startswith("test: beam search, beam_size 5, soft attention, aver")


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, "test-best-beam"),
        ({"beam_size": 10}, "test-best-beam-beam_size=10"),
        ({"name": "greedy", "mode": "hard"}, "test-best-greedy-mode=hard"),
        ({"length_penalty": 0.0, "min_length": 3}, "test-best-beam-min_length=3-length_penalty=0.0"),
    ],
)
def test_a_variant_is_named_by_what_is_not_as_usual(changes: dict, expected: str) -> None:
    usual = BeamConfig()
    assert folder_name([Path("run")], "best", "test", Changes(revised_search(usual, changes)), usual) == expected


def test_pictures_of_an_earlier_evaluation_are_removed(trained: Path, corpus: Corpus, tmp_path: Path) -> None:
    stale = [tmp_path / "alignments" / name for name in ("0007.png", "0007.npz", "0000.png")]
    other = tmp_path / "alignments/mine.png"
    other.parent.mkdir()
    for path in (*stale, other):
        path.write_text("old")
    report(load(trained, device="cpu"), corpus.split("test"), "test", tmp_path)
    names = sorted(path.name for path in (tmp_path / "alignments").iterdir())
    drawn = ["0000.npz", "0000.png", "0001.npz", "0001.png"]
    assert names == [*drawn, "index.html", "mine.png", "test.jsonl", "test.pharaoh"]
    assert (tmp_path / "alignments/0000.png").read_bytes().startswith(b"\x89PNG")


def test_an_attention_that_uses_no_source_has_no_alignments(configure, corpus, tmp_path):
    config = configure({"attention": {"name": "none"}, "search": {"name": "greedy"}})
    translator = torch_translator(Seq2Seq(config, *corpus.tokenizers.sizes), corpus.tokenizers, config)
    table = corpus.split("test")._table
    with_gold = Split(table.drop_columns("links").append_column("links", [["0-0"] * len(table)]))
    results = report(translator, with_gold, "test", tmp_path)
    assert results["attention"] == {} and "aer" not in results
    assert not (tmp_path / "alignments").exists() and (tmp_path / "hypotheses/test.txt").is_file()
