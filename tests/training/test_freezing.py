"""Frozen modules stay as they are, in training and after it is resumed."""

import json
from collections.abc import Callable

import torch
from safetensors.torch import load_file

from mt import checkpoint
from mt.training.optimizer import freeze, train_mode
from mt.training.run import Run
from mt.training.start import resume
from mt.training.train import train

DEEP = {"encoder": {"name": "bilstm", "hidden_size": 16, "num_layers": 2, "dropout": 0.5}}


def options(max_updates: int, *frozen: str) -> dict:
    training = {"freeze": list(frozen), "max_updates": max_updates, "validate_every": 3, "plots": 0}
    embedding = {"embedding_dim": 32, "dropout": 0.3}
    return {"training": training, "search": {"name": "greedy"}, "embedding": embedding}


def test_what_is_frozen_does_not_move_and_the_rest_does(start: Callable[..., Run]) -> None:
    run = start(options(3, "encoder", "decoder.attention") | DEEP)
    before = {name: tensor.clone() for name, tensor in run.model.state_dict().items()}
    train(run)
    moved = {name for name, tensor in run.model.state_dict().items() if not torch.equal(tensor, before[name])}
    run.close()
    frozen = {name for name in before if name.startswith(("encoder.", "decoder.attention."))}
    assert frozen and moved == set(before) - frozen
    saved = load_file(run.checkpoints / "last" / checkpoint.TRAINING)
    assert saved and not any(name.startswith(("encoder.", "decoder.attention.")) for name in saved)


def test_what_is_shared_with_the_frozen_is_frozen(start: Callable[..., Run]) -> None:
    run = start(options(1, "decoder.embedding"))
    assert not run.model.decoder.output.weight.requires_grad and run.model.decoder.output.bias.requires_grad
    run.close()


def test_frozen_modules_have_no_dropout_and_recurrent_ones_can_have_a_gradient(start: Callable[..., Run]) -> None:
    run = start(options(1, "encoder") | DEEP)
    run.close()
    torch.manual_seed(1)
    train_mode(run.model, ["encoder"])
    vectors = torch.randn(1, 4, 32, requires_grad=True)
    mask = torch.ones(1, 4, dtype=torch.bool)
    values = [run.model.encoder(vectors, mask).values for _ in range(2)]
    assert torch.equal(*values) and run.model.decoder.dropout.training
    # cuDNN refuses the gradient of recurrent layers in evaluation mode.
    recurrent = [module for module in run.model.encoder.modules() if isinstance(module, torch.nn.RNNBase)]
    assert recurrent and all(module.training for module in recurrent)


def test_it_says_what_is_frozen() -> None:
    model = torch.nn.ModuleDict({"a": torch.nn.Linear(2, 1), "b": torch.nn.Linear(3, 1)})
    assert freeze(model, ["a"]) == "frozen: a, 3 of 7 parameters"
    assert freeze(torch.nn.Linear(1, 1), []) == ""


def test_the_first_validation_can_come_before_the_first_update(start: Callable[..., Run]) -> None:
    run = start(options(3) | {"training": {**options(3)["training"], "validate_first": True}})
    train(run)
    run.close()
    lines = [json.loads(line) for line in (run.folder / "metrics.jsonl").read_text().splitlines()]
    assert [line["update"] for line in lines if line["kind"] == "dev"] == [0, 3]
    again = resume(run.config, run.corpus, run.folder)
    again.close()
    assert again.progress.validations == [0, 3]
