"""Archives, stores and processes that use them."""

import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from triton_pytorch.artifact_store.store import Store

CONTENT = {
    "model/version": b"1\n",
    "model/data/aotinductor/model/cabc.wrapper.so": bytes(range(256)) * 700,
    "model/data/weights/weight_0": b"\x00\x3f" * 5000,
    "model/extra/empty": b"",
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    directory = tmp_path / "store"
    directory.mkdir(mode=0o700)
    return directory


@pytest.fixture
def store(root: Path) -> Store:
    return Store(root)


@pytest.fixture
def write_archive(tmp_path: Path) -> Callable[..., Path]:
    def write(
        content: Mapping[str, bytes] = CONTENT, *, name: str = "model.pt2", compression: int = zipfile.ZIP_STORED
    ) -> Path:
        path = tmp_path / name
        with zipfile.ZipFile(path, "w", compression) as archive:
            for entry, data in content.items():
                archive.writestr(entry, data)
        return path

    return write


@pytest.fixture
def content() -> dict[str, bytes]:
    """What is in `archive`."""
    return CONTENT


@pytest.fixture
def archive(write_archive: Callable[..., Path]) -> Path:
    return write_archive()


class User:
    """A process of its own that uses the store as store_user.py lets it: one line per order, one per answer."""

    def __init__(self, root: Path, **environment: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-B", Path(__file__).with_name("store_user.py"), root],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )

    def order(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{line}\n")
        self.process.stdin.flush()

    def answer(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().rstrip("\n")

    def ask(self, line: str) -> str:
        self.order(line)
        return self.answer()

    def kill(self) -> None:
        with self.process:  # closes the pipes and waits
            self.process.kill()


@pytest.fixture
def start_user(root: Path) -> Iterator[Callable[..., User]]:
    users: list[User] = []

    def start(**environment: str) -> User:
        users.append(User(root, **environment))
        return users[-1]

    yield start
    for user in users:
        user.kill()
