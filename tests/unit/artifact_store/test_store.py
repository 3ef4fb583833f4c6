"""One process and its store: what lies there while it is used, and that nothing stays behind."""

import errno
import fcntl
import os
import random
import shutil
import stat
import subprocess
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import IO
from zipfile import ZipInfo

import pytest

from triton_pytorch.artifact_store import store as store_module
from triton_pytorch.artifact_store.archive import Archive
from triton_pytorch.artifact_store.store import Entry, Store
from triton_pytorch.model_config.errors import ArtifactError, StoreError

ADDRESS = "0123456789abcdef" * 4


def _content(directory: Path) -> dict[str, bytes]:
    files = (path for path in directory.rglob("*") if path.is_file())
    return {str(path.relative_to(directory)): path.read_bytes() for path in files}


def _names(root: Path) -> set[str]:
    return {path.name for path in root.iterdir()}


def _open_files_below(directory: Path) -> list[Path]:
    files = []
    for descriptor in Path("/proc/self/fd").iterdir():
        with suppress(FileNotFoundError):  # the descriptor of this very listing
            files.append(descriptor.readlink())
    return [file for file in files if file.is_relative_to(directory)]


def _before_locking(monkeypatch: pytest.MonkeyPatch, kind: int, act: Callable[[IO[bytes]], None]) -> None:
    """Do something once, right before the first lock of that kind is asked for."""
    real, pending = fcntl.flock, [act]

    def flock(file: IO[bytes], operation: int) -> None:
        if operation & kind and pending:
            pending.pop()(file)
        real(file, operation)

    monkeypatch.setattr(fcntl, "flock", flock)


