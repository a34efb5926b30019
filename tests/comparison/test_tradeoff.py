import json
from html import unescape
from pathlib import Path

import pytest

from mt.comparison.page import write
from mt.comparison.runs import find
from mt.comparison.table import compare
from mt.comparison.tradeoff import measure
from mt.plots.curves import Line, tradeoff
from tests.refusals.sentences import require_refusal

LSTM = {"encoder": {"name": "lstm"}}
ONLINE = {"name": "online", "mode": "hard", "max_ratio": 2.0}


def results(bleu, delay=None, search=ONLINE, unit="word"):
    """Of an evaluation: AL one below the delay, DAL one above."""
    result = {"split": "test", "search": search, "bleu": {"score": bleu, "signature": "nrefs:1"}}
    if delay is None:
        return result
    lags = {"ap": 0.5, "al": delay - 1, "laal": delay, "dal": delay + 1}
    return result | {key: {"score": value, "signature": f"n:12|unit:{unit}"} for key, value in lags.items()}


def wait(k):
    return {"name": "wait_k", "mode": "soft", "k": k}


@pytest.fixture
def evaluated(make_run):
    """Writes a run and its evaluations, by the names of their folders."""

    def made(name, options, own, **evaluations):
        folder = make_run(name, LSTM | options, own)
        for place, result in evaluations.items():
            (folder / "evaluations" / place.replace("_", "-", 2)).mkdir(parents=True)
            (folder / "evaluations" / place.replace("_", "-", 2) / "results.json").write_text(json.dumps(result))
        return folder

    return made


def milk(weight, seed=1):
    return {"attention": {"name": "milk", "latency_weight": weight}, "seed": seed}


@pytest.fixture
def family(evaluated):
    hard, soft = (results(30.0, search={"name": "greedy", "mode": mode}) for mode in ("hard", "soft"))
    waits = {f"test_best_wait_k-k={k}": results(20.0 + k, float(k), wait(k)) for k in (1, 3)}
    return [
        evaluated("milk_0.5", milk(0.5), hard, test_best_online=results(26.0, 3.0)),
        evaluated("milk_0.1", milk(0.1), results(27.0, 5.0)),
        evaluated("milk_0.1_2", milk(0.1, seed=2), results(29.0, 7.0)),
        evaluated("waits", {"attention": {"name": "general"}}, soft, **waits, dev_best_online=results(1.0, 1.0)),
        evaluated("both", {"encoder": {"name": "bilstm"}, "attention": {"name": "dot"}}, results(35.0)),
        evaluated("one", {"attention": {"name": "dot"}}, results(31.0), test_best_beam=results(99.0)),
        evaluated("two", {"attention": {"name": "dot"}, "seed": 2}, results(33.0)),
    ]


def test_online_results_are_points_of_a_policy_and_offline_ones_levels(family) -> None:
    result = measure(find(family))
    assert result.quality == "BLEU"
    offline = ["offline, general", "offline, dot encoder=bilstm", "offline, dot"]
    assert [policy.name for policy in result.policies] == ["milk", "wait-k, general", *offline]
    assert [policy.online for policy in result.policies] == [True, True, False, False, False]
    shown = [[(p.setting, p.quality, p.latency.get("dal")) for p in policy.points] for policy in result.policies]
    assert shown == [
        [("latency_weight=0.5", 26.0, 4.0), ("latency_weight=0.1", 28.0, 7.0)],
        [("k=1", 21.0, 2.0), ("k=3", 23.0, 4.0)],
        [("", 30.0, None)],
        [("", 35.0, None)],
        [("", 32.0, None)],
    ]
    assert [len(point.measurements) for policy in result.policies for point in policy.points] == [1, 2, 1, 1, 1, 1, 2]
    header, *rows = zip(*([column.heading, *column.cells] for column in result.columns()), strict=True)
    assert header == ("policy", "setting", "BLEU", "AP", "AL", "LAAL", "DAL", "runs")
    assert rows[1] == ("milk", "latency_weight=0.1", "28.0", "0.50", "5.00", "6.00", "7.00", "2")
    assert rows[6] == ("offline, dot", "-", "32.0", "-", "-", "-", "-", "2")
    assert "in source words," in result.note()
    plain = result.plain()
    assert plain[0]["policy"] == "milk" and plain[0]["latency"] == {"ap": 0.5, "al": 2.0, "laal": 3.0, "dal": 4.0}
    assert [measurement["quality"] for measurement in plain[1]["runs"]] == [27.0, 29.0]
    assert plain[1]["runs"][1]["folder"] == str(family[2]) and json.loads(json.dumps(plain)) == plain


