"""The notebook runs from its first cell to its last, and shows alignments."""

from pathlib import Path

import pytest

NOTEBOOK = Path(__file__).parents[2] / "notebooks" / "phrasebook.ipynb"


@pytest.mark.slow
def test_every_cell_runs_and_two_show_an_alignment(tmp_path: Path) -> None:
    nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed: pip install '.[test]'")
    import nbformat

    notebook = nbformat.read(NOTEBOOK, as_version=4)
    (settings,) = [cell for cell in notebook.cells if "parameters" in cell.metadata.get("tags", [])]
    quick = ["training.max_updates=20", "search=greedy", "search.max_length=10", "encoder.hidden_size=32"]
    quick += ["decoder.hidden_size=32"]
    settings.source = f"options = {quick}\nfolder = {str(tmp_path / 'run')!r}"
    client = nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}})
    client.execute()
    shown = [output for cell in notebook.cells for output in cell.get("outputs", []) if "data" in output]
    drawn = [output.data["text/html"] for output in shown if "text/html" in output.data]
    assert len(drawn) == 2 and all("srcdoc=" in html and "▁" in html for html in drawn)
    assert all("Translation(" in output.data["text/plain"] for output in shown if "text/html" in output.data)


def test_no_output_is_stored() -> None:
    text = NOTEBOOK.read_text(encoding="utf-8")
    assert '"outputs": []' in text and '"text/html"' not in text and '"execution_count": null' in text
