"""Which format a file has, told from its content; its name proves nothing."""

from collections.abc import Iterable
from zipfile import ZipInfo

from triton_pytorch.artifact_store.model_file import ModelFile
from triton_pytorch.formats.table import FORMATS, Content, Format
from triton_pytorch.model_config.errors import ArtifactError

_HEAD_BYTES = 4096


def identify(file: ModelFile) -> Format:
    """Tell the format of an open file; raises ArtifactError where it cannot be read."""
    try:
        with file.path.open("rb") as opened:
            head = opened.read(_HEAD_BYTES)
    except OSError as error:
        raise ArtifactError(f"'{file.path}' cannot be read: {error.strerror}") from error
    content = Content(file.path.suffix, head, None if file.archive is None else _entries(file.archive.files))
    return next(found for found in FORMATS if found.matches(content))


def _entries(files: Iterable[ZipInfo]) -> frozenset[str]:
    # All formats keep their parts below one folder, named like the file that they were first written to; some old
    # packages have no such folder.
    names = [file.filename for file in files]
    return frozenset(names) | {name.partition("/")[2] for name in names}