def test_re_translation_is_a_policy_whose_setting_is_its_mask(evaluated) -> None:
    taken_back = {0: 1.5, 4: 0.25}
    again = {"name": "retranslate", "mode": "soft"}
    masks = {
        f"test_best_retranslate-mask_k={k}": results(30.0, 3.0 + k, again | {"mask_k": k})
        | {"erasure": {"score": share, "signature": "n:12|unit:word"}}
        for k, share in taken_back.items()
    }
    own = results(30.0, search={"name": "beam", "mode": "soft"})
    run = evaluated("again", {"attention": {"name": "dot"}}, own, **masks)
    runs = find([run])
    result = measure(runs)
    shown = [(p.name, point.setting, point.latency.get("erasure")) for p in result.policies for point in p.points]
    *masked, level = shown
    assert masked == [("retranslate, dot", f"mask_k={k}", share) for k, share in taken_back.items()]
    assert level == ("offline, dot", "", None)
    assert [column.cells for column in result.columns() if column.heading == "NE"] == [["1.50", "0.25", "-"]]
    assert [str(each.search) for each in runs[0].evaluations.values()] == ["soft, retranslate 0", "soft, retranslate 4"]


def test_every_key_is_explained(family) -> None:
    page = (Path(__file__).parents[2] / "docs/results.md").read_text(encoding="utf-8").partition("`tradeoff` of")[2]
    point = measure(find(family)).plain()[0]
    assert [key for key in (*point, *point["runs"][0], *point["latency"]) if f"`{key}`" not in page] == []


def test_policies_of_one_attention_are_named_by_what_differs(evaluated) -> None:
    options = [{"attention": {"name": "mocha", "chunk_size": size, "latency_weight": 0.1}} for size in (2, 4)]
    runs = [evaluated(f"r{n}", own, results(20.0, 3.0)) for n, own in enumerate(options)]
    other = results(21.0, 4.0, {**ONLINE, "max_ratio": 3.0})
    runs.append(evaluated("wide", options[0] | {"seed": 5}, other))
    names = [policy.name for policy in measure(find(runs)).policies]
    assert names == [f"mocha attention.chunk_size={size} search.max_ratio={k}" for size, k in ((2, 2), (4, 2), (2, 3))]


def test_lengths_stand_in_the_table_where_results_have_them(evaluated) -> None:
    ratios = {seed: {"length_ratio": ratio} for seed, ratio in ((1, 1.25), (2, 1.75))}
    runs = [evaluated(f"r{seed}", milk(0.1, seed), results(20.0, 3.0) | ratio) for seed, ratio in ratios.items()]
    columns = {column.heading: [*column.cells] for column in measure(find(runs)).columns()}
    assert columns["length ratio"] == ["1.50"] and "length ratio: words written" in measure(find(runs)).note()


def test_an_evaluation_that_repeats_a_run_is_no_second_point(evaluated) -> None:
    run = evaluated("r", milk(0.1), results(20.0, 3.0), test_best_online=results(20.5, 3.5))
    [policy] = measure(find([run])).policies
    assert [(point.quality, len(point.measurements)) for point in policy.points] == [(20.5, 1)]
    assert measure(find([evaluated("read first", {}, results(20.0))])) is None


