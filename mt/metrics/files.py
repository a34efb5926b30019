"""Scores of text files, whose lines n belong together, and of logs of simultaneous translation. Notes on the scores go
to standard error."""

from collections.abc import Callable, Sequence
from pathlib import Path

from mt.common.input_files import read_json
from mt.common.terminal import note
from mt.errors import UserError
from mt.metrics import build, notes
from mt.metrics.advice import lacks_capitals, share_parted
from mt.metrics.base import References, Score, Settings
from mt.metrics.latency import LatencyUnit, degenerate, read_log, score_latency, unsuited
from mt.metrics.rouge import Lead
from mt.text_io import digest, is_blank, read_parallel

_MARKUP = ("<?xml ", "<!DOCTYPE ", "<mteval", "<srcset ", "<refset ", "<tstset ")
"""How files of segments begin."""


def score_files(
    names: Sequence[str], settings: Settings, hypotheses: Path, references: Sequence[Path], *, lead: int | None = None
) -> dict[str, Score]:
    """Computes the scores of a file of hypotheses, by name. names: of metrics. lead: scores only the first `lead` words
    of each line, as ROUGE's tokenizer cuts them. Raises UserError for a file that cannot be used, for unequal numbers
    of lines, and for hypotheses of a run that belong to other references."""
    # Line n of each file belongs to the same sentence.
    texts, *columns = read_parallel([hypotheses, *references], "example")
    for path, lines in zip([hypotheses, *references], [texts, *columns], strict=True):
        if lines[0].startswith(_MARKUP):
            raise UserError(
                f"{path}, line 1 is markup of segments, as in WMT's .sgm files, and a text has a segment in each line: "
                "write one by a command of docs/results.md"
            )
    _require_own_references(hypotheses, references, columns)
    groups = [_references_of_line(*each, references) for each in enumerate(zip(*columns, strict=True), start=1)]
    # With --lead the texts are sources, and their first words are scored.
    if lead is not None:
        baseline = Lead(lead, settings.rouge.tokenizer)
        note(baseline.unsuited(texts))
        texts = [baseline.beginning(text) for text in texts]
    return _score_texts(names, settings, texts, groups)


def score_log(
    names: Sequence[str],
    settings: Settings,
    log: Path,
    *,
    unit: LatencyUnit = "word",
    count_subwords: Callable[[str], int] = len,
    reference_length: bool = True,
) -> dict[str, Score]:
    """Computes the scores of the hypotheses in a log that have references, and the latency of all hypotheses. names: of
    metrics. count_subwords: counts the subwords of a reference. unit, reference_length: see `score_latency`. Raises
    UserError for a log that cannot be used."""
    # The latency of every hypothesis that has a word.
    instances = read_log(log, unit)
    timed = score_latency(instances, unit, subwords=count_subwords, reference_length=reference_length)
    if not timed:
        raise UserError(f"{log} has no hypothesis with a word, so there is no latency to measure")
    # Hypotheses with references have scores of texts.
    hypotheses = []
    groups = []
    for line, instance in enumerate(instances, start=1):
        if instance.reference is None:
            continue
        if is_blank(instance.reference):
            raise UserError(f"{log}, line {line} has a blank reference: remove that line")
        hypotheses.append(instance.prediction)
        groups.append([instance.reference.strip("\r\n")])
    scores: dict[str, Score] = {}
    if groups:
        scores = _score_texts(names, settings, hypotheses, groups)
        note(unsuited(unit, [group[0] for group in groups]))
    if degenerate(timed):
        note("SWF and EFSW are more than 20 apart: likely a degenerate policy, by OmniSTEval")
    return scores | timed


def _require_own_references(hypotheses: Path, paths: Sequence[Path], columns: Sequence[Sequence[str]]) -> None:
    """Raises UserError if an evaluation wrote the hypotheses for other references, by the digests in the file beside
    them."""
    if hypotheses.parent.name != "hypotheses" or not (record := hypotheses.with_suffix(".json")).is_file():
        return
    digests = read_json(record, "evaluate the run again").get("references")
    if isinstance(digests, list) and not any(digest(column) in digests for column in columns):
        raise UserError(
            f"{hypotheses} was written for another {hypotheses.stem} split than {paths[0]} holds now: evaluate the run "
            "again, or score a copy elsewhere if these references are meant"
        )


def _references_of_line(number: int, texts: Sequence[str], paths: Sequence[Path]) -> list[str]:
    """Returns the references in one line of each file; blank lines are no references."""
    if written := [text for text in texts if not is_blank(text)]:
        return written
    where = f"{paths[0]}, line {number} is blank" if len(paths) == 1 else f"line {number} is blank in all references"
    raise UserError(f"{where}, and a hypothesis cannot be scored against nothing: remove that line from every file")


def _score_texts(
    names: Sequence[str], settings: Settings, hypotheses: Sequence[str], groups: References
) -> dict[str, Score]:
    # Scores come first: what they are not good for is noted after them.
    metrics = build(names, settings)
    scores = {name: score for metric in metrics for name, score in metric.score(hypotheses, groups).items()}
    note(*notes(metrics, groups))
    # Lower case costs BLEU and chrF much against references with capitals.
    cased = any("case:mixed" in score.signature for score in scores.values())
    if cased and lacks_capitals(hypotheses, [group[0] for group in groups]):
        note(
            "no hypothesis has a capital letter, and most references have: add --lowercase if the system writes lower "
            "case alone"
        )
    # A tokenizer, which BLEU has itself, is not to cut one side alone.
    shares = share_parted(hypotheses), share_parted([group[0] for group in groups])
    (least, whole), (most, cut) = sorted(zip(shares, ("hypotheses", "references"), strict=True))
    if "bleu" in scores and most - least > 0.5:
        note(
            f"most {cut} are cut by a tokenizer (blanks before full stops and commas, @-@, &apos;, @@ or ▁), and the "
            f"{whole} are not, so that BLEU is too low: give {cut} as they are written (docs/results.md has commands)"
        )
    return scores
