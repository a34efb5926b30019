"""Writes an evaluation for people: scores, hypotheses, alignments as pictures, numbers and word links.

`report` writes a folder. The functions after it print results. `evaluate_runs` evaluates runs after their training, in
a separate folder."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mt.checkpoint import load_meta, locate
from mt.common.backdrop import PlotFormat
from mt.common.input_files import read_json
from mt.common.terminal import note, say
from mt.data.split import Split
from mt.decoding.modes import reads_hard
from mt.decoding.onnx import OnnxNetwork
from mt.decoding.translation import Translation
from mt.decoding.translator import Translator
from mt.decoding.unknown_words import UnknownWords
from mt.errors import UserError
from mt.evaluation.confidence import calibrate_run, confidence_results
from mt.evaluation.drawings import alignment_error, drawings, records
from mt.evaluation.results import KEYS, OF_TRAINING, Key, Search
from mt.evaluation.score import Evaluation, evaluate
from mt.evaluation.scoring import notes_of
from mt.evaluation.teacher_forcing import TeacherForcedResult, teacher_forced_pass
from mt.evaluation.timing import pointing_score, timing_scores
from mt.explorer import as_json, page
from mt.metrics.base import Score
from mt.metrics.latency import LOG, LatencyUnit, write_log
from mt.search.config import Precision, SearchConfig
from mt.search.options import CUT_REMEDY, SearchOptions, cut_note
from mt.storage import refuse_link, replaced, subfolder, write_json, write_text

if TYPE_CHECKING:
    from mt.plots import Figure


class Changes(NamedTuple):
    """Settings of an evaluation in place of those of its run; None keeps the run's."""

    search: SearchConfig | None = None
    precision: Precision | None = None
    """The precision of matrix products."""
    unit: LatencyUnit | None = None
    """The unit of latency."""
    unknown_words: UnknownWords | None = None
    """Replaces the unknown words of the hypotheses."""
    plot_words: bool | None = None
    """Whether heatmaps show words instead of pieces."""
    plot_format: PlotFormat | None = None


AS_CONFIGURED = Changes()


def report(
    translator: Translator,
    split: Split,
    name: str,
    folder: Path,
    changes: Changes = AS_CONFIGURED,
    *,
    calibrated: Path | None = None,
    progress: bool = False,
) -> dict[str, Any]:
    """Decodes and scores a split, and writes `hypotheses/<name>.txt` and `alignments/`; returns the scores, which
    docs/results.md explains. The digests of the split are written beside the hypotheses, and for online decoding
    `instances.log`. Exported models have no loss, no statistics of the attention and no heatmaps.

    name: the split's name. calibrated: the run that gets a table of confidences from this split."""
    search = translator.search_for(changes.search)
    evaluation = evaluate(
        translator, split, search, unit=changes.unit, unknown_words=changes.unknown_words, progress=progress
    )
    decoded = (translator, evaluation.translations, split)
    results: dict[str, Any] = {
        "split": name,
        "scored_on": split.digests(),
        "search": search.model_dump(),
        **{metric: asdict(score) for metric, score in evaluation.scores.items()},
    }
    # A model in torch also reads the references, for its loss and its alignments.
    forced = None
    if isinstance(translator.network, OnnxNetwork):
        checkpoint = dict(translator.network.manifest.checkpoint)
        results |= {"attention": {}, **evaluation.counts(), "checkpoint": checkpoint}
    else:
        results["search"] |= {"mode": "hard" if reads_hard(search, translator.model) else "soft"}
        forced = teacher_forced_pass(translator, split, search, links=translator.model.uses_source)
        if calibrated is not None:
            calibrate_run(*decoded, calibrated)
        results |= _of_model(forced, translator, evaluation, split, folder)
    # All processes make the records together; the first one writes texts, alignments and heatmaps.
    linked = (forced.links, forced.linkable) if forced else ()
    kept = [*records(*decoded, search, *linked)] if forced is None or translator.model.uses_source else None
    if forced is None or translator.network.in_torch().processes.is_first:
        _write_hypotheses(subfolder(folder, "hypotheses"), name, evaluation, results["scored_on"])
        if kept is not None:
            _write_gallery(folder, name, None if forced is None else forced.links, kept, results)
        if forced:
            _discard_heatmaps(folder / "alignments")
            plot_format = changes.plot_format or translator.config.training.plot_format
            for number, translation, figure in drawings(*decoded, words=changes.plot_words):
                _write_alignment(translation, figure, folder / "alignments" / f"{number:04d}", plot_format)
    return results


