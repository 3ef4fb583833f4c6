"""Archives opened, and rewritten from others for content that torch does not write."""

import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from triton_pytorch.artifact_store.archive import Archive
from triton_pytorch.artifact_store.model_file import open_model_file
from triton_pytorch.model_config.errors import ArtifactError


@contextmanager
def open_archive(path: Path) -> Iterator[Archive]:
    """Open a file that has to be an archive."""
    with open_model_file(path) as file:
        if file.archive is None:
            raise ArtifactError(f"'{path}' is not a zip archive")
        yield file.archive


def rewritten(source: Path, target: Path, change: Callable[[str, bytes], tuple[str, bytes] | None]) -> Path:
    """Copy an archive entry by entry; `change` gets name and content and returns both, or None to leave it out."""
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w") as new:
        for entry in old.infolist():
            changed = change(entry.filename, old.read(entry))
            if changed is not None:
                new.writestr(*changed)
    return target


def with_text(source: Path, target: Path, old: bytes, new: bytes, *, ending: str) -> Path:
    """Copy an archive with a text replaced in the entries whose names end in `ending`."""
    return rewritten(
        source, target, lambda name, content: (name, content.replace(old, new) if name.endswith(ending) else content)
    )
