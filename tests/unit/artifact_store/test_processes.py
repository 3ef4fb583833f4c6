"""Many processes and one store: unpacked once, kept while used, and cleared of what killed processes left."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from triton_pytorch.artifact_store.store import Store

StartUser = Callable[..., Any]  # conftest.User: one order, one answer


@pytest.fixture
def unpacker(start_user: StartUser, archive: Path, root: Path) -> Any:
    """A process in the middle of unpacking `archive`, with half a file written."""
    user = start_user()
    user.order("stall")
    assert user.ask(f"unpack {archive}") == "stalled"
    assert len(list(root.glob("*.partial/model/version"))) == 1
    return user


def _wait_until_locked_out(user: Any) -> None:
    """Wait until a process waits for a lock: /proc/locks marks it with an arrow."""
    pid = str(user.process.pid)
    while not any(pid in line.split() for line in Path("/proc/locks").read_text().splitlines() if "->" in line):
        assert user.process.poll() is None
        time.sleep(0.01)


def test_ten_first_loads_at_once_unpack_once(
    start_user: StartUser, write_archive: Callable[..., Path], root: Path
) -> None:
    archive = write_archive({f"model/weight_{number}": bytes([number]) * 400_000 for number in range(10)})
    users = [start_user() for _ in range(10)]
    for user in users:
        user.order(f"unpack {archive}")
    answers = {user.answer() for user in users}
    assert len(answers) == 1  # one path, and the same inodes below it
    directory = Path(answers.pop().split()[0])
    for user in users[:9]:
        assert user.ask("release") == "released"
    assert len(list(directory.rglob("weight_*"))) == 10
    assert users[9].ask("release") == "released"
    assert list(root.iterdir()) == []


def test_an_entry_in_use_survives_the_sweep_and_the_release_of_others(start_user: StartUser, archive: Path) -> None:
    holder, sweeper, releaser = (start_user() for _ in range(3))
    unpacked = holder.ask(f"unpack {archive}")
    assert sweeper.ask("sweep") == "swept"
    assert releaser.ask(f"unpack {archive}") == unpacked
    assert releaser.ask("release") == "released"
    assert (Path(unpacked.split()[0]) / "model" / "version").read_bytes() == b"1\n"


def test_a_killed_user_leaves_what_the_next_start_sweeps(start_user: StartUser, archive: Path, root: Path) -> None:
    user = start_user()
    directory = Path(user.ask(f"unpack {archive}").split()[0])
    user.kill()
    assert directory.exists()
    Store(root).sweep()
    assert list(root.iterdir()) == []


def test_a_kill_in_the_middle_of_unpacking_leaves_what_the_next_start_sweeps(
    unpacker: Any, store: Store, root: Path
) -> None:
    store.sweep()
    assert len(list(root.glob("*.partial/model/version"))) == 1  # its maker lives
    unpacker.kill()
    assert len(list(root.glob("*.partial/model/version"))) == 1
    store.sweep()
    assert list(root.iterdir()) == []


def test_others_wait_for_an_unpacking(unpacker: Any, start_user: StartUser, archive: Path, root: Path) -> None:
    waiting = start_user()
    waiting.order(f"unpack {archive}")
    _wait_until_locked_out(waiting)
    for _ in range(2):  # of the three files that have content
        assert unpacker.ask("go on") == "stalled"
    unpacked = unpacker.ask("go on")
    assert waiting.answer() == unpacked
    for user in (unpacker, waiting):
        assert user.ask("release") == "released"
    assert list(root.iterdir()) == []


def test_others_take_over_when_the_unpacking_process_is_killed(
    unpacker: Any, start_user: StartUser, archive: Path, root: Path, content: dict[str, bytes]
) -> None:
    waiting = [start_user() for _ in range(5)]
    for user in waiting:
        user.order(f"unpack {archive}")
        _wait_until_locked_out(user)
    unpacker.kill()
    answers = {user.answer() for user in waiting}
    assert len(answers) == 1
    directory = Path(answers.pop().split()[0])
    assert {name: (directory / name).read_bytes() for name in content} == content
    for user in waiting:
        assert user.ask("release") == "released"
    assert list(root.iterdir()) == []


def test_loads_unloads_and_sweeps_at_once_always_see_the_whole_archive(
    start_user: StartUser, archive: Path, root: Path, content: dict[str, bytes]
) -> None:
    users = [start_user() for _ in range(4)]
    for user in users:
        user.order(f"repeat {archive} 60")
    sizes = sorted(len(data) for data in content.values())
    for user in users:
        kinds, *seen = (int(number) for number in user.answer().split())
        assert (kinds, sorted(seen)) == (1, sizes)
    assert list(root.iterdir()) == []


def test_entry_names_need_no_locale(start_user: StartUser, write_archive: Callable[..., Path]) -> None:
    archive = write_archive({"model/gr\u00f6\u00dfe/\u91cd": b"1"})
    stub = start_user(LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0")  # as bare as Triton's stub
    directory = Path(stub.ask(f"unpack {archive}").split()[0])
    assert (directory / "model" / "gr\u00f6\u00dfe" / "\u91cd").read_bytes() == b"1"
