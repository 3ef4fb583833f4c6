"""Where the store is, and which directories are refused."""

import os
import stat
from pathlib import Path
from types import SimpleNamespace

import pytest

from triton_pytorch.artifact_store.location import locate_store
from triton_pytorch.model_config.errors import StoreError

VARIABLE = "TRITON_PYTORCH_STORE"


def _mount_noexec(monkeypatch: pytest.MonkeyPatch, *paths: Path) -> None:
    real = os.statvfs

    def statvfs(path: Path) -> object:
        return SimpleNamespace(f_flag=os.ST_NOEXEC) if path in paths else real(path)

    monkeypatch.setattr(os, "statvfs", statvfs)


@pytest.fixture
def temporary_store(tmp_path: Path) -> Path:
    """The store's path in the temporary directory `tmp_path`."""
    return tmp_path / f"triton-pytorch-{os.getuid()}"


def test_variable_decides(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "store"
    environment = {VARIABLE: str(path), "XDG_CACHE_HOME": str(tmp_path / "cache"), "HOME": str(tmp_path)}
    assert locate_store(environment) == path
    assert stat.S_IMODE(path.stat().st_mode) == 0o700
    assert not (tmp_path / "cache").exists()


def test_variable_names_own_link(tmp_path: Path) -> None:
    (tmp_path / "store").mkdir(mode=0o755)
    (tmp_path / "link").symlink_to("store")  # to a larger disk
    assert locate_store({VARIABLE: str(tmp_path / "link")}) == tmp_path / "store"


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"XDG_CACHE_HOME": "/ROOT/cache", "HOME": "/ROOT/home"}, "cache/triton-pytorch"),
        ({VARIABLE: "", "XDG_CACHE_HOME": "", "HOME": "/ROOT/home"}, "home/.cache/triton-pytorch"),
        ({"XDG_CACHE_HOME": "relative", "HOME": "/ROOT/home"}, "home/.cache/triton-pytorch"),
        ({"HOME": ""}, f"triton-pytorch-{os.getuid()}"),
        ({}, f"triton-pytorch-{os.getuid()}"),
    ],
)
def test_cache_before_temporary_directory(environment: dict[str, str], expected: str, tmp_path: Path) -> None:
    environment = {name: value.replace("/ROOT", str(tmp_path)) for name, value in environment.items()}
    assert locate_store({**environment, "TMPDIR": str(tmp_path)}) == tmp_path / expected


def test_home_unusable(tmp_path: Path, temporary_store: Path) -> None:
    (tmp_path / "home").write_text("a file")
    assert locate_store({"HOME": str(tmp_path / "home"), "TMPDIR": str(tmp_path)}) == temporary_store


def test_home_noexec(tmp_path: Path, temporary_store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _mount_noexec(monkeypatch, tmp_path / ".cache" / "triton-pytorch")
    assert locate_store({"HOME": str(tmp_path), "TMPDIR": str(tmp_path)}) == temporary_store


def test_home_read_only(tmp_path: Path, temporary_store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: ".cache" not in str(path) and real(path, mode))
    assert locate_store({"HOME": str(tmp_path), "TMPDIR": str(tmp_path)}) == temporary_store


def test_variable_names_noexec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _mount_noexec(monkeypatch, tmp_path / "store")
    with pytest.raises(StoreError, match=f"^{VARIABLE} names .*{tmp_path}/store is mounted noexec.*; set {VARIABLE}"):
        locate_store({VARIABLE: str(tmp_path / "store"), "HOME": str(tmp_path)})


@pytest.mark.parametrize("mode", [0o720, 0o702])
def test_variable_names_writable_directory(mode: int, tmp_path: Path) -> None:
    path = tmp_path / "store"
    path.mkdir()
    path.chmod(mode)
    with pytest.raises(StoreError, match=rf"{path} can be written by others \(mode {mode:04o}\); set {VARIABLE}"):
        locate_store({VARIABLE: str(path)})


def test_variable_names_directory_of_another_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    owner = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    with pytest.raises(StoreError, match=f"belongs to user {owner}, not to user {owner + 1}; set {VARIABLE}"):
        locate_store({VARIABLE: str(tmp_path)})


@pytest.mark.parametrize("target", ["elsewhere", "nowhere"])
def test_temporary_directory_has_link(target: str, tmp_path: Path, temporary_store: Path) -> None:
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    temporary_store.symlink_to(target)  # perhaps of another user
    with pytest.raises(StoreError, match=f"there is no usable directory .*{temporary_store} .*; set {VARIABLE}"):
        locate_store({"TMPDIR": str(tmp_path)})
    assert not (tmp_path / "nowhere").exists()


@pytest.mark.parametrize("name", ["circle", "file", "file/below"])
def test_variable_names_no_directory(name: str, tmp_path: Path) -> None:
    (tmp_path / "circle").symlink_to("circle")
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match=f"{tmp_path}/{name} cannot be made a directory"):
        locate_store({VARIABLE: str(tmp_path / name)})


def test_no_usable_directory(tmp_path: Path, temporary_store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _mount_noexec(monkeypatch, temporary_store)
    (tmp_path / ".cache").write_text("a file")
    with pytest.raises(StoreError, match=r"/\.cache/triton-pytorch cannot be made .*, and .* is mounted noexec"):
        locate_store({"HOME": str(tmp_path), "TMPDIR": str(tmp_path)})
