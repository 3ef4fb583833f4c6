"""A model's file, opened once for a whole load: as an archive where it is one."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from triton_pytorch.artifact_store.archive import Archive, is_archive, open_file, read_archive


@dataclass(frozen=True, slots=True)
class ModelFile:
    """A file that may be a model; `archive` is None where it is not a zip archive."""

    path: Path
    archive: Archive | None


@contextmanager
def open_model_file(path: Path) -> Iterator[ModelFile]:
    """Open a file; raises ArtifactError where it cannot be read, or is an archive that is damaged or refused."""
    with open_file(path) as file:
        yield ModelFile(path, read_archive(path, file) if is_archive(path, file) else None)
