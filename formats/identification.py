"""Which format a file has, told from its content; its name proves nothing."""

from collections.abc import Sequence
from pathlib import Path

from triton_pytorch.artifact_store.model_file import ModelFile
from triton_pytorch.formats.table import (
    CHECKPOINT,
    EMPTY,
    EXPORTED_PROGRAM,
    LFS_POINTER,
    OTHER,
    OTHER_ARCHIVE,
    PACKAGE,
    PYTHON_SOURCE,
    TEXT,
    TORCHSCRIPT,
    TRUNCATED_ARCHIVE,
    Format,
)

_HEAD_BYTES = 4096
_ZIP_ENTRY = b"PK\x03\x04"
_LFS = b"version https://git-lfs"
_PICKLE_PROTOCOL_2 = b"\x80\x02"


def identify(file: ModelFile) -> Format:
    """Tell the format of an open file."""
    if file.archive is not None:
        return _format_of_archive([entry.filename for entry in file.archive.files])
    with file.path.open("rb") as opened:
        return _format_of_plain_file(file.path, opened.read(_HEAD_BYTES))


def _format_of_archive(entries: Sequence[str]) -> Format:
    # Every format keeps its parts below one folder named like the file it was first written to.
    parts = {entry.split("/", 1)[-1] for entry in entries}
    if any("data/aotinductor/" in entry for entry in entries):
        return PACKAGE
    if any(part.startswith("models/") for part in parts) and "archive_format" in parts:
        return EXPORTED_PROGRAM
    if "constants.pkl" in parts:
        return TORCHSCRIPT
    return CHECKPOINT if "data.pkl" in parts else OTHER_ARCHIVE


def _format_of_plain_file(path: Path, head: bytes) -> Format:
    if not head:
        return EMPTY
    for beginning, found in ((_LFS, LFS_POINTER), (_PICKLE_PROTOCOL_2, CHECKPOINT), (_ZIP_ENTRY, TRUNCATED_ARCHIVE)):
        if head.startswith(beginning):
            return found
    if path.suffix == ".py":
        return PYTHON_SOURCE
    return OTHER if b"\0" in head else TEXT
