"""Archives unpacked once for all processes of a user, as long as one of them uses them.

Of an archive with the address A the store holds
    A.lock           locked by flock: shared by each user, exclusively by who unpacks or removes
    A.unpacked/      the whole archive: it appears and vanishes by rename
    A.XXXX.partial/  on its way in or out, or left by a process that was killed
Locks end with their process, so what nobody locks is nobody's. A lock counts only while its file still bears its
name: whoever held it exclusively may have unlinked it between another's opening and locking.
"""

import errno
import fcntl
import os
import re
import secrets
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, cast

from triton_pytorch.artifact_store.archive import Archive, open_archive
from triton_pytorch.artifact_store.location import VARIABLE
from triton_pytorch.model_config.errors import StoreError
from triton_pytorch.model_config.file_names import file_system_name

_OURS = re.compile(r"([0-9a-f]{64})\.(lock|unpacked|[0-9a-f]{16}\.partial)")
_ATTEMPTS, _PAUSE_S = 200, 0.05  # far more than processes that load one archive at once have needed
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT)


@dataclass(frozen=True, slots=True)
class Entry:
    """An unpacked archive, there for all to read until the last of its users has released it."""

    path: Path
    address: str
    _lock: IO[bytes]
    _discard: Callable[[], None]

    def release(self) -> None:
        """Stop using the entry; its last user removes it. May be called again, and never raises."""
        self._lock.close()
        self._discard()


class Store:
    """The unpacked archives in one directory, which `location.locate_store` has found fit."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def unpack(self, archive: Path) -> Entry:
        """Return the archive unpacked, by this process or by another that came first and is waited for.

        Raises ArtifactError for an archive that is damaged or refused, StoreError where the store cannot take it.
        """
        with open_archive(archive) as opened, self._failures_named(opened):
            try:
                lock = self._waited_for(opened)
            except BaseException:
                self._discard(opened.address)
                raise
        return Entry(self._unpacked(opened.address), opened.address, lock, partial(self._discard, opened.address))

    def sweep(self) -> None:
        """Remove all that nobody uses, such as what killed processes left; foreign files are not touched."""
        with suppress(Exception):  # whatever lies there, it must not keep a model from loading
            names = [_OURS.fullmatch(path.name) for path in self._root.iterdir()]
            for address in {name[1] for name in names if name}:
                self._discard(address)

    def _waited_for(self, archive: Archive) -> IO[bytes]:
        for _ in range(_ATTEMPTS):
            lock = self._shared_lock(archive)
            if lock is not None:
                return lock
            time.sleep(_PAUSE_S)  # the entry was removed, or its unpacker died, while we waited for it
        raise StoreError(
            f"the unpacked copy of {archive.path} in the store {self._root} was removed while others use it: "
            "stop the servers that do, and start again"
        )

    def _shared_lock(self, archive: Archive) -> IO[bytes] | None:
        """Return the lock of an entry that is there to stay, or None where it has to be looked for again."""
        with ExitStack() as closing:
            lock = closing.enter_context(self._open_lock(archive.address))
            if _lock_exclusively(lock) and self._is_current(lock, archive.address):
                self._fill(archive)
            # Waits for whoever unpacks. From exclusive to shared is no atomic step either: hence the check.
            fcntl.flock(lock, fcntl.LOCK_SH)
            if self._is_current(lock, archive.address) and self._unpacked(archive.address).is_dir():
                closing.pop_all()
                return lock
        return None

    def _discard(self, address: str) -> None:
        """Remove an entry unless somebody uses it; what cannot be removed now is left to a later sweep."""
        with suppress(Exception), self._open_lock(address) as lock:
            if _lock_exclusively(lock) and self._is_current(lock, address):
                self._clear(address)
                self._lock_path(address).unlink()

    def _fill(self, archive: Archive) -> None:
        """Unpack under an exclusive lock. What lies there unlocked is not used: a power cut may have emptied it."""
        self._clear(archive.address)
        if archive.size > self._available_bytes():
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        partial_entry = self._new_partial(archive.address)
        partial_entry.mkdir(mode=0o700)
        for directory in archive.directories:
            (partial_entry / file_system_name(directory)).mkdir(mode=0o700)
        for file in archive.files:
            with _open_private(partial_entry / file_system_name(file.filename), "xb") as target:
                target.writelines(archive.chunks(file))
        partial_entry.rename(self._unpacked(archive.address))

    def _clear(self, address: str) -> None:
        """Remove an entry and its partial unpackings under an exclusive lock."""
        with suppress(FileNotFoundError):
            self._unpacked(address).rename(self._new_partial(address))
        for remains in self._root.glob(f"{address}.*.partial"):
            shutil.rmtree(remains, ignore_errors=True)

    def _open_lock(self, address: str) -> IO[bytes]:
        return _open_private(self._lock_path(address), "a+b")  # over NFS flock wants a file open for both

    def _is_current(self, lock: IO[bytes], address: str) -> bool:
        try:
            return os.path.samestat(os.fstat(lock.fileno()), self._lock_path(address).stat())
        except FileNotFoundError:
            return False

    def _lock_path(self, address: str) -> Path:
        return self._root / f"{address}.lock"

    def _unpacked(self, address: str) -> Path:
        return self._root / f"{address}.unpacked"

    def _new_partial(self, address: str) -> Path:
        return self._root / f"{address}.{secrets.token_hex(8)}.partial"

    def _available_bytes(self) -> int:
        disk = os.statvfs(self._root)
        return disk.f_bavail * disk.f_frsize

    @contextmanager
    def _failures_named(self, archive: Archive) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            room = ""
            if error.errno in _NO_ROOM:
                needed, available = -(-archive.size >> 20), self._available_bytes() >> 20
                room = f" ({needed} MiB needed, {available} MiB available)"
            raise StoreError(
                f"the store {self._root} cannot take {archive.path}: {error.strerror}{room}; set {VARIABLE} "
                "to a directory on another disk"
            ) from error


def _lock_exclusively(lock: IO[bytes]) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _open_private(path: Path, mode: str) -> IO[bytes]:
    return cast(IO[bytes], open(path, mode, opener=partial(os.open, mode=0o600)))