def test_latency_in_two_units_is_refused(evaluated) -> None:
    words = evaluated("new", milk(0.1), results(20.0, 3.0))
    old = results(20.0, 3.0)
    for key in ("ap", "al", "laal", "dal"):
        old[key]["signature"] = "n:12|length:hypothesis"
    tokens = evaluated("old", milk(0.2), old)
    counted = f"^{words} counts latency in words and {tokens} in tokens: "
    require_refusal(lambda: measure(find([words, tokens])), f"{counted}evaluate both in one unit, with mt evaluate$")


def test_it_stands_on_the_page_in_the_table_and_in_a_picture(family, references, tmp_path) -> None:
    result = compare(find(family), references)
    write(result, ["source"] * 12, references, tmp_path / "page", sentences=0, plot_format="svg")
    page = (tmp_path / "page/index.html").read_text(encoding="utf-8")
    assert "<h2>Quality against latency</h2>" in page and page.count("data:image/png;base64,") == 1
    assert all(f"<td>{policy.name}</td>" in unescape(page) for policy in result.tradeoff.policies)
    assert (tmp_path / "page/tradeoff.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "page/tradeoff.svg").read_bytes().startswith(b"<?xml")
    table = (tmp_path / "page/table.md").read_text(encoding="utf-8")
    for text in (table, result.text()):
        assert sum(line.startswith("| milk") for line in text.splitlines()) == 3 + 2
    assert json.loads((tmp_path / "page/comparison.json").read_text())["tradeoff"] == result.tradeoff.plain()
    columns = {column.heading: column for column in result.columns()}
    assert columns["DAL"].cells == ["-", "6.00", "8.00", "-", "-", "-", "-"] and columns["DAL"].best() == {1}
    assert "YAAL" not in columns
    write(compare(find(family[4:]), references), ["source"] * 12, references, tmp_path / "page", sentences=0)
    assert not [*(tmp_path / "page").glob("tradeoff.*")]
    assert "Quality against" not in (tmp_path / "page/index.html").read_text(encoding="utf-8")


def test_a_line_goes_through_the_means_by_delay_and_a_level_from_edge_to_edge() -> None:
    points = [([5.0, 6.0], [20.0, 22.0]), ([1.0, 9.0], [10.0])]
    figure = tradeoff([Line("a $x$", points), Line("鳥" * 90, level=30.0)], ["AL", "DAL"], "BLEU")
    figure.draw_without_rendering()
    first, second = figure.axes
    assert [axes.get_xlabel() for axes in figure.axes] == ["AL", "DAL"] and first.get_ylabel() == "BLEU"
    assert first.lines[0].get_xydata().tolist() == [[1, 10], [5, 21]]
    assert second.lines[0].get_xydata().tolist() == [[6, 21], [9, 10]]
    assert [bar.tolist() for bar in first.collections[0].get_segments()] == [[[1, 10], [1, 10]], [[5, 20], [5, 22]]]
    assert first.lines[1].get_ydata() == [30, 30] and first.lines[1].get_xdata() == [0, 1]
    names = [text.get_text() for text in figure.legends[0].get_texts()]
    assert names == ["a $x$", "鳥" * 79 + "…"] and not any(t.get_parse_math() for t in figure.legends[0].get_texts())


@pytest.mark.parametrize("count", [1, 6, 18, 40])
def test_a_legend_of_any_length_stands_below_the_panels(count) -> None:
    lines = [Line(f"offline, embedding.embedding_dim=128 {number}", level=30.0) for number in range(count)]
    figure = tradeoff([*lines, Line("mocha", [([5.0, 6.0], [20.0])])], ["AL", "DAL"], "BLEU")
    figure.draw_without_rendering()
    top = figure.legends[0].get_window_extent().y1
    for axes in figure.axes:
        panel = axes.get_window_extent()
        assert top < panel.y0 and panel.height > 1.5 * figure.dpi
