"""Evaluations of trained runs apart from their training, each in a folder of its own: the options, then how one is
written and named."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mt.common.backdrop import PlotFormat
from mt.common.input_files import read_json
from mt.common.terminal import say
from mt.data.split import Split
from mt.decoding.onnx import OnnxNetwork
from mt.decoding.translator import Translator
from mt.decoding.unknown_words import UnknownWords
from mt.errors import UserError
from mt.evaluation.report import PlotOptions, origin, report, table, variant
from mt.evaluation.scoring import notes_of
from mt.metrics.latency import LatencyUnit
from mt.search.config import Precision, SearchConfig
from mt.storage import write_json

OF_TRAINING = (
    "updates",
    "training_seconds",
    "training_tokens",
    "training_tokens_per_second",
    "training_tokens_per_second_last",
    "peak_memory_mb",
)
"""What `results.json` says of the training of a run, which stays where the run itself is evaluated again."""


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
        plot_words: bool | None = None,
        plot_format: PlotFormat | None = None,
    ) -> None:
        """Evaluates the split, writes `results.json` and what `report` writes to a folder, and prints the scores.

        plot_words, plot_format: see `PlotOptions`. Raises UserError where they are given for an exported model.
        """
        results = self._results(translator, split, folder, PlotOptions(plot_words, plot_format))
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
        # An exported model is decoded and scored alone, since it shows no attention to training.
        exported = isinstance(translator.network, OnnxNetwork)
        if exported and plots != PlotOptions():
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
        if exported:
            return results
        return results | self._origins() | ({"precision": self.precision} if self.precision else {})

    def _origins(self) -> dict[str, Any]:
        """Returns which weights were decoded with."""
        origins = [origin(run, self.checkpoint) for run in self.runs]
        if len(origins) == 1:
            return {"checkpoint": origins[0]}
        return {"ensemble": [{"run": str(run)} | weights for run, weights in zip(self.runs, origins, strict=True)]}


def _earlier_results(folder: Path) -> dict[str, Any]:
    """Returns what a folder's `results.json` holds; nothing where there is none that can be read."""
    try:
        return read_json(folder / "results.json", "evaluate again")
    except UserError:
        return {}
