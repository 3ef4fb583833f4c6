"""Archives unpacked once for all processes of a user, as long as one of them uses them.

An archive with the address A is unpacked into A.XXXX.partial, renamed to A and never modified. A process that fills or
uses a directory has a shared flock on it; a process that gets an exclusive one may remove it. Locks end with their
process, and so does the right to what a killed process left. Two processes that unpack an archive at once waste a copy.

On network file systems locks on directories may not reach other machines: each machine needs a store of its own.
"""

import errno
import fcntl
import os
import re
import secrets
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from triton_pytorch.artifact_store.archive import Archive
from triton_pytorch.artifact_store.location import VARIABLE
from triton_pytorch.model_config.errors import StoreError
from triton_pytorch.model_config.file_names import file_system_name

_OURS = re.compile(r"[0-9a-f]{64}(\.[0-9a-f]{16}\.partial)?")
_ATTEMPTS = 100  # each fails only if another process removed or unpacked the archive at the same moment
_NO_SPACE = (errno.ENOSPC, errno.EDQUOT)
_EXISTS = (errno.EEXIST, errno.ENOTEMPTY)  # what rename(2) says of a directory with content at the new name


@dataclass(frozen=True, slots=True)
class Entry:
    """An unpacked archive, there for all to read until the last of its users has released it."""

    path: Path
    _lock: ExitStack

    def release(self) -> None:
        """Stop using the entry; its last user removes it. May be called again."""
        self._lock.close()
        _remove_unused(self.path)


class Store:
    """The unpacked archives in one directory, which `location.locate_store` has checked."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def unpack(self, archive: Archive) -> Entry:
        """Return the archive unpacked, by this process or by another that came first.

        Raises ArtifactError for an archive that is damaged, StoreError where the store cannot take it.
        """
        path = self._root / archive.address
        _remove_unused(path)  # its users were killed, perhaps by a power cut that left it without its data
        with self._failures_named(archive):
            for _ in range(_ATTEMPTS):
                lock = _lock(path, fcntl.LOCK_SH) or self._unpack_aside(archive, path)
                if lock is not None:
                    return Entry(path, lock)
        raise StoreError(
            f"the store {self._root} does not keep {archive.path}: unpacked {_ATTEMPTS} times, it was removed by "
            "other processes each time"
        )

    def sweep(self) -> None:
        """Remove all that has no user, such as what killed processes left; foreign files are not touched."""
        with suppress(OSError):  # `unpack` says what is wrong with a store that cannot be listed
            for path in self._root.iterdir():
                if _OURS.fullmatch(path.name):
                    _remove_unused(path)

    def _unpack_aside(self, archive: Archive, path: Path) -> ExitStack | None:
        """Return the lock of the new entry, or None where another process was faster or swept it while still empty."""
        if archive.size > self._available_bytes():
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        aside = _path_aside(path)
        aside.mkdir(mode=0o700)
        with ExitStack() as cleanup:
            cleanup.callback(_remove_unused, aside)
            lock = _lock(aside, fcntl.LOCK_SH)
            if lock is None:
                return None
            cleanup.callback(lock.close)
            _write(archive, aside)
            try:
                aside.rename(path)
            except OSError as error:
                if error.errno not in _EXISTS:
                    raise
                return None
            cleanup.pop_all()  # the lock stays with the renamed directory
        return lock

    def _available_bytes(self) -> int:
        disk = os.statvfs(self._root)
        return disk.f_bavail * disk.f_frsize

    @contextmanager
    def _failures_named(self, archive: Archive) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            space = ""
            if error.errno in _NO_SPACE:
                needed, available = -(-archive.size >> 20), self._available_bytes() >> 20
                space = f" ({needed} MiB needed, {available} MiB available)"
            raise StoreError(
                f"the store {self._root} cannot take {archive.path}: {error.strerror}{space}; set {VARIABLE} "
                "to a directory on another disk"
            ) from error


def _lock(path: Path, operation: int) -> ExitStack | None:
    """Lock a directory until the result is closed; None where it is not there, or used and to be locked exclusively.

    Once it is locked, it may have been removed or renamed: then it is not there either.
    """
    with ExitStack() as lock, suppress(FileNotFoundError, BlockingIOError):
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        lock.callback(os.close, descriptor)
        fcntl.flock(descriptor, operation)
        if os.path.samestat(os.fstat(descriptor), path.stat()):
            return lock.pop_all()
    return None


def _remove_unused(path: Path) -> None:
    """Remove a directory that has no user; what cannot be removed now is left to a later sweep."""
    with suppress(OSError):
        lock = _lock(path, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if lock is not None:
            with lock:
                aside = path.rename(_path_aside(path))  # it vanishes as a whole
                shutil.rmtree(aside, ignore_errors=True)


def _path_aside(path: Path) -> Path:
    address = path.name.partition(".")[0]
    return path.with_name(f"{address}.{secrets.token_hex(8)}.partial")


def _write(archive: Archive, directory: Path) -> None:
    for file in archive.files:
        path = directory / file_system_name(file.filename)
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("xb") as target:
            target.writelines(archive.chunks(file))
