"""What a model's file is, told from its content; its name proves nothing."""

import zipfile
from enum import Enum
from pathlib import Path

from triton_pytorch.artifact_store.archive import open_archive
from triton_pytorch.model_config.errors import ArtifactError
from triton_pytorch.model_config.parameters import ModelFormat

HOW_TO_MAKE_A_PACKAGE = "torch.export.export and torch._inductor.aoti_compile_and_package"
WHAT_IS_SERVED = (
    f"an AOTInductor package, made by {HOW_TO_MAKE_A_PACKAGE}, or a TorchScript archive, made by torch.jit.script or "
    "torch.jit.trace, and .save"
)

_HEAD_BYTES = 4096
_ZIP_ENTRY = b"PK\x03\x04"
_LFS_POINTER = b"version https://git-lfs"
_PICKLE_PROTOCOL_2 = b"\x80\x02"


class Kind(Enum):
    """Kinds of file; the value completes the sentence "this file is ..."."""

    PACKAGE = "an AOTInductor package"
    EXPORTED_PROGRAM = "an exported program (torch.export.save)"
    TORCHSCRIPT = "a TorchScript archive"
    CHECKPOINT = "a checkpoint or pickled module (torch.save), which holds no program"
    PYTHON_SOURCE = "Python source"
    OTHER_ARCHIVE = "a zip archive without a model"
    LFS_POINTER = "a Git LFS pointer (run `git lfs pull`)"
    EMPTY = "empty"
    TRUNCATED_ARCHIVE = "the beginning of a zip archive whose end is missing: copy it again"
    TEXT = "a text file"
    OTHER = "a binary file of an unknown kind"


# The kinds that are served, and which parameters they have.
FORMATS = {Kind.PACKAGE: ModelFormat.PACKAGE, Kind.TORCHSCRIPT: ModelFormat.TORCHSCRIPT}


def identify(path: Path) -> Kind:
    """Tell what kind of file this is.

    Raises:
        ArtifactError: the file cannot be read, or is an archive that is damaged or refused.
    """
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD_BYTES)
    except OSError as error:
        raise ArtifactError(f"'{path}' cannot be read: {error.strerror}") from error
    if zipfile.is_zipfile(path):
        with open_archive(path) as archive:
            return _kind_of_archive([file.filename for file in archive.files])
    return _kind_of_plain_file(path, head)


def _kind_of_archive(entries: list[str]) -> Kind:
    # Every kind keeps its parts below one folder named like the file it was first written to.
    parts = {entry.split("/", 1)[-1] for entry in entries}
    if any("data/aotinductor/" in entry for entry in entries):
        return Kind.PACKAGE
    if any(part.startswith("models/") for part in parts) and "archive_format" in parts:
        return Kind.EXPORTED_PROGRAM
    if "constants.pkl" in parts:
        return Kind.TORCHSCRIPT
    if "data.pkl" in parts:
        return Kind.CHECKPOINT
    return Kind.OTHER_ARCHIVE


def _kind_of_plain_file(path: Path, head: bytes) -> Kind:
    if not head:
        return Kind.EMPTY
    if head.startswith(_LFS_POINTER):
        return Kind.LFS_POINTER
    if head.startswith(_PICKLE_PROTOCOL_2):
        return Kind.CHECKPOINT
    if head.startswith(_ZIP_ENTRY):
        return Kind.TRUNCATED_ARCHIVE
    if path.suffix == ".py":
        return Kind.PYTHON_SOURCE
    return Kind.OTHER if b"\0" in head else Kind.TEXT
