"""A model archive (zip) as it is read: its listing checked for what may not be unpacked, its contents in chunks."""

import os
import stat
import struct
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from triton_pytorch.model_config.errors import ArtifactError, ArtifactMissingError

_CHUNK_BYTES = 1 << 20
_NAME_BYTES = 255  # NAME_MAX of Linux file systems
_DEPTH = 32  # torch nests five deep; thousands would keep the removal of what was unpacked from ending
_ENCRYPTED = 0x1  # bit of the general purpose flags (APPNOTE 4.4.4)
# torch stores entries uncompressed; whoever compressed them again stays far below this, a bomb far above.
_GROWTH, _GROWTH_BYTES = 16, 64 << 20
# What zipfile raises on bytes that are no archive, or no longer one (found by fuzzing), besides OSError.
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
    """An open archive whose listing may be unpacked as it stands.

    `address` is a digest of names, sizes and CRCs: archives of one address have one content. `directories` has
    parents first and ends no name in a slash. `size` is in bytes, unpacked.
    """

    path: Path
    address: str
    directories: tuple[str, ...]
    files: tuple[zipfile.ZipInfo, ...]
    size: int
    _zip: zipfile.ZipFile

    def chunks(self, file: zipfile.ZipInfo) -> Iterator[bytes]:
        """Yield the content of one of `files`; ArtifactError where it does not match its size and CRC."""
        with _damage_named(f"entry {file.filename!r} of {self.path}"), self._zip.open(file) as source:
            length = 0
            while chunk := source.read(_CHUNK_BYTES):
                length += len(chunk)
                yield chunk
            if length != file.file_size:
                raise zipfile.BadZipFile(f"{length} bytes where the listing says {file.file_size}")


@contextmanager
def open_archive(path: Path) -> Iterator[Archive]:
    """Open an archive for unpacking.

    Raises ArtifactMissingError where there is no file, and ArtifactError where the file cannot be read, is no zip
    archive, or holds an entry that is refused: one that points outside, is no plain file or directory, clashes with
    another, is encrypted, or makes the whole too large for an archive of this size.
    """
    with _opened(path) as file:
        with _damage_named(str(path)):
            archive = zipfile.ZipFile(file)
        members = archive.infolist()
        _check_members(path, members)
        files = tuple(member for member in members if not _is_directory(member))
        directories = _directories(members)
        _check_clashes(path, members, directories)
        size = sum(file.file_size for file in files)
        _check_growth(path, size, os.fstat(file.fileno()).st_size)
        yield Archive(path, _address(members), directories, files, size, archive)


def _opened(path: Path) -> BinaryIO:
    with _damage_named(str(path)):
        if not path.exists():
            raise ArtifactMissingError(f"{path} does not exist")
        if not path.is_file():  # opening a pipe would wait for a writer
            raise ArtifactError(f"{path} is not a file; a zip archive as torch writes it was expected")
        return path.open("rb")


@contextmanager
def _damage_named(where: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise ArtifactError(f"{where} cannot be read: {error.strerror or error}") from error
    except _DAMAGE as error:
        reason = str(error) or type(error).__name__
        raise ArtifactError(f"{where} is damaged or no zip archive ({reason}); copy or export it again") from error


def _check_members(path: Path, members: Sequence[zipfile.ZipInfo]) -> None:
    for member in members:
        objection = _objection(member)
        if objection is not None:
            raise ArtifactError(f"entry {member.orig_filename!r} of {path} {objection}; such archives are refused")


def _objection(member: zipfile.ZipInfo) -> str | None:
    name = member.orig_filename  # `filename` is already cut at a NUL
    parts = name.removesuffix("/").split("/")
    file_type = stat.S_IFMT(member.external_attr >> 16)  # 0 where the writer did not say, as torch does
    objections = (
        ("\\" in name or "\0" in name, "has a backslash or NUL in its name"),
        (not {"", ".", ".."}.isdisjoint(parts), "is not a plain relative path"),
        (len(parts) > _DEPTH, f"lies more than {_DEPTH} directories deep"),
        (any(len(part.encode()) > _NAME_BYTES for part in parts), f"has a name of more than {_NAME_BYTES} bytes"),
        (
            file_type not in (0, stat.S_IFDIR if _is_directory(member) else stat.S_IFREG),
            "is neither a plain file nor a directory",
        ),
        (member.flag_bits & _ENCRYPTED, "is encrypted"),
        (
            member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED),
            f"is compressed by method {member.compress_type}, not stored (0) or deflated (8)",
        ),
    )
    return next((text for applies, text in objections if applies), None)


def _is_directory(member: zipfile.ZipInfo) -> bool:
    return member.filename.endswith("/")  # `is_dir` of Python 3.10 raises on an empty name


def _directories(members: Sequence[zipfile.ZipInfo]) -> tuple[str, ...]:
    explicit = {member.filename.removesuffix("/") for member in members if _is_directory(member)}
    parents = {str(parent) for member in members for parent in PurePosixPath(member.filename).parents}
    return tuple(sorted((explicit | parents) - {"."}))


def _check_clashes(path: Path, members: Sequence[zipfile.ZipInfo], directories: Sequence[str]) -> None:
    counts = Counter(member.filename.removesuffix("/") for member in members)
    counts.update({member.filename for member in members}.intersection(directories))
    clashing = [name for name, count in counts.items() if count > 1]
    if clashing:
        raise ArtifactError(f"entry {clashing[0]!r} of {path} is there twice, or both file and directory")


def _check_growth(path: Path, unpacked: int, packed: int) -> None:
    limit = _GROWTH * packed + _GROWTH_BYTES
    if unpacked > limit:
        raise ArtifactError(
            f"{path} claims {unpacked >> 20} MiB when unpacked, where at most {limit >> 20} MiB are accepted from an "
            "archive of its size; torch stores entries uncompressed, so export it again"
        )


def _address(members: Sequence[zipfile.ZipInfo]) -> str:
    listing = [(member.filename, member.file_size, member.CRC) for member in members]
    return sha256(repr(listing).encode()).hexdigest()
