"""What a run is exported to: equal where it must be, small where it may, and nothing half-written."""

import json
import resource
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

import mt
from mt import checkpoint
from mt.errors import UserError
from mt.export.folder import export, files
from mt.models import weights
from tests.refusals.sentences import refusal_of, require_refusal

LINES = ["two cats see houses", "", "the green birds find streets", "zzz cats"]


@pytest.fixture(scope="module")
def exported(trained: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folders = {form: tmp_path_factory.mktemp("exports") / form for form in weights.FORMS}
    for form, folder in folders.items():
        export(trained, folder, dtype=form)
    return folders


def test_it_holds_what_decoding_needs_and_nothing_else(exported: dict[str, Path]) -> None:
    for folder in exported.values():
        names = [name for name, _ in files(folder)]
        assert names == ["LICENSE", "config.json", "meta.json", "model.safetensors", *names[4:]]
        assert all(name.startswith("tokenizer.") for name in names[4:]) and len(names) > 4
        assert {path.stat().st_mode for path in folder.iterdir()} == {(folder / "config.json").stat().st_mode}
    sizes = {form: (folder / "model.safetensors").stat().st_size for form, folder in exported.items()}
    assert sizes["float32"] > 1.6 * sizes["bfloat16"] and sizes["bfloat16"] > 1.4 * sizes["int8"]


def test_float32_translates_and_aligns_as_the_run(trained: Path, exported: dict[str, Path]) -> None:
    run = mt.load(trained, device="cpu")
    copy = mt.load(exported["float32"], device="cpu")
    for one, other in zip(run.n_best(LINES, 2), copy.n_best(LINES, 2), strict=True):
        assert [(t.text, t.score, t.links) for t in one] == [(t.text, t.score, t.links) for t in other]
    aligned = [t.align(LINES[0], "zwei Katzen sehen Häuser").score for t in (run, copy)]
    assert aligned[0] == aligned[1]


@pytest.mark.parametrize(("form", "steps"), [("bfloat16", 2**-7), ("int8", 1 / 127)])
def test_narrow_weights_are_the_nearest_of_their_form(form, steps, trained, exported):
    own = load_file(checkpoint.locate(trained, "best") / checkpoint.MODEL)
    model, _, _ = checkpoint.load_model(exported[form], "best")
    result = model.state_dict()
    for name, tensor in own.items():
        if tensor.dim() < 2:
            assert torch.equal(result[name], tensor)
            continue
        assert result[name].dtype == torch.float32 and not torch.equal(result[name], tensor)
        largest = tensor.abs() if form == "bfloat16" else tensor.flatten(1).abs().amax(1)[:, None]
        assert ((result[name] - tensor).abs() <= 0.5001 * steps * largest).all()


def test_a_row_of_zeros_and_what_was_not_learnt(tmp_path: Path) -> None:
    tensors = {"a": torch.tensor([[0.0, 0.0], [1.0, -2.0]]), "bands": torch.rand(3, 2), "n": torch.tensor(7)}
    small = weights.to_storage_dtype(tensors, "int8", {"a"})
    assert small["a"].tolist() == [[0, 0], [64, -127]] and small["a:scale"].tolist() == [0, pytest.approx(2 / 127)]
    save_file(small, tmp_path / "x.safetensors")
    result = weights.read(tmp_path / "x.safetensors", "copy it")
    assert result.keys() == tensors.keys() and torch.equal(result["bands"], tensors["bands"]) and result["n"] == 7
    assert result["a"].tolist() == [[0, 0], [pytest.approx(1, abs=0.01), -2]]


def test_it_has_the_licence_of_this_project_or_another(trained, exported, tmp_path):
    assert "MIT License" in (exported["int8"] / "LICENSE").read_text()
    (tmp_path / "terms").write_text("For friends.\n\n")
    export(trained, tmp_path / "new" / "export", licence=tmp_path / "terms")
    assert (tmp_path / "new" / "export" / "LICENSE").read_text() == "For friends.\n"
    (tmp_path / "terms").write_bytes(b"\xff")
    for name in ("terms", "none"):
        sentence = rf"^{tmp_path}/{name} cannot be read as text \(.*\): give the file of a licence$"
        require_refusal(lambda name=name: export(trained, tmp_path / "other", licence=tmp_path / name), sentence)


def test_an_empty_folder_is_taken_and_another_is_not(trained: Path, tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine").touch()
    (tmp_path / "link").symlink_to("full")
    for name, reason in (("full", "is not empty, and an export replaces nothing"), ("full/mine", "is a file, and an")):
        with pytest.raises(UserError, match=f"^{tmp_path}/{name} {reason}"):
            export(trained, tmp_path / name)
    with pytest.raises(UserError, match="is a link to full, and nothing is written through links"):
        export(trained, tmp_path / "link")
    (tmp_path / "empty").mkdir()
    export(trained, tmp_path / "empty")
    assert mt.load(tmp_path / "empty", device="cpu").translate("two cats").text


def test_nothing_is_left_of_an_export_that_failed(trained: Path, tmp_path: Path) -> None:
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))  # bytes of a file, as on a disk that is nearly full
    try:
        require_refusal(lambda: export(trained, tmp_path / "new" / "export"), r"File too large: free disk space$")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert not list((tmp_path / "new").iterdir())


def test_numbers_without_their_scale_and_scales_of_another_size(exported: dict[str, Path], tmp_path: Path) -> None:
    folder = Path(shutil.copytree(exported["int8"], tmp_path / "copy"))
    path = folder / "model.safetensors"
    meta = json.loads((folder / "meta.json").read_text())
    tensors = load_file(path)
    name = next(name for name in tensors if name.endswith(weights.SCALE))

    def fault(changed: dict[str, torch.Tensor]) -> str:
        save_file(changed, path)
        meta["sha256"]["model.safetensors"] = checkpoint.sha256(path)
        (folder / "meta.json").write_text(json.dumps(meta))
        return refusal_of(lambda: mt.load(folder, device="cpu"))

    assert fault({key: part for key, part in tensors.items() if key != name}).startswith(f"{path} lacks the tensor")
    assert f"{name} has shape [1], expected [" in fault({**tensors, name: torch.ones(1)})
    assert np.isfinite(tensors[name].numpy()).all()
