import pytest

from mt.comparison.runs import find
from mt.comparison.table import compare
from mt.errors import UserError
from mt.metrics.bleu import bleu, chrf
from mt.metrics.rouge import rouge

DOT = {"attention": {"name": "general", "energy": {"name": "dot"}}}
MOCHA = {"attention": {"name": "mocha"}}
WRONG = [f"that was sentence no {n} of a test" for n in range(12)]
FACTS = {
    "perplexity": 2.345,
    "aer": {"score": 12.34, "signature": ""},
    "training_tokens_per_second": 12345.6,
    "peak_memory_mb": 1024.4,
    "parameters": 1_500_000,
    "training_seconds": 90.0,
}


@pytest.fixture
def runs(make_run):
    hard = {"search": {"name": "greedy", "beam_size": 5, "mode": "hard"}}
    return find(
        [make_run("dot", DOT, FACTS, WRONG), make_run("mocha", MOCHA, hard), make_run("same", DOT | {"seed": 2})]
    )


def test_scores_are_the_metrics_own_and_the_better_run_is_marked(runs, references) -> None:
    found = compare(runs, references)
    assert found.baseline == "dot seed=1"
    base, mocha, _ = found.rows
    assert base.scores["BLEU"].score == pytest.approx(bleu(WRONG, references).score)
    assert base.scores["chrF"].score == pytest.approx(chrf(WRONG, references).score)
    assert mocha.scores["BLEU"].score == pytest.approx(100) and mocha.scores["BLEU"].significant
    cells = dict(zip(found.header(), found.cells(mocha), strict=True))
    assert cells["BLEU"] == "100.0 ± 0.0 *" and cells["run"] == "mocha"
    assert "*" not in found.cells(base)[2]


def test_the_baseline_is_a_choice_and_a_run_equal_to_it_bears_no_mark(runs, references) -> None:
    found = compare(runs, references, "mocha")
    assert [row.name for row in found.rows] == ["dot seed=1", "mocha", "dot seed=2"]
    assert found.cells(found.rows[1])[0] == "mocha (baseline)"
    assert [cells[2][-1] for cells in map(found.cells, found.rows)] == ["*", "0", "0"]


def test_facts_are_shown_where_a_run_states_them(runs, references) -> None:
    found = compare(runs, references)
    assert found.header() == [
        "run", "decoding", "BLEU", "chrF",
        "perplexity", "AER", "training tokens/s", "peak memory, MB", "parameters, M", "training, min",
    ]  # fmt: skip
    assert found.cells(found.rows[0])[4:] == ["2.35", "12.3", "12,346", "1,024", "1.50", "1.5"]
    assert found.cells(found.rows[1])[4:] == ["4.00", "-", "-", "-", "-", "-"]
    assert [row.decoding for row in found.rows] == ["soft, beam 5", "hard, greedy", "soft, beam 5"]


def test_markdown(runs, references) -> None:
    found = compare(runs[:1], references)
    header, rule, row, blank, *notes = found.markdown().split("\n")
    assert header.startswith("| run            | decoding     |") and blank == ""
    assert rule.startswith("| -------------- | ------------ | ---") and rule.endswith("-: |")
    assert row.startswith("| dot (baseline) | soft, beam 5 |")
    assert len(header) == len(rule) == len(row)
    assert notes[0] == (
        "± half the width of the 95 % interval; \\* differs from dot with p < 0.05 "
        "(paired bootstrap, 1000 samples of the 12 test sentences)  "
    )
    assert notes[1].startswith("BLEU: nrefs:1|bs:1000|seed:12345|") and notes[2].startswith("chrF: ")


def test_plain_data_holds_everything(runs, references) -> None:
    plain = compare(runs, references).plain()
    assert plain["baseline"] == "dot seed=1" and len(plain["rows"]) == 3
    first, second = plain["rows"][:2]
    assert first["folder"] == str(runs[0].folder) and first["facts"]["AER"] == 12.34
    assert second["facts"]["AER"] is None
    assert second["scores"]["BLEU"]["p_value"] == pytest.approx(1 / 1001)
    assert set(first["scores"]["chrF"]) == {"score", "signature", "mean", "ci", "p_value"}


def test_summaries_are_scored_by_rouge(make_run, references) -> None:
    dataset = {"name": "s", "task": "summarization", "metrics": ["rouge"], "generator": "phrasebook"}
    runs = find([make_run("a", DOT | {"dataset": dataset}, {}, WRONG), make_run("b", MOCHA | {"dataset": dataset})])
    found = compare(runs, references)
    assert found.header()[2:5] == ["ROUGE-1", "ROUGE-2", "ROUGE-L"]
    assert [note.split(":")[0] for note in found.notes()[1:]] == ["ROUGE-1, ROUGE-2, ROUGE-L"]
    own = rouge(WRONG, references)
    scores = found.rows[0].scores
    assert scores["ROUGE-2"].score == pytest.approx(own["rouge2"].score)
    assert scores["ROUGE-L"].score == pytest.approx(own["rougeL"].score)
    assert found.cells(found.rows[1])[2] == "100.0 ± 0.0 *"


def test_each_run_needs_a_hypothesis_for_every_sentence(make_run, references) -> None:
    folder = make_run("short", DOT, {}, WRONG[:3])
    with pytest.raises(UserError) as refusal:
        compare(find([folder]), references)
    assert str(refusal.value) == (
        f"{folder}/hypotheses/test.txt has 3 lines but the test split has 12: one of them has changed since, so "
        "restore it"
    )
