"""Archives as public places have them, in memory."""

import io
import tarfile
import wave
import zipfile


def zipped(members: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return file.getvalue()


def sound(frames: int = 4) -> bytes:
    """A wav of so many frames."""
    file = io.BytesIO()
    with wave.open(file, "wb") as written:
        written.setparams((1, 2, 8000, 0, "NONE", "not compressed"))
        written.writeframes(b"\1\2" * frames)
    return file.getvalue()


def tarred(*members: tuple[str | tarfile.TarInfo, bytes] | tarfile.TarInfo, mode: str = "w:gz") -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode=mode) as archive:  # type: ignore[call-overload]
        for member in members:
            if isinstance(member, tarfile.TarInfo):
                archive.addfile(member)
                continue
            about = member[0] if isinstance(member[0], tarfile.TarInfo) else tarfile.TarInfo(member[0])
            about.size = len(member[1])
            archive.addfile(about, io.BytesIO(member[1]))
    return file.getvalue()