def _fail_writing(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    """Have the writing of an entry fail after its first half."""
    real = Archive.chunks

    def chunks(archive: Archive, file: ZipInfo) -> Iterator[bytes]:
        for chunk in real(archive, file):
            yield chunk[: len(chunk) // 2]
            raise error

    monkeypatch.setattr(Archive, "chunks", chunks)


def test_an_entry_is_the_archive_unpacked_for_this_user_alone(
    store: Store, archive: Path, content: dict[str, bytes]
) -> None:
    entry = store.unpack(archive)
    assert _content(entry.path) == content
    for path in [entry.path, *entry.path.rglob("*")]:
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600)
    entry.release()


def test_the_last_user_removes_the_entry(
    store: Store, root: Path, archive: Path, write_archive: Callable[..., Path]
) -> None:
    copy = write_archive(name="copy.pt2")
    first, second = store.unpack(archive), Store(root).unpack(copy)
    other = store.unpack(write_archive({"another": b"model"}, name="another.pt2"))
    assert first.path == second.path != other.path
    first.release()
    first.release()  # must not count twice
    assert _content(second.path)
    second.release()
    assert not second.path.exists()
    assert _content(other.path) == {"another": b"model"}
    other.release()
    assert _names(root) == set()


def test_a_released_archive_can_be_unpacked_again(store: Store, archive: Path, content: dict[str, bytes]) -> None:
    store.unpack(archive).release()
    entry = store.unpack(archive)
    assert _content(entry.path) == content
    entry.release()


def test_an_entry_in_use_survives_a_sweep(store: Store, root: Path, archive: Path, content: dict[str, bytes]) -> None:
    entry = store.unpack(archive)
    Store(root).sweep()
    assert _content(entry.path) == content
    entry.release()


def test_a_sweep_removes_what_is_ours_and_unused(store: Store, root: Path) -> None:
    for name in (f"{ADDRESS}.unpacked/model", f"{ADDRESS}.{'0' * 16}.partial/model", f"{ADDRESS[::-1]}.unpacked"):
        (root / name).mkdir(parents=True)
    (root / f"{ADDRESS}.unpacked" / "model" / "version").write_text("1")
    (root / f"{ADDRESS}.lock").write_text("")
    (root / f"{'f' * 64}.lock").write_text("")
    store.sweep()
    assert _names(root) == set()


def test_a_sweep_leaves_foreign_files_alone(store: Store, root: Path) -> None:
    foreign = {"notes.txt", ADDRESS, f"{ADDRESS}.unpacked.old", f"{ADDRESS}.partial", f"x{ADDRESS}.lock"}
    for name in foreign:
        (root / name).write_text("precious")
    store.sweep()
    assert _names(root) == foreign


def test_remains_are_never_used(store: Store, root: Path, archive: Path, content: dict[str, bytes]) -> None:
    entry = store.unpack(archive)
    entry.release()
    entry.path.mkdir()  # as after a power cut: the name is there, the data is not
    (entry.path / "left_over").write_text("")
    entry = store.unpack(archive)
    assert _content(entry.path) == content
    entry.release()
    assert _names(root) == set()


def test_an_entry_vanishes_as_a_whole(store: Store, root: Path, archive: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    entry = store.unpack(archive)
    seen: list[set[str]] = []
    with monkeypatch.context() as patched:
        patched.setattr(shutil, "rmtree", lambda *_, **__: seen.append({path.suffix for path in root.iterdir()}))
        entry.release()  # as by a process that is killed before it has removed a single file
    assert seen == [{".partial", ".lock"}]
    store.sweep()
    assert _names(root) == set()


def _send_rival(monkeypatch: pytest.MonkeyPatch, root: Path, archive: Path) -> list[Entry]:
    """Have another user come between the next opening of a lock and its locking, unlink it and take a new one."""
    entries: list[Entry] = []

    def unlink_and_unpack(lock: IO[bytes]) -> None:
        Path(str(lock.name)).unlink()
        entries.append(Store(root).unpack(archive))
        (entries[0].path / "mark").write_text("unpacked by the rival")

    _before_locking(monkeypatch, fcntl.LOCK_EX, unlink_and_unpack)
    return entries


def test_a_lock_that_was_unlinked_gives_no_right_to_unpack_or_to_use(
    store: Store, root: Path, archive: Path, content: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    rivals = _send_rival(monkeypatch, root, archive)
    entry = store.unpack(archive)
    rivals[0].release()
    assert _content(entry.path) == {**content, "mark": b"unpacked by the rival"}
    entry.release()
    assert _names(root) == set()


def test_a_lock_that_was_unlinked_gives_no_right_to_remove(
    store: Store, root: Path, archive: Path, content: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = store.unpack(archive)
    entry.release()
    entry.path.with_suffix(".lock").write_text("")
    rivals = _send_rival(monkeypatch, root, archive)
    store.sweep()
    assert _content(rivals[0].path) == {**content, "mark": b"unpacked by the rival"}
    rivals[0].release()


def test_an_entry_removed_while_its_lock_becomes_a_shared_one_is_unpacked_again(
    store: Store, root: Path, archive: Path, content: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    swept = []

    def sweep(lock: IO[bytes]) -> None:
        fcntl.flock(lock, fcntl.LOCK_UN)  # flock(2): the conversion of a lock is not atomic
        Store(root).sweep()
        swept.append(_names(root))

    _before_locking(monkeypatch, fcntl.LOCK_SH, sweep)
    entry = store.unpack(archive)
    assert swept == [set()]
    assert _content(entry.path) == content
    Store(root).sweep()
    assert entry.path.exists()
    entry.release()


def test_a_store_deleted_by_hand_can_be_released(store: Store, root: Path, archive: Path) -> None:
    entry = store.unpack(archive)
    subprocess.run(["rm", "-r", root], check=True)
    entry.release()
    store.sweep()
    with pytest.raises(StoreError, match=f"the store {root} cannot take {archive}: No such file or directory"):
        store.unpack(archive)


def test_a_disk_that_is_too_small_is_not_even_tried(
    store: Store, root: Path, write_archive: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "statvfs", lambda _: SimpleNamespace(f_bavail=1023, f_frsize=1024))
    _fail_writing(monkeypatch, AssertionError("written although there is no room"))
    with pytest.raises(
        StoreError,
        match=rf"the store {root} cannot take .*/model.pt2: No space left on device \(2 MiB needed, 0 MiB available\);"
        " set TRITON_PYTORCH_STORE",
    ):
        store.unpack(write_archive({"weights": bytes((1 << 20) + 1)}))
    assert _names(root) == set()


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO])
def test_a_disk_that_fails_while_writing_is_reported(
    number: int, store: Store, root: Path, archive: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class FailingFile:
        def __enter__(self) -> "FailingFile":
            return self

        def __exit__(self, *_: object) -> None:
            pass

        def writelines(self, chunks: Iterator[bytes]) -> None:
            next(chunks)
            raise OSError(number, os.strerror(number))

    real = store_module._open_private
    monkeypatch.setattr(
        store_module, "_open_private", lambda path, mode: FailingFile() if "x" in mode else real(path, mode)
    )
    has_room = r" \(1 MiB needed, \d+ MiB available\)" if number in (errno.ENOSPC, errno.EDQUOT) else ""
    with pytest.raises(StoreError, match=f"{os.strerror(number)}{has_room}; set TRITON_PYTORCH_STORE"):
        store.unpack(archive)
    assert _names(root) == set()


def test_a_file_system_without_locks_is_reported(store: Store, archive: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def flock(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", flock)
    with pytest.raises(StoreError, match="No locks available; set TRITON_PYTORCH_STORE"):
        store.unpack(archive)


@pytest.mark.parametrize("error", [KeyboardInterrupt(), MemoryError()])
def test_an_interrupted_unpacking_leaves_nothing(
    error: BaseException, store: Store, tmp_path: Path, archive: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        _fail_writing(patched, error)
        with pytest.raises(type(error)) as caught:
            store.unpack(archive)
    assert caught.tb is not None  # keeps the frames alive, as a logged error would
    assert _open_files_below(tmp_path) == []
    assert _names(tmp_path / "store") == set()
    store.unpack(archive).release()


def test_child_processes_inherit_no_lock(store: Store, tmp_path: Path, archive: Path) -> None:
    entry = store.unpack(archive)
    assert _open_files_below(tmp_path) == [entry.path.with_suffix(".lock")]
    listing = subprocess.run(["ls", "-l", "/proc/self/fd"], close_fds=False, check=True, capture_output=True, text=True)
    assert str(tmp_path) not in listing.stdout
    entry.release()
    assert _open_files_below(tmp_path) == []


def _damaged(data: bytes, dice: random.Random) -> bytes:
    if dice.random() < 0.2:
        return data[: dice.randrange(len(data))]
    changed = bytearray(data)
    # Mostly in the listing at the end, where zipfile takes the most on trust.
    first = 0 if dice.random() < 0.3 else data.index(b"PK\x01\x02")
    for _ in range(dice.choice([1, 1, 2, 8])):
        changed[dice.randrange(first, len(data))] ^= dice.randrange(1, 256)
    return bytes(changed)


def test_damage_is_refused_or_harmless_and_leaves_nothing(
    store: Store, tmp_path: Path, root: Path, write_archive: Callable[..., Path]
) -> None:
    content = {"model/version": b"1\n", "model/data/code.so": bytes(range(200)), "model/empty": b""}
    data = write_archive(content).read_bytes()
    dice = random.Random(2402)  # the same damage in every run
    path = tmp_path / "damaged.pt2"
    refusals = []
    for _ in range(400):
        path.write_bytes(_damaged(data, dice))
        try:
            entry = store.unpack(path)
        except ArtifactError as error:
            refusals.append(str(error))
        else:
            # One entry's length field may swallow the next entry: files can be missing, never be wrong.
            assert _content(entry.path).items() <= content.items()
            entry.release()
        assert _names(root) == set()
    assert 200 < len(refusals) < 400
    assert [text for text in refusals if str(path) not in text] == []
    assert _open_files_below(tmp_path) == []


def test_a_copy_that_was_removed_while_in_use_is_an_error_and_no_endless_wait(
    tmp_path: Path, archive: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_module, "_ATTEMPTS", 3)
    root = tmp_path / "a store"
    root.mkdir()
    store = Store(root)
    entry = store.unpack(archive)
    shutil.rmtree(entry.path)
    with pytest.raises(StoreError, match="was removed while others use it: stop the servers that do"):
        store.unpack(archive)
    entry.release()
    store.unpack(archive).release()
