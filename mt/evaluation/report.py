"""What a run leaves for people: scores, hypotheses, alignments as pictures, numbers and word links."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from mt.data.corpus import Split
from mt.evaluation.attention_stats import AttentionStats
from mt.evaluation.score import alignment_error, evaluate, forced_links, teacher_forced
from mt.inference import Translation, Translator, decodes_hard
from mt.plots import Figure, heatmap, save
from mt.search.config import SearchConfig
from mt.storage import replaced, subfolder, write_text


def report(
    translator: Translator,
    split: Split,
    name: str,
    folder: Path,
    *,
    search: SearchConfig | None = None,
    progress: bool = False,
) -> dict[str, Any]:
    """Decodes and scores a split, and writes `hypotheses/<name>.txt` and `alignments/`; returns the scores.

    name: of the split. search: by default as the run was configured.
    """
    search = search or translator.config.search
    hard = decodes_hard(search, translator.model)
    evaluation, stats = evaluate(translator, split, search, progress=progress), AttentionStats()
    results: dict[str, Any] = {
        "split": name,
        "search": search.model_dump() | {"mode": "hard" if hard else "soft"},
        **{metric: asdict(score) for metric, score in evaluation.scores.items()},
        **teacher_forced(translator, split, hard=hard, stats=stats),
        "attention": stats.scores() if translator.model.uses_source else {},
        "parameters": sum(parameter.numel() for parameter in translator.model.parameters()),
        "seconds": evaluation.seconds,
        "tokens_per_second": evaluation.tokens_per_second,
    }
    links = forced_links(translator, split.column("source"), split.column("target"), hard=hard)
    if any(split.column("links")):
        results["aer"] = asdict(alignment_error(links, split.column("links")))
    alignments = subfolder(folder, "alignments")
    hypotheses = [translation.text for translation in evaluation.translations]
    write_text(subfolder(folder, "hypotheses") / f"{name}.txt", hypotheses)
    write_text(alignments / f"{name}.pharaoh", links)
    for number, translation in enumerate(evaluation.translations[: translator.config.training.plots]):
        if translation.tokens:
            save(draw(translation, translator.model.chunk_size), alignments / f"{number:04d}.png")
            with replaced(alignments / f"{number:04d}.npz") as file:
                np.savez_compressed(
                    file,
                    weights=translation.alignment,
                    source=np.array(translation.source_tokens),
                    target=np.array(translation.tokens),
                )
    return results


def draw(translation: Translation, chunk_size: int | None) -> Figure:
    """The heatmap of a translation. chunk_size: how many positions a hard attention attends to, None for one."""
    stops = None if translation.stops is None else translation.stops.tolist()
    return heatmap(
        translation.alignment,
        translation.source_tokens,
        translation.tokens,
        stops=stops,
        chunk_size=None if stops is None else chunk_size,
        title=translation.text,
    )


def samples(split: Split, translations: Sequence[Translation]) -> str:
    """A Markdown table of translations beside their sources and references."""
    rows = zip(split.column("source"), split.column("target"), (t.text for t in translations), strict=False)
    lines = ["| source | reference | translation |", "|---|---|---|"]
    lines += ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
    return "\n".join(lines)


def summary(scores: Mapping[str, float]) -> str:
    """Scores on one line."""
    return "  ".join(f"{name} {value:.4g}" for name, value in scores.items())


def table(results: Mapping[str, Any]) -> str:
    """The final scores of a run, one a line, with their signatures."""
    lines = []
    for name, value in results.items():
        if isinstance(value, Mapping) and "score" in value:
            lines.append(f"  {name:<18} {value['score']:8.2f}   {value['signature']}")
        elif isinstance(value, float):
            lines.append(f"  {name:<18} {value:8.2f}")
        elif isinstance(value, int):
            lines.append(f"  {name:<18} {value:8d}")
    return "\n".join(lines)