def _of_model(
    forced: TeacherForcedResult, translator: Translator, evaluation: Evaluation, split: Split, folder: Path
) -> dict[str, Any]:
    """Returns the results of a model in torch besides the metrics: loss, attention, and the measures that apply."""
    model = translator.model
    decoded = (translator, evaluation.translations, split)
    measured: dict[str, Any] = timing_scores(*decoded) | pointing_score(*decoded) | confidence_results(*decoded, folder)
    # Alignments can be judged only where links are known and the attention made some.
    if model.uses_source and any(split.links()):
        measured["aer"] = alignment_error(forced.links, split.links(), linkable=forced.linkable)
    return {
        "loss": forced.loss,
        "perplexity": forced.perplexity,
        "attention": forced.stats.scores() if model.uses_source else {},
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        **evaluation.counts(),
        **{key: asdict(value) if isinstance(value, Score) else value for key, value in measured.items()},
    }


def _write_gallery(
    folder: Path, name: str, links: Sequence[str] | None, kept: Sequence[Mapping[str, Any]], results: Mapping[str, Any]
) -> None:
    """Writes the links of the forced alignments, if any, the records of all translations, one a line, and the page that
    shows them, which needs no other file."""
    alignments = subfolder(folder, "alignments")
    if links is not None:
        write_text(alignments / f"{name}.pharaoh", links)
    write_text(alignments / f"{name}.jsonl", [as_json(record) for record in kept])
    run = {"name": folder.resolve().name, "records": kept, "notes": table(results).splitlines()}
    write_text(alignments / "index.html", [page(f"Alignments of {run['name']}, {name}", [run])])


def _discard_heatmaps(alignments: Path) -> None:
    """Deletes the heatmaps of an earlier evaluation, which would be of other hypotheses."""
    refuse_link(alignments)
    for path in alignments.glob("[0-9][0-9][0-9][0-9].*"):
        path.unlink()


def _write_hypotheses(folder: Path, name: str, evaluation: Evaluation, digests: Mapping[str, Any]) -> None:
    write_text(folder / f"{name}.txt", [translation.text for translation in evaluation.translations])
    write_json(folder / f"{name}.json", digests)
    if evaluation.instances:
        write_log(folder, evaluation.instances)
    else:  # the log of an earlier search would be of other hypotheses
        (folder / LOG).unlink(missing_ok=True)


def origin(run: Path, name: str) -> dict[str, Any]:
    """Says which weights a checkpoint holds: `name` (`average` or `ema` for averages of weights), the last `update` in
    them, of an average the updates `averaged`, and of a moving average its `ema_decay`."""
    meta = load_meta(locate(run, name))
    kind = "average" if meta.averaged else "ema" if meta.ema_decay else name
    return {"name": kind} | meta.model_dump(include={"update", "averaged", "ema_decay"}, exclude_none=True)


def samples(split: Split, translations: Sequence[Translation]) -> str:
    """Returns a Markdown table of translations beside their sources and references."""
    examples = zip(split.column("source"), split.column("target"), (each.text for each in translations), strict=False)
    lines = ["| source | reference | translation |", "|---|---|---|"]
    lines += ["| " + " | ".join(cell.replace("|", "\\|") for cell in example) + " |" for example in examples]
    return "\n".join(lines)


def table(results: Mapping[str, Any]) -> str:
    """Returns a heading and the numbers of results, one a line; the signatures of scores are in results.json."""
    # Scores are objects with a signature, other results plain numbers.
    lines = [_heading(results)]
    for name, value in results.items():
        number = value["score"] if isinstance(value, Mapping) and "score" in value else value
        if isinstance(number, int | float) and not isinstance(number, bool):
            shown = f"{number:,}" if isinstance(number, int) else f"{number:,.{4 if name == 'loss' else 2}f}"
            lines.append(f"  {name:<28} {shown:>12}  {KEYS.get(name, Key()).unit}".rstrip())
    # Notes on numbers that mislead.
    if results.get("confidence_in_sample"):
        lines.append("note: confidences are in-sample: their table was made of these very words")
    if count := results.get("cut"):
        limits = SearchOptions(**{name: results["search"][name] for name in SearchOptions.model_fields})
        lines.append(f"note: {cut_note(count, limits.limit, CUT_REMEDY)}")
    return "\n".join(lines)


def _heading(results: Mapping[str, Any]) -> str:
    """Describes an evaluation: `test: beam search, beam_size 5, hard attention, best checkpoint (update 120)`."""
    search = results["search"]
    parts = [f"{results['split']}: {search['name']} search"]
    parts += [
        f"{option} {search[option]}"
        for option in Search.model_fields
        if option not in ("name", "mode") and search.get(option)
    ]
    parts += [f"{search['mode']} attention"] if results["attention"] else []
    parts += [weights_name(results["checkpoint"])] if "checkpoint" in results else []
    parts += [f"ensemble of {len(results['ensemble'])} runs"] if "ensemble" in results else []
    return ", ".join(parts)


