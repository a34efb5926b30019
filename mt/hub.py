"""The one door to the Hugging Face hub, where an exported folder is a repository of the name OWNER/NAME."""

import os
from pathlib import Path

from mt.errors import UserError, message_of, shown

FILES = ("*.json", "*.safetensors", "*.onnx", "tokenizer*")
"""The files of a repository that decoding may need."""


def require_name(repository: str) -> None:
    """Raises UserError where this is no name of a repository."""
    from huggingface_hub.utils import HFValidationError, validate_repo_id

    try:
        validate_repo_id(repository)
        if "/" not in repository:
            raise HFValidationError("it has no owner")
    except HFValidationError as error:
        reason = shown(str(error), 200).rstrip(".")
        raise UserError(f"{shown(repository)} is no name of a repository ({reason}): give OWNER/NAME") from None


def is_repository(run: str) -> bool:
    """Returns whether a run is named as a repository is, and cannot be a path: it has no folder OWNER here."""
    if run.count("/") != 1 or os.path.lexists(run.partition("/")[0]):
        return False
    try:
        require_name(run)
    except UserError:
        return False
    return True


def download(repository: str) -> Path:
    """Returns the folder with a repository's files, in the cache of `huggingface_hub`: downloads what is not there yet,
    and without a network takes what is there.

    Raises UserError where there is no such repository, or it cannot be reached and was not downloaded before.
    """
    from huggingface_hub import snapshot_download

    try:
        return Path(snapshot_download(repository, allow_patterns=list(FILES)))
    except Exception as error:
        raise UserError(
            f"there is no folder {repository} here, and the repository of this name cannot be had from the Hugging "
            f"Face hub ({_reason(error)}): give the folder that training printed, or look after the name, the network "
            "and your token (hf auth login)"
        ) from None


def push(folder: Path, repository: str) -> str:
    """Uploads all files of a folder, to a repository that is made where there is none; returns its address.

    Raises UserError where the hub cannot be reached, or refuses.
    """
    from huggingface_hub import HfApi

    api = HfApi()
    try:
        address = api.create_repo(repository, exist_ok=True)
        api.upload_folder(repo_id=repository, folder_path=folder, commit_message=f"Export by mt: {folder.name}")
    except Exception as error:
        raise UserError(
            f"{folder} is complete, but could not be uploaded to {api.endpoint}/{repository} ({_reason(error)}): look "
            f"after the network and your token (hf auth login), then run: hf upload {repository} {folder}"
        ) from None
    return str(address)


def _reason(error: Exception) -> str:
    """Returns the message of an error, on one line. The error is of whichever library carries the requests of
    `huggingface_hub`, which changes from release to release."""
    return shown(message_of(error), 300).rstrip(".")
