"""What is no checkpoint, or a hostile one, and the sentence that refuses it."""

import hashlib
import json
import os
import pickle  # noqa: TID251 - to make hostile ones
from pathlib import Path

import pytest
from safetensors.torch import load_file, save_file

import mt
from mt import checkpoint
from mt.data.tokenizer import TokenizerConfig, Tokenizers, train
from mt.errors import UserError
from tests.marks import combined


def sign(folder: Path) -> None:
    """Makes the sums fit again, as somebody who means harm would."""
    meta = json.loads((folder / "meta.json").read_text())
    meta["sha256"] = {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in meta["sha256"]}
    (folder / "meta.json").write_text(json.dumps(meta))


def refusal(folder: Path) -> str:
    with pytest.raises(UserError) as caught:
        checkpoint.load_model(folder, "last")
    assert str(folder) in str(caught.value)
    return str(caught.value)


class Bomb:
    """A pickle of this would make a folder when it is loaded."""

    def __reduce__(self) -> tuple:
        return os.mkdir, ("exploded",)


def test_a_folder_that_is_no_run(tmp_path: Path) -> None:
    for name in ("empty", "absent"):
        (tmp_path / "empty").mkdir(exist_ok=True)
        with pytest.raises(UserError, match=r"is not a run folder: .* give the folder that training printed"):
            mt.load(tmp_path / name)


def test_a_missing_checkpoint_names_those_present(run: Path) -> None:
    with pytest.raises(UserError, match=r"run has no checkpoint beast; it has: .*best, last, update-"):
        mt.load(run, checkpoint="beast")


def test_a_checkpoint_folder_itself_can_be_loaded(last: Path) -> None:
    assert mt.load(last, device="cpu").translate(["two cats see houses"])[0].text


@combined(damage=["truncated", "missing", "changed"], name=["config.json", "model.safetensors", "tokenizer.model"])
def test_damaged_files(name: str, damage: str, last: Path) -> None:
    path = last / name
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2] if damage == "truncated" else bytes([content[0] ^ 1]) + content[1:])
    if damage == "missing":
        path.unlink()
    message = refusal(last)
    if damage == "missing":
        assert name == "model.safetensors" or f"{name} is missing: restore it" in message
    else:
        assert f"{name} is not the file that was saved (its SHA-256 differs): copy the checkpoint again" in message


@pytest.mark.parametrize("name", ["config.json", "model.safetensors", "tokenizer.model"])
def test_truncated_files_with_sums_that_fit(name: str, last: Path) -> None:
    path = last / name
    path.write_bytes(path.read_bytes()[:100])
    sign(last)
    expected = {
        "config.json": "cannot be read as JSON",
        "model.safetensors": "is not a safetensors file",
        "tokenizer.model": "is not a SentencePiece model",
    }
    assert expected[name] in refusal(last)


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"format": 2, "update": 1' + "[" * 200_000])
def test_broken_meta(text: str, last: Path) -> None:
    (last / "meta.json").write_text(text)
    assert "copy the checkpoint again" in refusal(last)


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"sha256": ["a"]}, 'meta.json: sha256=["a"] is not possible'),
        ({"sha256": {"config.json": 1}}, "meta.json: sha256.config.json=1 is not possible"),
        ({"sha256": {}}, "meta.json lists no SHA-256 of config.json: copy the checkpoint again"),
        ({"update": "7"}, 'meta.json: update="7" is not possible'),
        ({"update": None}, "meta.json: update=null is not possible"),
        ({"best": "good"}, 'meta.json: best="good" is not possible'),
        ({"more": 1}, "meta.json: unknown option more"),
    ],
)
def test_meta_of_other_types(values: dict, sentence: str, last: Path) -> None:
    meta = json.loads((last / "meta.json").read_text())
    (last / "meta.json").write_text(json.dumps(meta | values))
    assert sentence in refusal(last)


@pytest.mark.parametrize("name", ["../last/config.json", "a\0b", "x" * 5000, ""])
def test_sums_of_files_elsewhere(name: str, last: Path) -> None:
    meta = json.loads((last / "meta.json").read_text())
    (last / "meta.json").write_text(json.dumps(meta | {"sha256": meta["sha256"] | {name: "0"}}))
    assert "is missing: restore it from where the checkpoint was copied" in refusal(last)


@pytest.mark.parametrize("known", [1, 99, None, "2", [2]])
def test_another_format(known: object, last: Path) -> None:
    meta = json.loads((last / "meta.json").read_text())
    (last / "meta.json").write_text(json.dumps(meta | {"format": known}))
    sentence = f"is a checkpoint of format {known}, and this version reads 2: load it with the version that wrote it"
    assert sentence in refusal(last)
    with pytest.raises(UserError, match="and this version reads 2"):
        checkpoint.load_config(last)


def test_a_pickle_in_place_of_the_weights_is_not_run(
    last: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (last / "model.safetensors").write_bytes(pickle.dumps(Bomb()))
    assert "is not the file that was saved" in refusal(last)
    sign(last)
    assert "is not a safetensors file" in refusal(last)
    assert not Path("exploded").exists()


def edit_config(folder: Path, part: str, values: dict) -> None:
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {part: {**config[part], **values}}))
    sign(folder)


@pytest.mark.parametrize("part", ["encoder", "attention", "optimizer", "dataset"])
def test_a_target_to_instantiate_is_an_unknown_option(part: str, last: Path) -> None:
    edit_config(last, part, {"_target_": "os.mkdir", "path": "exploded"})
    assert f"config.json: unknown option {part}._target_" in refusal(last)


@pytest.mark.parametrize(
    ("part", "values"),
    [
        ("encoder", {"hidden_size": 30}),
        ("encoder", {"num_layers": 2}),
        ("decoder", {"hidden_size": 10**6}),
        ("attention", {"name": "concat"}),
        ("embedding", {"tie_output": False}),
        ("embedding", {"share": True}),
    ],
)
def test_weights_of_another_shape(part: str, values: dict, last: Path) -> None:
    edit_config(last, part, values)
    assert "does not fit config.json" in refusal(last)


def test_missing_weights_are_noticed_before_memory_is_asked_for(last: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tensors = load_file(last / "model.safetensors")
    lost = max(tensors, key=lambda name: tensors[name].numel())
    save_file({name: tensor for name, tensor in tensors.items() if name != lost}, last / "model.safetensors")
    sign(last)
    assert f"it lacks {tensors[lost].numel()} of the model's numbers; copy the checkpoint again" in refusal(last)


@pytest.mark.parametrize(
    ("part", "values"),
    [
        ("encoder", {"hidden_size": 10**12}),
        ("decoder", {"hidden_size": 10**30}),
        ("encoder", {"num_layers": 10**9}),
        ("decoder", {"num_layers": 10**9}),
        ("attention", {"name": "concat", "attention_dim": 10**18}),
    ],
)
def test_gigantic_models_are_refused_before_they_are_made(part: str, values: dict, last: Path) -> None:
    edit_config(last, part, values)
    assert refusal(last)


@pytest.mark.parametrize("size", [30, 15])
def test_another_tokenizer(size: int, last: Path, texts: Path) -> None:
    text = (texts / "train.en").read_text() + "some other words are here and they make another vocabulary"
    other = train(TokenizerConfig(model_type="word", vocab_size=size), text.splitlines())
    Tokenizers(other, other).save(last)
    assert "tokenizer.model is not the file that was saved" in refusal(last)
    sign(last)
    assert "does not fit config.json and the tokenizer beside it" in refusal(last)
