"""An archive in which there is no text."""

import zipfile
from pathlib import Path

import pytest

from data_prep.sources.opus import MosesArchive
from mt.errors import UserError


@pytest.mark.parametrize("litter", ["__MACOSX/._Books.en", ".DS_Store", "en.en/"])
def test_an_archive_of_litter_alone_says_what_is_missing(tmp_path: Path, litter: str) -> None:
    with zipfile.ZipFile(tmp_path / "train.zip", "w") as archive:
        archive.writestr(litter, b"")
    with pytest.raises(UserError, match=r"train\.zip holds no text: expected two files, that end in \.en and \.de$"):
        len(list(MosesArchive(tmp_path / "train.zip", ("en", "de")).read()))
