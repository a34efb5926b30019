"""What all metrics of the table have in common."""

import random
from functools import partial

import pytest

from mt.metrics import DEFAULTS, METRICS, build, higher_is_better, require_known, score_names
from mt.metrics.base import LEVEL
from tests.refusals.sentences import require_refusal

EVERY = pytest.mark.parametrize("metric", build([*METRICS]), ids=METRICS)
TEXT = [" ".join(f"word{(7 * i + j) % 23}" for j in range(2 + i % 7)) for i in range(60)]


def spoilt(seed: int, share: float) -> list[str]:
    """The text with that share of its words replaced."""
    draw = random.Random(seed)
    return [" ".join("other" if draw.random() < share else word for word in line.split()) for line in TEXT]


@EVERY
def test_the_text_itself_has_the_best_score(metric) -> None:
    references = [[line] for line in TEXT]
    best = metric.score(TEXT, references)
    worse = metric.score(spoilt(1, 0.4), references)
    assert list(best) == list(metric.headings()) and metric.main() in best
    for name, score in best.items():
        if metric.name != "cider":  # whose best depends on how long and how rare the references are
            assert score.score == pytest.approx(100 if metric.higher_is_better else 0, abs=1e-4)
        assert (score.score > worse[name].score) == metric.higher_is_better == higher_is_better(name)
        assert score.signature.startswith("nrefs:1|")


@EVERY
def test_systems_beside_the_first(metric) -> None:
    references = [[line] for line in TEXT]
    base = spoilt(1, 0.4)
    near = [TEXT[0], *base[1:50], *spoilt(2, 0.6)[50:]]
    systems = {"base": base, "again": list(base), "near": near, "good": spoilt(3, 0.1)}
    compared = metric.compare(systems, references)
    assert metric.main() in compared and set(compared) <= set(metric.headings())
    for name, results in compared.items():
        assert list(results) == list(systems)
        for system, result in results.items():
            assert result.score == pytest.approx(metric.score(systems[system], references)[name].score)
            assert result.mean == pytest.approx(result.score, abs=2)
            assert 0 < result.ci < (200 if name == "cider" else 20)
            assert result.signature.startswith("nrefs:1|bs:1000|seed:12345|")
        assert results["base"].p_value is None and results["again"].p_value == 1
        assert LEVEL < results["near"].p_value <= 1 and results["good"].significant
        assert (results["good"].score > results["base"].score) == metric.higher_is_better


@EVERY
def test_a_further_reference_never_harms(metric, random_corpus) -> None:
    hypotheses, references = random_corpus(5)
    pairs = list(zip(hypotheses, references, strict=True))
    more = [[*group, text] if i % 2 else group for i, (text, group) in enumerate(pairs)]
    before = metric.score(hypotheses, references)
    after = metric.score(hypotheses, more)
    for name in before:
        assert (after[name].score > before[name].score) == metric.higher_is_better
        assert after[name].signature.startswith("nrefs:var|")


@EVERY
def test_nothing_written_is_a_score_too(metric) -> None:
    for score in metric.score([""], [["a b c d"]]).values():
        assert score.score == pytest.approx(0 if metric.higher_is_better else 100)


@EVERY
def test_refusals(metric) -> None:
    for hypotheses, references, sentence in (
        (["a", "b"], [["a"]], r"^hypotheses \(2\) and references \(1\) are not equally many: give one "),
        ([], [], "^there is nothing to score: give at least one hypothesis"),
        (["a", "b"], [["a"], []], "^sentence 2 has no reference: give each sentence at least one$"),
    ):
        require_refusal(partial(metric.score, hypotheses, references), sentence)
    with pytest.raises(TypeError, match="not a string"):
        metric.score(["a", "b"], ["a", "b"])
    systems = {"long": ["a", "b"], "short": ["a"]}
    require_refusal(lambda: metric.compare(systems, [["a"], ["b"]]), r"^hypotheses \(1\) and references \(2\) are")


def test_names_and_directions() -> None:
    assert all(METRICS[name].name == name for name in METRICS)
    everything = score_names(list(METRICS))
    assert len(everything) == len(set(everything))
    assert score_names(["rouge", "wer"]) == ["rouge1", "rouge2", "rougeL", "rougeLsum", "wer"]
    better = [name for name in ("bleu_hard", "wer_soft", "loss", "loss_hard") if higher_is_better(name)]
    assert better == ["bleu_hard"]
    assert [metric.name for metric in build(["wer", "bleu", "wer"])] == ["wer", "bleu"]
    for names in DEFAULTS.values():
        require_known(names, "metrics")


def test_no_names() -> None:
    names = ", ".join(METRICS)
    require_refusal(lambda: require_known([], "--metrics"), f"^--metrics is empty: name at least one of {names}$")
