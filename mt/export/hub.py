"""The one door to the Hugging Face hub: uploads a folder as a repository of a model."""

from pathlib import Path

from mt.errors import UserError, shown


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


def push(folder: Path, repository: str) -> str:
    """Uploads all files of a folder, to a repository that is made where there is none; returns its address.

    Raises UserError where the hub cannot be reached, or refuses.
    """
    from huggingface_hub import HfApi

    api = HfApi()
    try:
        address = api.create_repo(repository, exist_ok=True)
        api.upload_folder(repo_id=repository, folder_path=folder, commit_message=f"Export by mt: {folder.name}")
    except Exception as error:  # of whichever library carries its requests, which changes from release to release
        reason = shown(" ".join(str(error).split()) or type(error).__name__, 300).rstrip(".")
        raise UserError(
            f"{folder} is complete, but could not be uploaded to {api.endpoint}/{repository} ({reason}): look after "
            f"the network and your token (hf auth login), then run: hf upload {repository} {folder}"
        ) from None
    return str(address)
