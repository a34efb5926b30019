import csv
import io
import re

import pytest

from mt.comparison.columns import Column, as_csv, as_latex
from mt.comparison.runs import find
from mt.comparison.table import compare
from mt.metrics import METRICS, build
from tests.refusals.sentences import require_refusal

MONOTONIC = {"attention": {"name": "monotonic"}}
MOCHA = {"attention": {"name": "mocha"}}
WRONG = [f"that was sentence no {n} of a test" for n in range(12)]
COSTS = {"training_tokens_per_second": 12345.6, "peak_memory_mb": 1024.4, "training_seconds": 90.0}
FACTS = {"perplexity": 2.345, "aer": {"score": 12.34, "signature": ""}, "parameters": 1_500_000, **COSTS}


def own(score, references):
    return {name: s for m in build([*METRICS]) for name, s in m.score(WRONG, references).items()}[score].score


def cells(result, row):
    return {column.heading: column.cells[row] for column in result.columns()}


@pytest.fixture
def runs(make_run):
    hard = {"search": {"name": "greedy", "beam_size": 5, "mode": "hard"}}
    folders = [make_run("monotonic", MONOTONIC, FACTS, WRONG), make_run("mocha", MOCHA, hard)]
    return find([*folders, make_run("same", MONOTONIC | {"seed": 2})])


def test_scores_are_the_metrics_own_and_the_better_run_is_marked(runs, references) -> None:
    result = compare(runs, references)
    assert result.baseline == "monotonic seed=1"
    base, mocha, _ = result.rows
    assert base.scores["BLEU"].score == pytest.approx(own("bleu", references))
    assert base.scores["chrF"].score == pytest.approx(own("chrf", references))
    assert mocha.scores["BLEU"].score == pytest.approx(100) and mocha.scores["BLEU"].significant
    assert cells(result, 1)["BLEU"] == "100.0 ± 0.0 *" and cells(result, 1)["run"] == "mocha"
    assert "*" not in cells(result, 0)["BLEU"]


def test_the_baseline_is_a_choice_and_a_run_equal_to_it_bears_no_mark(runs, references) -> None:
    result = compare(runs, references, "mocha")
    assert [row.name for row in result.rows] == ["monotonic seed=1", "mocha", "monotonic seed=2"]
    assert cells(result, 1)["run"] == "mocha (baseline)"
    assert [cells(result, row)["BLEU"][-1] for row in range(3)] == ["*", "0", "0"]


def test_facts_are_shown_where_a_run_states_them(runs, references) -> None:
    result = compare(runs, references)
    assert [column.heading for column in result.columns()] == [
        "run", "decoding", "BLEU", "chrF",
        "perplexity", "AER", "training tokens/s", "peak memory, MB", "parameters, M", "training, min",
    ]  # fmt: skip
    assert list(cells(result, 0).values())[4:] == ["2.35", "12.3", "12,346", "1,024", "1.50", "1.5"]
    assert list(cells(result, 1).values())[4:] == ["4.00", "-", "-", "-", "-", "-"]
    assert [cells(result, row)["decoding"] for row in range(3)] == ["soft, beam 5", "hard, greedy", "soft, beam 5"]


@pytest.mark.parametrize("metric", METRICS)
def test_every_metric_has_its_columns_and_direction(make_run, references, metric) -> None:
    dataset = {"dataset": {"generator": "phrasebook", "metrics": [metric]}}
    slower = {"training_seconds": 60, "tokens_per_second": 5.0, "parameters": 7, "perplexity": 4.5}
    faster = {"training_seconds": 50, "tokens_per_second": 9, "parameters": 9, "perplexity": float("inf")}
    runs = find([make_run("a", MONOTONIC | dataset, slower, WRONG), make_run("b", MOCHA | dataset, faster)])
    columns = {column.heading: column for column in compare(runs, references).columns()}
    for heading in METRICS[metric].headings().values():
        if heading != "ROUGE-Lsum":  # equals ROUGE-L where texts have one line
            assert columns[heading].best() == {1}, heading
    best = {heading: column.best() for heading, column in columns.items() if column.best()}
    assert best["training, min"] == best["decoding tokens/s"] == {1}
    # One is infinite, of the other neither direction is better.
    assert not {"perplexity", "parameters, M", "run", "decoding"} & best.keys()


def test_markdown(runs, references) -> None:
    result = compare(runs[:1], references)
    header, rule, row, blank, *notes = result.markdown().split("\n")
    assert header.startswith("| run                  | decoding     |") and blank == ""
    assert rule.startswith("|:---------------------|:-------------|---") and rule.endswith("-:|")
    assert row.startswith("| monotonic (baseline) | soft, beam 5 |")
    assert len(header) == len(rule) == len(row)
    differs = "\\* differs from monotonic with p below 0.05 (paired bootstrap, 1000 samples of the 12 test sentences)"
    assert notes[0] == f"± half the width of the 95 % interval; {differs}  "
    assert notes[1].startswith("BLEU: nrefs:1|bs:1000|seed:12345|") and notes[2].startswith("chrF: ")


