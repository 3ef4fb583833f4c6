"""A model's file, opened once for a whole load: as an archive where it is one."""

import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from triton_pytorch.artifact_store.archive import Archive, open_archive


@dataclass(frozen=True, slots=True)
class ModelFile:
    """A file that may be a model; `archive` is None where it is no zip archive."""

    path: Path
    archive: Archive | None


@contextmanager
def open_model_file(path: Path) -> Iterator[ModelFile]:
    """Open a file that exists; raises ArtifactError where it is an archive that is damaged or refused."""
    if not zipfile.is_zipfile(path):
        yield ModelFile(path, None)
        return
    with open_archive(path) as archive:
        yield ModelFile(path, archive)
