"""One process and its store: what is there while it is used, and that nothing stays behind."""

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
from zipfile import ZipInfo

import pytest

from triton_pytorch.artifact_store import store as store_module
from triton_pytorch.artifact_store.archive import Archive
from triton_pytorch.artifact_store.store import Entry, Store
from triton_pytorch.model_config.errors import ArtifactError, StoreError
from triton_pytorch.tests.assets.archives import open_archive

ADDRESS = "0123456789abcdef" * 4
PARTIAL = f"{ADDRESS}.{'0' * 16}.partial"


def _unpack(store: Store, path: Path) -> Entry:
    with open_archive(path) as archive:
        return store.unpack(archive)


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


def _before_locking(monkeypatch: pytest.MonkeyPatch, kind: int, act: Callable[[Path], None]) -> list[Path]:
    """Do something once, right before the first lock of that kind is asked for; returns what was to be locked."""
    real, paths = fcntl.flock, list[Path]()

    def flock(descriptor: int, operation: int) -> None:
        if operation & kind and not paths:
            paths.append(Path(f"/proc/self/fd/{descriptor}").readlink())
            act(paths[0])
        real(descriptor, operation)

    monkeypatch.setattr(fcntl, "flock", flock)
    return paths


def _fail_writing(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    """Have the writing of an entry fail after its first half."""
    real = Archive.chunks

    def chunks(archive: Archive, file: ZipInfo) -> Iterator[bytes]:
        for chunk in real(archive, file):
            yield chunk[: len(chunk) // 2]
            raise error

    monkeypatch.setattr(Archive, "chunks", chunks)


def test_unpack_content(store: Store, root: Path, archive: Path, content: dict[str, bytes]) -> None:
    entry = _unpack(store, archive)
    with open_archive(archive) as opened:
        assert entry.path == root / opened.address
    assert _content(entry.path) == content
    assert stat.S_IMODE(entry.path.stat().st_mode) == 0o700
    entry.release()


def test_release_by_last_user(store: Store, root: Path, archive: Path, write_archive: Callable[..., Path]) -> None:
    first, second = _unpack(store, archive), _unpack(Store(root), write_archive(name="copy.pt2"))
    other = _unpack(store, write_archive({"another": b"model"}, name="another.pt2"))
    assert first.path == second.path != other.path
    first.release()
    first.release()  # must not count twice
    assert _content(second.path)
    second.release()
    assert not second.path.exists()
    assert _content(other.path) == {"another": b"model"}
    other.release()
    assert _names(root) == set()


def test_release_removes_as_a_whole(store: Store, root: Path, archive: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    entry = _unpack(store, archive)
    with monkeypatch.context() as patched:
        patched.setattr(shutil, "rmtree", lambda *_, **__: None)  # as of a process that is killed before
        entry.release()
    assert [path.suffix for path in root.iterdir()] == [".partial"]
    store.sweep()
    assert _names(root) == set()


def test_sweep_of_own_and_foreign_files(store: Store, root: Path) -> None:
    for name in (f"{ADDRESS}/model", f"{PARTIAL}/model", ADDRESS[::-1]):
        (root / name).mkdir(parents=True)
    (root / ADDRESS / "model" / "version").write_text("1")
    foreign = {"notes.txt", f"{ADDRESS}.old", f"{ADDRESS}.partial", f"x{ADDRESS}", "f" * 64}
    for name in foreign:
        (root / name).write_text("precious")
    store.sweep()
    assert _names(root) == foreign


def test_unpack_over_remains(store: Store, root: Path, archive: Path, content: dict[str, bytes]) -> None:
    entry = _unpack(store, archive)
    entry.release()
    entry.path.mkdir()  # as after a power cut: the name is there, the data is not
    (entry.path / "left_over").write_text("")
    entry = _unpack(store, archive)
    assert _content(entry.path) == content
    entry.release()
    assert _names(root) == set()


def test_unpack_while_entry_is_removed(
    store: Store, root: Path, archive: Path, content: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    first = _unpack(store, archive)
    locked = _before_locking(monkeypatch, fcntl.LOCK_SH, lambda _: first.release())
    second = _unpack(store, archive)
    assert locked == [first.path]
    assert _content(second.path) == content
    Store(root).sweep()
    assert second.path.exists()
    second.release()


def test_unpack_while_its_new_directory_is_swept(
    store: Store, root: Path, archive: Path, content: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    locked = _before_locking(monkeypatch, fcntl.LOCK_SH, lambda _: Store(root).sweep())
    entry = _unpack(store, archive)
    assert [path.suffix for path in locked] == [".partial"]
    assert _content(entry.path) == content
    entry.release()
    assert _names(root) == set()


def test_sweep_while_entry_is_replaced(
    store: Store, root: Path, archive: Path, content: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = _unpack(store, archive)
    entry.release()
    entry.path.mkdir()
    entries: list[Entry] = []
    locked = _before_locking(monkeypatch, fcntl.LOCK_EX, lambda _: entries.append(_unpack(Store(root), archive)))
    store.sweep()
    assert locked == [entry.path]
    assert _content(entries[0].path) == content
    entries[0].release()
    assert _names(root) == set()


def test_unpack_again_and_again_ends(store: Store, archive: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_module, "_lock", lambda *_: None)
    with pytest.raises(StoreError, match=r"does not keep .*/model\.pt2: unpacked 100 times, it was removed by other"):
        _unpack(store, archive)


def test_store_deleted_by_hand(store: Store, root: Path, archive: Path) -> None:
    entry = _unpack(store, archive)
    shutil.rmtree(root)
    entry.release()
    store.sweep()
    with pytest.raises(StoreError, match=f"the store {root} cannot take {archive}: No such file or directory"):
        _unpack(store, archive)


def test_entry_deleted_by_hand(store: Store, root: Path, archive: Path, content: dict[str, bytes]) -> None:
    first = _unpack(store, archive)
    shutil.rmtree(first.path)
    second = _unpack(store, archive)
    first.release()
    assert _content(second.path) == content
    second.release()
    assert _names(root) == set()


def test_unpack_without_space(
    store: Store, root: Path, write_archive: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "statvfs", lambda _: SimpleNamespace(f_bavail=1023, f_frsize=1024))
    _fail_writing(monkeypatch, AssertionError("written although there is no space"))
    with pytest.raises(
        StoreError,
        match=rf"the store {root} cannot take .*/model.pt2: No space left on device \(2 MiB needed, 0 MiB available\);"
        " set TRITON_PYTORCH_STORE",
    ):
        _unpack(store, write_archive({"weights": bytes((1 << 20) + 1)}))
    assert _names(root) == set()


@pytest.mark.parametrize("number", [errno.EDQUOT, errno.EROFS])
def test_unpack_with_failing_disk(
    number: int, store: Store, root: Path, archive: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # An error of the archive is another class: this one stands for an error of the file that is written.
    _fail_writing(monkeypatch, OSError(number, os.strerror(number)))
    space = r" \(1 MiB needed, \d+ MiB available\)" if number == errno.EDQUOT else ""
    with pytest.raises(StoreError, match=f"{os.strerror(number)}{space}; set TRITON_PYTORCH_STORE"):
        _unpack(store, archive)
    assert _names(root) == set()


def test_unpack_without_locks(store: Store, archive: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def flock(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", flock)
    with pytest.raises(StoreError, match="No locks available; set TRITON_PYTORCH_STORE"):
        _unpack(store, archive)


def test_unpack_interrupted(store: Store, tmp_path: Path, archive: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        _fail_writing(patched, KeyboardInterrupt())
        with pytest.raises(KeyboardInterrupt) as caught:
            _unpack(store, archive)
    assert caught.tb is not None  # keeps the frames alive, as a logged error would
    assert _open_files_below(tmp_path) == []
    assert _names(tmp_path / "store") == set()
    _unpack(store, archive).release()


def test_lock_is_not_inherited(store: Store, tmp_path: Path, archive: Path) -> None:
    entry = _unpack(store, archive)
    assert _open_files_below(tmp_path) == [entry.path]
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


def test_unpack_damaged_at_random(store: Store, tmp_path: Path, root: Path, write_archive: Callable[..., Path]) -> None:
    content = {"model/version": b"1\n", "model/data/code.so": bytes(range(200)), "model/empty": b""}
    data = write_archive(content).read_bytes()
    dice = random.Random(2402)  # the same damage in every run
    path = tmp_path / "damaged.pt2"
    refusals = []
    for _ in range(200):
        path.write_bytes(_damaged(data, dice))
        try:
            entry = _unpack(store, path)
        except ArtifactError as error:
            refusals.append(str(error))
        else:
            # One entry's length field may swallow the next entry: files can be missing, never be wrong.
            assert _content(entry.path).items() <= content.items()
            entry.release()
        assert _names(root) == set()
    assert 100 < len(refusals) < 200
    assert [text for text in refusals if str(path) not in text] == []
    assert _open_files_below(tmp_path) == []
