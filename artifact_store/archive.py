"""A model archive (zip) as it is read: checked for damage and for entries that would leave their directory."""

import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import BinaryIO

from triton_pytorch.model_config.errors import ArtifactError, ArtifactMissingError

_CHUNK_BYTES = 1 << 20
_ENCRYPTED = 0x1  # bit of the general purpose flags (APPNOTE 4.4.4)
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


@contextmanager
def open_archive(path: Path) -> Iterator[Archive]:
    """Open a file that has to be an archive.

    Raises ArtifactMissingError where there is no file, and ArtifactError where the file cannot be read, is not a zip
    archive, or has an entry that is refused: one that points outside, is not a plain file or directory, is there
    twice, is encrypted, or compressed as torch does not read it.
    """
    with open_file(path) as file:
        yield read_archive(path, file)


def open_file(path: Path) -> BinaryIO:
    """Open a file that may be a model; raises ArtifactError and ArtifactMissingError as `open_archive` does."""
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
    """Read the listing of an archive that is open as `file`; raises ArtifactError as `open_archive` does."""
    with _damage_named(f"'{path}'"):
        archive = zipfile.ZipFile(file)
    members = archive.infolist()
    _check_members(path, members)
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


def _check_members(path: Path, members: Sequence[zipfile.ZipInfo]) -> None:
    names: set[str] = set()
    for member in members:
        objection = "is there twice" if member.filename in names else _objection(member)
        if objection is not None:
            raise ArtifactError(f"entry {member.filename!r} of '{path}' {objection}; such archives are refused")
        names.add(member.filename)


def _objection(member: zipfile.ZipInfo) -> str | None:
    parts = member.filename.removesuffix("/").split("/")
    expected_type = stat.S_IFDIR if member.filename.endswith("/") else stat.S_IFREG
    file_type = stat.S_IFMT(member.external_attr >> 16)  # 0 where the writer did not say, as torch does
    objections = (
        (not {"", ".", ".."}.isdisjoint(parts), "is not a plain relative path"),
        (file_type not in (0, expected_type), "is neither a plain file nor a directory"),
        (member.flag_bits & _ENCRYPTED, "is encrypted"),
        (
            member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED),
            f"is compressed by method {member.compress_type}, not stored (0) or deflated (8)",
        ),
    )
    return next((text for applies, text in objections if applies), None)


def _address(members: Sequence[zipfile.ZipInfo]) -> str:
    listing = [(member.filename, member.file_size, member.CRC) for member in members]
    return sha256(repr(listing).encode()).hexdigest()
