"""`make setup`: what is missing is reported first, and .venv is made again only where needed."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

TREE = Path(__file__).resolve().parents[3]


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A tree with the parts that set-up needs, and requirements that are satisfied."""
    root = tmp_path / "a checkout"
    for package in ("tools", "local_server", "model_config"):
        shutil.copytree(TREE / package, root / package, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(TREE / "__init__.py", root)
    for name in ("requirements-dev.txt", "requirements-server.txt"):
        (root / name).touch()
    return root


def _prepare(checkout: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(checkout / "tools" / "prepare_environment.py")]
    return subprocess.run(
        command, env={**os.environ, **variables}, check=False, capture_output=True, text=True, timeout=300
    )


def test_setup_missing_compiler(checkout: Path) -> None:
    prepared = _prepare(checkout, CXX="no-such-compiler")
    assert prepared.returncode == 2
    assert prepared.stderr.count("\n") == 1
    assert "error: no C++ compiler 'no-such-compiler'" in prepared.stderr
    assert "apt-get install g++" in prepared.stderr
    assert not (checkout / ".venv").exists()


def test_setup_again_after_failure_only(checkout: Path) -> None:
    requirements = checkout / "requirements-dev.txt"
    requirements.write_text("./no-such-package\n", encoding="utf-8")
    failed = _prepare(checkout)
    assert failed.returncode == 2
    assert "no-such-package" in failed.stderr  # the end of pip's output
    assert failed.stderr.splitlines()[-1].endswith("install.log")

    requirements.write_text("", encoding="utf-8")
    marker = checkout / ".venv" / "marker"
    marker.touch()
    succeeded = _prepare(checkout)
    assert succeeded.returncode == 0, succeeded.stderr
    assert not marker.exists()
    assert (checkout / ".venv" / "source" / "triton_pytorch").resolve() == checkout

    marker.touch()
    assert _prepare(checkout).returncode == 0
    assert marker.exists()
