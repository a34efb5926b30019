"""The mean of chosen checkpoints, as a checkpoint."""

from collections.abc import Sequence
from pathlib import Path

from mt import checkpoint
from mt.errors import UserError


def average_checkpoints(paths: Sequence[Path], out: Path) -> list[int]:
    """Writes the mean of the weights of checkpoints to a new folder, which can be loaded, evaluated and started from;
    returns their updates.

    paths: of checkpoints, or of runs, for their best ones; at least two. Raises UserError where one cannot be loaded,
    or has another vocabulary or other tensors than the first, and where the folder exists; nothing is written then.
    """
    if len(paths) < 2:
        raise UserError("there is nothing to average: give two checkpoints or more, such as RUN/checkpoints/update-*")
    if out.exists() or out.is_symlink():
        raise UserError(f"{out} exists, and a checkpoint is not written over: give a new folder")
    folders = [checkpoint.locate(path, "best") for path in paths]
    if len(set(folders)) < len(folders):
        raise UserError("a checkpoint is given twice (a run stands for its best one): give each once")
    model, tokenizers, config = checkpoint.load_model(folders[0], "best")
    shapes = {name: tensor.shape for name, tensor in model.state_dict().items()}
    for path, folder in zip(paths[1:], folders[1:], strict=True):
        other, others, _ = checkpoint.load_model(folder, "best")
        if others.digest() != tokenizers.digest():
            raise UserError(f"{path} has another vocabulary than {paths[0]}: average checkpoints of one run")
        if {name: tensor.shape for name, tensor in other.state_dict().items()} != shapes:
            raise UserError(f"{path} has other tensors than {paths[0]}: average checkpoints of one run")
    checkpoint.fill(model, checkpoint.average(folders))
    metas = [checkpoint.load_meta(folder) for folder in folders]
    updates = sorted(meta.update for meta in metas)
    about = checkpoint.About(
        update=updates[-1], averaged=updates, metric=metas[0].metric, best=None, corpus=metas[0].corpus
    )
    checkpoint.save(out, model, tokenizers, config, about, checkpoint.load_progress(folders[0]), None)
    return updates
