"""Which directory leads Triton's stub to the packages of this interpreter."""

import sys
from pathlib import Path

import pytest

from triton_pytorch.local_server.interpreter import find_python3_directory
from triton_pytorch.model_config.errors import LaunchError


@pytest.fixture
def base(tmp_path: Path) -> Path:
    """An interpreter outside any virtual environment."""
    path = tmp_path / "base" / "python3.11"
    path.parent.mkdir()
    path.touch()
    return path


def test_python3_directory_of_virtual_environment(base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    binaries = tmp_path / "venv" / "bin"
    binaries.mkdir(parents=True)
    for name in ("python", "python3"):
        (binaries / name).symlink_to(base)
    monkeypatch.setattr(sys, "executable", str(binaries / "python"))
    assert find_python3_directory() == binaries


def test_python3_is_another_interpreter(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (base.parent / "python3").write_text("another")
    monkeypatch.setattr(sys, "executable", str(base))
    with pytest.raises(LaunchError, match=r"python3 is another interpreter .*-m venv"):
        find_python3_directory()


def test_python3_missing(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", str(base))
    with pytest.raises(LaunchError, match=r"python3 does not exist .*-m venv"):
        find_python3_directory()