def weights_name(checkpoint: Mapping[str, Any]) -> str:
    """Describes the weights of a checkpoint. checkpoint: as `origin` returns it."""
    if averaged := checkpoint.get("averaged"):
        return f"average of updates {', '.join(map(str, averaged))}"
    if decay := checkpoint.get("ema_decay"):
        return f"moving average of {checkpoint['update']} updates (decay {decay})"
    return f"{checkpoint['name']} checkpoint (update {checkpoint['update']})"


def _write_alignment(translation: Translation, figure: "Figure", path: Path, plot_format: str) -> None:
    """Writes the heatmap to <path>.png, and beside it in another format if chosen, and its numbers to <path>.npz."""
    from mt.plots import save_with_png  # imported late: training draws at its end, and matplotlib takes long to load

    save_with_png(figure, path, plot_format)
    source, target = (np.array(tokens) for tokens in (translation.source_tokens, translation.tokens))
    with replaced(path.with_suffix(".npz")) as file:
        np.savez_compressed(file, weights=translation.alignment, source=source, target=target)


# Evaluations of runs after their training.


def evaluate_runs(
    runs: Sequence[Path],
    checkpoint: str,
    translator: Translator,
    split: Split,
    name: str,
    folder: Path,
    changes: Changes,
    *,
    calibrates: bool = False,
) -> None:
    """Evaluates a run, or an ensemble of several runs. Writes `results.json` and the files of `report` to a folder, and
    prints the scores.

    checkpoint: the name of the runs' checkpoint. name: the split's name. calibrates: whether to make the run's table of
    confidences from this split."""
    # Graphs for ONNX Runtime do not give the attention for pictures.
    exported = isinstance(translator.network, OnnxNetwork)
    if exported and (changes.plot_words, changes.plot_format) != (None, None):
        raise UserError(
            "--plot-format and --plot-words are of heatmaps, and --engine onnx draws none: leave them out, or "
            "evaluate the run itself"
        )
    calibrated = runs[0] if calibrates else None
    results = report(translator, split, name, folder, changes, calibrated=calibrated, progress=sys.stderr.isatty())
    # The weights that were used; `report` has noted those of an exported model.
    if not exported:
        origins = [origin(run, checkpoint) for run in runs]
        ensemble = [{"run": str(run)} | weights for run, weights in zip(runs, origins, strict=True)]
        results |= {"ensemble": ensemble} if len(runs) > 1 else {"checkpoint": origins[0]}
        results |= {"precision": changes.precision} if changes.precision else {}
    # Where a run's own results are overwritten, the measurements of its training stay.
    again = [folder.resolve()] == [run.resolve() for run in runs]
    kept = _earlier_results(folder) if again else {}
    write_json(folder / "results.json", results | {key: kept[key] for key in OF_TRAINING if key in kept})
    # Scores of the run's training may be of a split that has changed since.
    digests = results["scored_on"]
    for run in runs:
        earlier = _earlier_results(run)
        if earlier.get("split") == name and earlier.get("scored_on", digests) != digests:
            note(
                f"the {name} split has changed since {run}/results.json was written, whose scores are not to be "
                "compared with these"
            )
    dataset = translator.config.dataset
    scored = dataset.model_copy(update={"latency_unit": changes.unit}) if changes.unit else dataset
    note(*notes_of(scored, split.column("references"), online="al" in results))
    say(f"{table(results)}\n\n{folder}")


def folder_name(runs: Sequence[Path], checkpoint: str, split: str, changes: Changes, usual: SearchConfig) -> str:
    """Names an evaluation's folder by split, checkpoint, search, and the options that differ from the usual search.

    >>> folder_name([Path("run")], "best", "test", Changes(BeamConfig(beam_size=10)), BeamConfig())
    'test-best-beam-beam_size=10'
    """
    # The name says what an option was only where it differs from the run's own.
    search = changes.search or usual
    usual_options = usual.model_dump()
    options = search.model_dump(exclude={"name"}, exclude_none=True)
    parts = [f"ensemble-of-{len(runs)}"] if len(runs) > 1 else []
    parts += [split, checkpoint, search.name]
    parts += [f"{name}={value}" for name, value in options.items() if usual_options.get(name, ...) != value]
    parts += [changes.precision] if changes.precision else []
    parts += [f"{changes.unit}s"] if changes.unit else []
    parts += ["replace_unknown"] if changes.unknown_words else []
    return "-".join(parts)


def _earlier_results(folder: Path) -> dict[str, Any]:
    """Returns the content of a folder's `results.json`; nothing if it is missing or damaged."""
    try:
        return read_json(folder / "results.json", "evaluate again")
    except UserError:
        return {}