def test_nothing_in_a_name_is_markup(make_run, references) -> None:
    folder = "<img src=x onerror=alert(1)>|*a* _b_ [c](d) `e` ~~f~~ local_m &amp;"
    dataset = {"source": "en", "target": "de"}
    runs = [make_run(name, {"dataset": dataset | {"folder": name + folder}}) for name in ("x", "y")]
    result = compare(find(runs), references)
    assert folder in result.rows[0].name and folder in result.text()
    table = result.markdown()
    assert "<" not in table
    assert r"x&lt;img src=x onerror=alert(1)&gt;\|\*a\* \_b\_ \[c\](d) \`e\` \~\~f\~\~ local_m &amp;amp;" in table
    rows = table.split("\n")[:4]
    assert len({len(re.sub(r"\\\|", "", row).split("|")) for row in rows}) == 1


def test_runs_are_compared_without_case_where_one_cannot_write_capitals(make_run, references) -> None:
    dataset = {"generator": "phrasebook", "metrics": ["bleu", "accuracy"]}
    lower = {"dataset": dataset | {"tokenizer": {"lowercase": True}}}
    small = [group[0].lower() for group in references]
    cased = make_run("a", MONOTONIC | {"dataset": dataset})
    alone = compare(find([cased]), references)
    assert "|case:mixed|" in alone.notes()[1]
    result = compare(find([cased, make_run("b", MOCHA | lower, {}, small)]), references)
    assert [row.scores["BLEU"].score for row in result.rows] == pytest.approx([100, 100])
    assert [row.scores["accuracy"].score for row in result.rows] == [100, 100]
    assert all("|case:lc|" in note for note in result.notes()[1:])


def test_each_run_needs_a_hypothesis_for_every_sentence(make_run, references) -> None:
    folder = make_run("short", MONOTONIC, {}, WRONG[:3])
    reason = "has 3 lines but the test split has 12: one of them has changed since, so restore it"
    require_refusal(lambda: compare(find([folder]), references), f"^{folder}/hypotheses/test.txt {reason}$")


def test_runs_without_a_test_split_are_compared_on_dev(make_run, references) -> None:
    folders = [make_run(name, {"attention": {"name": name}}, {"split": "dev"}) for name in ("monotonic", "mocha")]
    evaluation = folders[0] / "evaluations" / "dev-best-online"
    evaluation.mkdir(parents=True)
    (evaluation / "results.json").write_text((folders[0] / "results.json").read_text())
    runs = find(folders)
    assert len(runs[0].hypotheses) == 12 and len(runs[0].evaluations) == 1
    assert "samples of the 12 dev sentences" in compare(runs, references).notes()[0]


def test_a_spreadsheet_has_every_number_in_full(runs, references) -> None:
    result = compare(runs, references)
    lines = [*csv.DictReader(io.StringIO(result.csv()))]
    assert [line["run"] for line in lines] == ["monotonic seed=1", "mocha", "monotonic seed=2"]
    assert lines[0]["decoding"] == "soft, beam 5"
    for line, row in zip(lines, result.rows, strict=True):
        score = row.scores["BLEU"]
        assert float(line["BLEU"]) == score.score and float(line["BLEU ±"]) == score.ci
        assert line["BLEU differs"] == str(int(score.significant))
    assert lines[0]["perplexity"] == "2.345" and lines[0]["parameters, M"] == "1.5"
    assert lines[1]["AER"] == ""
    # And so has the plain data.
    plain = result.plain()
    assert plain["baseline"] == "monotonic seed=1" and plain["rows"][0]["folder"] == str(runs[0].folder)
    assert [row["facts"]["AER"] for row in plain["rows"]] == [12.34, None, None]
    assert plain["rows"][1]["scores"]["BLEU"]["p_value"] == pytest.approx(1 / 1001)
    assert set(plain["rows"][0]["scores"]["chrF"]) == {"score", "signature", "mean", "ci", "p_value"}


def test_latex_has_the_table_with_the_best_in_bold(runs, references) -> None:
    lines = compare(runs, references, "mocha").latex().splitlines()
    assert lines[0] == r"\begin{tabular}{llrrrrrrrr}" and lines[1] == r"\toprule"
    cells = [[cell.strip() for cell in line.removesuffix(r"\\").split("&")] for line in lines[2:7]]
    assert cells[0][:4] == ["run", "decoding", "BLEU", "chrF"]
    assert cells[3][:3] == ["mocha (baseline)", "hard, greedy", r"\textbf{100.0 ± 0.0}"]
    assert lines[7:9] == [r"\bottomrule", r"\end{tabular}"]
    assert lines[9].startswith("% ± half the width")


def test_nothing_of_a_name_is_a_command_of_latex() -> None:
    texts = ["run", r"\input{x} a_b & 5 % #1\x1b[1m".replace("\\x1b", "\x1b")]
    line = as_latex([Column(*(text, [text])) for text in texts])[4]
    assert r"\textbackslash{}input\{x\} a\_b \& 5 \% \#1" in line and "\x1b" not in line


def test_nothing_of_a_name_is_a_formula_of_a_spreadsheet() -> None:
    assert as_csv([["=1+1", 'a "b", c', -1.5, None]]) == '\'=1+1,"a ""b"", c",-1.5,\n'
