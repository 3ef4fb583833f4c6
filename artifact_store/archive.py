"""A model archive (zip) as it is read: checked for damage and for entries that would leave their directory."""

import struct
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import BinaryIO

from triton_pytorch.model_config.errors import ArtifactError, ArtifactMissingError

_CHUNK_BYTES = 1 << 20
# What zipfile raises on bytes that are not an archive, or not one any more (found by fuzzing), besides OSError.
_DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    ValueError,
    LookupError,
    ArithmeticError,
    RuntimeError,
)


@dataclass(frozen=True, slots=True)
class Archive:
    """An open archive, each of whose entries stays in the directory that it is unpacked into.

    `address` is a digest of names, sizes and CRCs: archives of one address have one content. `size` is that of all
    `files` unpacked, in bytes. `descriptor` is the open file's, valid while it is open.
    """

    path: Path
    address: str
    files: tuple[zipfile.ZipInfo, ...]
    size: int
    descriptor: int
    _zip: zipfile.ZipFile

    def chunks(self, file: zipfile.ZipInfo) -> Iterator[bytes]:
        """Yield the content of one of `files`; ArtifactError where it does not match its size and CRC."""
        with _damage_named(f"entry {file.filename!r} of '{self.path}'"), self._zip.open(file) as source:
            length = 0
            while chunk := source.read(_CHUNK_BYTES):
                length += len(chunk)
                yield chunk
            if length != file.file_size:
                raise zipfile.BadZipFile(f"{length} bytes where the listing says {file.file_size}")


def open_file(path: Path) -> BinaryIO:
    """Open a file that may be a model; raises ArtifactMissingError, and ArtifactError where it cannot be read."""
    with _damage_named(f"'{path}'"):
        if not path.exists():
            raise ArtifactMissingError(f"'{path}' does not exist")
        if not path.is_file():  # opening a pipe would wait for a writer
            raise ArtifactError(f"'{path}' is not a file")
        return path.open("rb")


def is_archive(path: Path, file: BinaryIO) -> bool:
    """Whether an open file ends as zip archives do: a truncated one is none. Raises ArtifactError on damage."""
    with _damage_named(f"'{path}'"):
        return zipfile.is_zipfile(file)


def read_archive(path: Path, file: BinaryIO) -> Archive:
    """Read the listing of an archive that is open as `file`.

    Raises ArtifactError where it is damaged, or has an entry that points outside or is there twice.
    """
    with _damage_named(f"'{path}'"):
        archive = zipfile.ZipFile(file)
    members = archive.infolist()
    _check_names(path, [member.filename for member in members])
    files = tuple(member for member in members if not member.is_dir())
    size = sum(member.file_size for member in files)
    return Archive(path, _address(members), files, size, file.fileno(), archive)


@contextmanager
def _damage_named(where: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise ArtifactError(f"{where} cannot be read: {error.strerror or error}") from error
    except _DAMAGE as error:
        reason = str(error) or type(error).__name__
        raise ArtifactError(f"{where} is damaged or not a zip archive ({reason}); copy or export it again") from error


def _check_names(path: Path, names: Sequence[str]) -> None:
    outside = [name for name in names if not {"", ".", ".."}.isdisjoint(name.removesuffix("/").split("/"))]
    repeated = [name for name, count in Counter(names).items() if count > 1]
    for found, objection in ((outside, "is not a plain relative path"), (repeated, "is there twice")):
        if found:
            raise ArtifactError(f"entry {found[0]!r} of '{path}' {objection}; such archives are refused")


def _address(members: Sequence[zipfile.ZipInfo]) -> str:
    listing = [(member.filename, member.file_size, member.CRC) for member in members]
    return sha256(repr(listing).encode()).hexdigest()
