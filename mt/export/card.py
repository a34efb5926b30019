"""Writes the model card of an export: what the model is, what it learnt from, how good it is, and its licence (Mitchell
et al. 2019), with the front matter by which the Hugging Face hub files it."""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from mt.checkpoint import Meta
from mt.common.input_files import read_json
from mt.config import Config
from mt.data.dataset import DatasetConfig
from mt.models.seq2seq import Seq2Seq
from mt.models.weights import Form

_FORMS = {
    "float32": "float32, as they were trained",
    "bfloat16": "bfloat16: the matrices are rounded to 8 significant bits; vectors are float32",
    "int8": "int8: each row of a matrix is rounded to 255 levels of its own scale; vectors are float32",
}
_HUB_NAMES = {"bleu": "bleu", "chrf": "chrf", "ter": "ter", "wer": "wer", "cer": "cer", "rougeL": "rouge"}
"""The names that the hub has for metrics that it knows."""


class Card(NamedTuple):
    """What the model card of an export is written from."""

    config: Config
    meta: Meta
    results: Mapping[str, Any] | None
    """`results.json` of these weights on the test split, or on dev; None where they were not scored."""
    model: Seq2Seq
    dtype: Form
    format: str
    licence: Path | None
    """A file; None for the licence of this project."""
    repository: str | None
    """The name under which the hub has it; None where it is not uploaded."""

    def lines(self) -> list[str]:
        """Returns the lines of the card, in Markdown."""
        parts = (self._front_matter(), self._model(), self._use(), self._data(), self._scores(), self._terms())
        return [line for part in parts for line in part]

    @property
    def _title(self) -> str:
        data = self.config.dataset
        sides = f", {data.source} to {data.target}" if data.source and data.target else ""
        return f"{data.name}{sides}, attention={self.config.attention.name}"

    def _front_matter(self) -> Iterator[str]:
        data = self.config.dataset
        codes = [side for side in (data.source, data.target) if re.fullmatch(r"[a-z]{2,3}", side)]
        fields: dict[str, Any] = {
            "license": "mit" if self.licence is None else "other",
            **({"license_name": "see-LICENSE", "license_link": "LICENSE"} if self.licence else {}),
            **({"language": codes} if codes else {}),
            "library_name": "mt",
            "tags": ["seq2seq", "attention", self.config.attention.name, self.format],
            **({"datasets": [data.hub.id]} if data.hub and data.folder is None else {}),
        }
        if self.results and self.dtype == "float32":
            fields["model-index"] = [{"name": self._title, "results": [self._model_index(self.results)]}]
        yield "---"
        yield from (f"{name}: {json.dumps(value, ensure_ascii=False)}" for name, value in fields.items())  # is YAML
        yield "---"

    def _model_index(self, results: Mapping[str, Any]) -> dict[str, Any]:
        """Returns the scores as the hub's `model-index` has them."""
        name = self.config.dataset.name
        scores = [
            {"type": _HUB_NAMES[metric], "name": metric, "value": round(score["score"], 2)}
            for metric, score in _scores(results)
            if metric in _HUB_NAMES
        ]
        task = {"type": "translation" if self.config.dataset.field.name == "text" else "text-generation"}
        return {"task": task, "dataset": {"type": name, "name": name, "split": results["split"]}, "metrics": scores}

    def _model(self) -> Iterator[str]:
        config = self.config
        parameters = sum(parameter.numel() for parameter in self.model.parameters())
        meta = self.meta
        which = f"{'moving average of ' if meta.ema_decay else ''}update {meta.update}"
        if meta.averaged:
            which = f"average of updates {', '.join(map(str, meta.averaged))}"
        yield f"# {self._title}"
        yield ""
        yield (
            f"A recurrent encoder-decoder: frontend={config.frontend.name}, encoder={config.encoder.name}, "
            f"attention={config.attention.name}, decoder={config.decoder.name}; {parameters:,} parameters, {which}. "
            f"Weights in {_FORMS[self.dtype]}. All options are in config.json."
        )

    def _use(self) -> Iterator[str]:
        engine = ', engine="onnx"' if self.format == "onnx" else ""
        command = " --engine onnx" if self.format == "onnx" else ""
        name = f"hf://{self.repository}" if self.repository else "FOLDER"
        where = "which downloads it" if self.repository else "on a copy of this folder"
        yield from ("", "## Use", "", f"With mt {self.meta.versions['mt']}, {where}:", "")
        yield "    from mt import load"
        yield f'    print(load("{name}"{engine}).translate("...").text)'
        yield ""
        yield f"or `mt-translate {name}{command} < source > target`."

    def _data(self) -> Iterator[str]:
        data = self.config.dataset
        yield from ("", "## Data", "")
        yield f"- {data.name}: {_origin(data)}; prepared corpus {self.meta.corpus[:16]}"
        if data.licence:
            yield f"- terms of the data: {data.licence}"

    def _scores(self) -> Iterator[str]:
        yield from ("", "## Scores", "")
        if self.results is None:
            yield "These weights were not scored."
            return
        search = self.results["search"]
        options = ", ".join(f"{key} {search[key]}" for key in ("beam_size", "length_penalty", "k") if key in search)
        yield f"On the {self.results['split']} split, {search['name']} search{f' ({options})' if options else ''}"
        if self.dtype != "float32":
            yield "by the same weights in float32:"
        yield from ("", "| metric | score | signature |", "|---|---|---|")
        for metric, score in _scores(self.results):
            signature = score.get("signature", "").replace("|", "\\|")
            yield f"| {metric} | {score['score']:.2f} | `{signature}` |"
        yield from (f"| {name} | {self.results[name]:.4g} | |" for name in ("loss", "perplexity"))

    def _terms(self) -> Iterator[str]:
        yield from ("", "## Licence", "")
        yield "The text in LICENSE. Data have terms of their own, which may bind models, too."


def finished_results(run: Path, meta: Meta) -> dict[str, Any] | None:
    """Returns `results.json` of a run; None where there is none, or it is of other weights than this checkpoint."""
    path = run / "results.json"
    if not path.is_file():
        return None
    results = read_json(path, "restore it, or move it away to export without scores")
    tested = results.get("checkpoint", {})
    weights = [tested.get(name) for name in ("update", "averaged", "ema_decay")]
    return results if weights == [meta.update, meta.averaged, meta.ema_decay] else None


def _scores(results: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    return ((name, value) for name, value in results.items() if isinstance(value, Mapping) and "score" in value)


def _origin(data: DatasetConfig) -> str:
    if data.generator:
        return f"generated by this project (`dataset={data.name}`)"
    if data.folder is None and data.hub is not None:
        return f"https://huggingface.co/datasets/{data.hub.id}, revision {data.hub.revision}"
    return "from local files"
