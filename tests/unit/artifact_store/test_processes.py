"""Many processes and one store: one copy, kept while it is used, and no remains of processes that were killed."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from triton_pytorch.artifact_store.store import Store

StartUser = Callable[..., Any]  # conftest.User: one order, one answer


@pytest.fixture
def unpacker(start_user: StartUser, archive: Path, root: Path) -> Any:
    """A process in the middle of unpacking `archive`, with half of its first file written."""
    user = start_user()
    user.order("stall")
    assert user.ask(f"unpack {archive}") == "stalled"
    assert len(list(root.glob("*.partial/model/version"))) == 1
    return user


def test_unpack_at_once(
    unpacker: Any, start_user: StartUser, archive: Path, root: Path, content: dict[str, bytes]
) -> None:
    faster = start_user()
    unpacked = faster.ask(f"unpack {archive}")  # does not wait for the slower one
    assert unpacker.ask("go on") == unpacked  # one path, and the same inodes below it
    directory = Path(unpacked.split()[0])
    assert list(root.iterdir()) == [directory]
    assert faster.ask("release") == "released"
    assert {name: (directory / name).read_bytes() for name in content} == content
    assert unpacker.ask("release") == "released"
    assert list(root.iterdir()) == []


def test_release_of_many(start_user: StartUser, archive: Path, root: Path, content: dict[str, bytes]) -> None:
    users = [start_user() for _ in range(3)]
    for user in users:
        user.order(f"unpack {archive}")
    answers = {user.answer() for user in users}
    assert len(answers) == 1
    directory = Path(answers.pop().split()[0])
    for user in users[1:]:
        assert user.ask("release") == "released"
        assert {name: (directory / name).read_bytes() for name in content} == content
    assert users[0].ask("release") == "released"
    assert list(root.iterdir()) == []


def test_sweep_of_entry_in_use(start_user: StartUser, archive: Path, store: Store, content: dict[str, bytes]) -> None:
    directory = Path(start_user().ask(f"unpack {archive}").split()[0])
    store.sweep()
    assert {name: (directory / name).read_bytes() for name in content} == content


def test_sweep_of_killed_user(start_user: StartUser, archive: Path, store: Store, root: Path) -> None:
    user = start_user()
    directory = Path(user.ask(f"unpack {archive}").split()[0])
    user.kill()
    assert directory.exists()
    store.sweep()
    assert list(root.iterdir()) == []


def test_sweep_of_killed_unpacker(unpacker: Any, store: Store, root: Path) -> None:
    store.sweep()
    assert len(list(root.glob("*.partial/model/version"))) == 1  # it still unpacks
    unpacker.kill()
    assert len(list(root.glob("*.partial/model/version"))) == 1
    store.sweep()
    assert list(root.iterdir()) == []


def test_unpack_release_and_sweep_at_once(
    start_user: StartUser, archive: Path, root: Path, content: dict[str, bytes]
) -> None:
    users = [start_user() for _ in range(4)]
    for user in users:
        user.order(f"repeat {archive} 50")
    sizes = sorted(len(data) for data in content.values())
    for user in users:
        different, *seen = (int(number) for number in user.answer().split())
        assert (different, sorted(seen)) == (1, sizes)
    assert list(root.iterdir()) == []


def test_unpack_without_locale(start_user: StartUser, write_archive: Callable[..., Path]) -> None:
    archive = write_archive({"model/gr\u00f6\u00dfe/\u91cd": b"1"})
    stub = start_user(LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0")  # as Triton's stub is started
    directory = Path(stub.ask(f"unpack {archive}").split()[0])
    assert (directory / "model" / "gr\u00f6\u00dfe" / "\u91cd").read_bytes() == b"1"
