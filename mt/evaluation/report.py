"""Writes an evaluation for people: scores, hypotheses, alignments as pictures, numbers and word links.

`report` writes a folder. What follows puts results into words. `RunEvaluation` evaluates trained runs apart from their
training, each in a folder of its own."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mt.checkpoint import load_meta, locate
from mt.common.backdrop import PlotFormat
from mt.common.input_files import read_json
from mt.common.terminal import say
from mt.data.split import Split
from mt.decoding.modes import reads_hard
from mt.decoding.onnx import OnnxNetwork
from mt.decoding.translation import Translation
from mt.decoding.translator import Translator
from mt.decoding.unknown_words import UnknownWords
from mt.errors import UserError
from mt.evaluation.confidence import confidence_results
from mt.evaluation.drawings import alignment_error, drawings, records
from mt.evaluation.results import KEYS, OF_TRAINING, Key, Search
from mt.evaluation.score import Evaluation, evaluate
from mt.evaluation.scoring import notes_of
from mt.evaluation.teacher_forcing import TeacherForcedResult, teacher_forced_pass
from mt.evaluation.timing import pointing_score, timing_scores
from mt.explorer import as_json, page
from mt.metrics.latency import LOG, LatencyUnit, write_log
from mt.search.config import Precision, SearchConfig, wait_k_of
from mt.search.limits import CUT_REMEDY, LengthOptions, cut_note
from mt.storage import refuse_link, replaced, subfolder, write_json, write_text

if TYPE_CHECKING:
    from mt.plots import Figure


class PlotOptions(NamedTuple):
    """How heatmaps are drawn; None: as the run was configured."""

    words: bool | None = None
    format: PlotFormat | None = None


def report(
    translator: Translator,
    split: Split,
    name: str,
    folder: Path,
    *,
    search: SearchConfig | None = None,
    unit: LatencyUnit | None = None,
    plots: PlotOptions | None = None,
    unknown_words: UnknownWords | None = None,
    calibrated: Path | None = None,
    progress: bool = False,
) -> dict[str, Any]:
    """Decodes and scores a split, and writes `hypotheses/<name>.txt` and `alignments/`; returns the scores, which
    docs/results.md explains. Beside hypotheses lie the digests of the split, and an `instances.log` of online decoding.
    An exported model has no loss, statistics of the attention, and heatmaps.

    name: that of the split. search, unit (of latency): by default as the run was configured. unknown_words: replaces
    those of the hypotheses. calibrated: the run to calibrate; see `confidence_results`."""
    search = translator.search_for(search)
    evaluation = evaluate(translator, split, search, unit=unit, unknown_words=unknown_words, progress=progress)
    decoded = (translator, evaluation.translations, split)
    results: dict[str, Any] = {
        "split": name,
        "scored_on": split.digests(),
        "search": search.model_dump(),
        **{metric: asdict(score) for metric, score in evaluation.scores.items()},
    }
    if isinstance(translator.network, OnnxNetwork):
        checkpoint = dict(translator.network.graphs.manifest.checkpoint)
        results |= {"attention": {}, **evaluation.counts(), "checkpoint": checkpoint}
        _write_hypotheses(subfolder(folder, "hypotheses"), name, evaluation, results["scored_on"])
        _write_gallery(folder, name, None, [*records(*decoded, search)], results)
        return results
    forced = _forced(translator, split, evaluation, search, results, folder, calibrated)
    uses_source = translator.model.uses_source
    # One process writes texts, alignments and heatmaps.
    kept = [*records(*decoded, search, forced.links, forced.linkable)] if uses_source else []
    if translator.network.in_torch().processes.is_first:
        _write_hypotheses(subfolder(folder, "hypotheses"), name, evaluation, results["scored_on"])
        _discard_heatmaps(folder / "alignments")
        if uses_source:
            _write_gallery(folder, name, forced.links, kept, results)
        plots = plots or PlotOptions()
        plot_format = plots.format or translator.config.training.plot_format
        for number, translation, figure in drawings(*decoded, words=plots.words):
            _write_alignment(translation, figure, folder / "alignments" / f"{number:04d}", plot_format)
    return results


def _forced(
    translator: Translator,
    split: Split,
    evaluation: Evaluation,
    search: SearchConfig,
    results: dict[str, Any],
    folder: Path,
    calibrated: Path | None,
) -> TeacherForcedResult:
    """Adds to results what a model in torch says of the targets, and where it attended; returns the former."""
    model = translator.model
    hard = reads_hard(search, model)
    results["search"] |= {"mode": "hard" if hard else "soft"}
    forced = teacher_forced_pass(translator, split, hard=hard, wait_k=wait_k_of(search), links=model.uses_source)
    results |= {
        "loss": forced.loss,
        "perplexity": forced.perplexity,
        "attention": forced.stats.scores() if model.uses_source else {},
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        **evaluation.counts(),
    }
    decoded = (translator, evaluation.translations, split)
    scores = timing_scores(*decoded) | pointing_score(*decoded)
    results |= {key: asdict(value) for key, value in scores.items()} | confidence_results(*decoded, folder, calibrated)
    if model.uses_source and any(split.links()):
        results["aer"] = asdict(alignment_error(forced.links, split.links(), linkable=forced.linkable))
    return forced


def _write_gallery(
    folder: Path, name: str, links: Sequence[str] | None, kept: Sequence[Mapping[str, Any]], results: Mapping[str, Any]
) -> None:
    """Writes the links of forced alignments, if any, and the records of all translations, a line each. The page that
    shows them needs no other file."""
    alignments = subfolder(folder, "alignments")
    if links is not None:
        write_text(alignments / f"{name}.pharaoh", links)
    write_text(alignments / f"{name}.jsonl", [as_json(record) for record in kept])
    run = {"name": folder.resolve().name, "records": kept, "notes": table(results).splitlines()}
    write_text(alignments / "index.html", [page(f"Alignments of {run['name']}, {name}", [run])])


def _discard_heatmaps(alignments: Path) -> None:
    """Deletes the heatmaps of an earlier evaluation."""
    refuse_link(alignments)
    for path in alignments.glob("[0-9][0-9][0-9][0-9].*"):
        path.unlink()


def _write_hypotheses(folder: Path, name: str, evaluation: Evaluation, digests: Mapping[str, Any]) -> None:
    write_text(folder / f"{name}.txt", [translation.text for translation in evaluation.translations])
    write_json(folder / f"{name}.json", digests)
    if evaluation.instances:
        write_log(folder, evaluation.instances)
    else:  # one of an earlier search would be of other hypotheses
        (folder / LOG).unlink(missing_ok=True)


def origin(run: Path, name: str) -> dict[str, Any]:
    """Returns which weights a checkpoint's name stands for: `name` (average or ema where they are one) and the last
    `update` that is in them. An average also has the updates `averaged`, and a moving average its `ema_decay`."""
    meta = load_meta(locate(run, name))
    if meta.averaged:
        return {"name": "average", "update": meta.update, "averaged": meta.averaged}
    if meta.ema_decay is not None:
        return {"name": "ema", "update": meta.update, "ema_decay": meta.ema_decay}
    return {"name": name, "update": meta.update}


def variant(split: str, checkpoint: str, search: SearchConfig, usual: SearchConfig) -> str:
    """Returns a folder's name for an evaluation: split, checkpoint, search, and each option of it that is not as usual.

    >>> variant("test", "best", BeamConfig(beam_size=10), BeamConfig())
    'test-best-beam-beam_size=10'
    """
    usual_options = usual.model_dump()
    options = search.model_dump(exclude={"name"}, exclude_none=True)
    changed = (f"{name}={value}" for name, value in options.items() if usual_options.get(name, ...) != value)
    return "-".join([split, checkpoint, search.name, *changed])


def samples(split: Split, translations: Sequence[Translation]) -> str:
    """Returns a Markdown table of translations beside their sources and references."""
    examples = zip(split.column("source"), split.column("target"), (t.text for t in translations), strict=False)
    lines = ["| source | reference | translation |", "|---|---|---|"]
    lines += ["| " + " | ".join(cell.replace("|", "\\|") for cell in example) + " |" for example in examples]
    return "\n".join(lines)


def table(results: Mapping[str, Any]) -> str:
    """Returns what was evaluated, and its numbers, one a line; their signatures are in results.json."""
    lines = [_heading(results)]
    for name, value in results.items():
        number = value["score"] if isinstance(value, Mapping) and "score" in value else value
        if isinstance(number, int | float) and not isinstance(number, bool):
            shown = f"{number:,}" if isinstance(number, int) else f"{number:,.{4 if name == 'loss' else 2}f}"
            lines.append(f"  {name:<28} {shown:>12}  {KEYS.get(name, Key()).unit}".rstrip())
    if results.get("confidence_in_sample"):
        lines.append("note: confidences are in-sample: their table was made of these very words")
    if count := results.get("cut"):
        limits = LengthOptions(**{name: results["search"][name] for name in LengthOptions.model_fields})
        lines.append(f"note: {cut_note(count, limits.limit, CUT_REMEDY)}")
    return "\n".join(lines)


def _heading(results: Mapping[str, Any]) -> str:
    """Returns such as `test: beam search, beam_size 5, hard attention, best checkpoint (update 120)`."""
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
    """Puts what `origin` returns into words."""
    if averaged := checkpoint.get("averaged"):
        return f"average of updates {', '.join(map(str, averaged))}"
    if decay := checkpoint.get("ema_decay"):
        return f"moving average of {checkpoint['update']} updates (decay {decay})"
    return f"{checkpoint['name']} checkpoint (update {checkpoint['update']})"


def _write_alignment(translation: Translation, figure: "Figure", path: Path, plot_format: str) -> None:
    """Writes <path>.png, which a comparison shows, and the heatmap in another format beside it; and <path>.npz."""
    from mt.plots import save_with_png  # Not above: a training draws late, and matplotlib takes long to load.

    save_with_png(figure, path, plot_format)
    source, target = (np.array(tokens) for tokens in (translation.source_tokens, translation.tokens))
    with replaced(path.with_suffix(".npz")) as file:
        np.savez_compressed(file, weights=translation.alignment, source=source, target=target)


# Evaluations of trained runs apart from their training.


@dataclass(frozen=True)
class RunEvaluation:
    """How a run, or an ensemble of several, is evaluated."""

    runs: Sequence[Path]
    checkpoint: str
    """The name of the runs' checkpoint."""
    split: str
    search: SearchConfig
    precision: Precision | None = None
    """The precision of products; None: as the run was configured."""
    unit: LatencyUnit | None = None
    """The unit of latency; None: as the run was configured."""
    unknown_words: UnknownWords | None = None
    """Replaces those of the hypotheses."""
    calibrate: bool = False
    """Whether the confidences of the run are calibrated by this split."""

    def write(
        self,
        translator: Translator,
        split: Split,
        folder: Path,
        plots: PlotOptions,
    ) -> None:
        """Evaluates the split, writes `results.json` and what `report` writes to a folder, and prints the scores."""
        results = self._results(translator, split, folder, plots)
        # Written over a run's own results, what its training measured stays.
        again = [folder.resolve()] == [run.resolve() for run in self.runs]
        kept = _earlier_results(folder) if again else {}
        write_json(folder / "results.json", results | {key: kept[key] for key in OF_TRAINING if key in kept})
        # Earlier scores of the run may be of a split that has changed since.
        digests = results["scored_on"]
        for run in self.runs:
            earlier = _earlier_results(run)
            if earlier.get("split") == self.split and earlier.get("scored_on", digests) != digests:
                say(
                    f"note: the {self.split} split has changed since {run}/results.json was written, whose scores are "
                    "not to be compared with these",
                    sys.stderr,
                )
        dataset = translator.config.dataset
        scored = dataset.model_copy(update={"latency_unit": self.unit}) if self.unit else dataset
        for note in notes_of(scored, split.column("references"), online="al" in results):
            say(f"note: {note}", sys.stderr)
        say(f"{table(results)}\n\n{folder}")

    def name(self, usual: SearchConfig) -> str:
        """Returns a name such as `test-best-beam-beam_size=10`, of what differs from the usual search."""
        name = variant(self.split, self.checkpoint, self.search, usual)
        name += f"-{self.precision}" if self.precision else ""
        name += f"-{self.unit}s" if self.unit else ""
        name += "-replace_unknown" if self.unknown_words else ""
        return f"ensemble-of-{len(self.runs)}-{name}" if len(self.runs) > 1 else name

    def _results(self, translator: Translator, split: Split, folder: Path, plots: PlotOptions) -> dict[str, Any]:
        """Evaluates the split, writes what `report` writes, and returns the results with whose they are."""
        if plots != PlotOptions() and isinstance(translator.network, OnnxNetwork):
            raise UserError(
                "--plot-format and --plot-words are of heatmaps, and --engine onnx draws none: leave them out, or "
                "evaluate the run itself"
            )
        results = report(
            translator,
            split,
            self.split,
            folder,
            search=self.search,
            unit=self.unit,
            plots=plots,
            unknown_words=self.unknown_words,
            calibrated=self.runs[0] if self.calibrate else None,
            progress=sys.stderr.isatty(),
        )
        if "checkpoint" in results:  # an exported model says of which it is
            return results
        origins = [origin(run, self.checkpoint) for run in self.runs]
        if len(origins) == 1:
            results["checkpoint"] = origins[0]
        else:
            results["ensemble"] = [{"run": str(run)} | weights for run, weights in zip(self.runs, origins, strict=True)]
        return results | ({"precision": self.precision} if self.precision else {})


def _earlier_results(folder: Path) -> dict[str, Any]:
    """Returns what a folder's `results.json` holds; nothing where there is none that can be read."""
    try:
        return read_json(folder / "results.json", "evaluate again")
    except UserError:
        return {}
